#include "sandbox/launch/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* A group is made anew a few times: another box's start may sweep it away before it is joined. */
enum { GROUP_TRIES = 5 };

static bool write_value(const char *folder, const char *file, const char *value)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(value);
    return fd >= 0 && write(fd, value, len) == (ssize_t)len;
}

/* Boxes whose caller was killed leave their empty group behind; a living one refuses rmdir(2). */
static void sweep_groups(const char *parent)
{
    AUTO_DIR DIR *dir = opendir(parent);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, BOX_GROUP_PREFIX, strlen(BOX_GROUP_PREFIX)) == 0)
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
}

static bool set_values(const struct launch *l, const struct plan_step *group, const char *folder)
{
    const struct plan_step *step = group;
    while ((step = plan_next(&l->plan, step)) && step->kind == PLAN_CGROUP_SET)
        if (!write_value(folder, plan_text(step, 0), plan_text(step, 1)) &&
            !(errno == ENOENT && (step->flags & PLAN_OPTIONAL)))
            return false;
    return true;
}

/* Make the box's group and move this process, hence all its children, into it. */
static bool join_group(const struct launch *l, const struct plan_step *group)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/" BOX_GROUP_PREFIX "%d", plan_text(group, 0), getpid());
    sweep_groups(plan_text(group, 0));
    for (int i = 0; i < GROUP_TRIES; i++) {
        if (mkdir(folder, 0755) != 0 && errno != EEXIST)
            return false;
        if (set_values(l, group, folder) && write_value(folder, "cgroup.procs", "0"))
            return true;
        int why = errno;
        rmdir(folder);
        errno = why;
        if (why != ENOENT && why != ENODEV)
            return false;
    }
    return false;
}

void limits_join_groups(struct launch *l)
{
    const struct plan_step *spare = plan_find(&l->plan, PLAN_LIMITS);
    if (!launch_has(l, LAYER_LIMITS) || !spare)
        return;
    bool any = false;
    const struct plan_step *step = NULL;
    while ((step = plan_next(&l->plan, step))) {
        if (step->kind != PLAN_CGROUP)
            continue;
        if (!join_group(l, step)) {
            char reason[160];
            snprintf(reason, sizeof(reason), "cannot make a cgroup below %.80s: %s",
                     plan_text(step, 0), err_describe(errno));
            launch_set(l, LAYER_LIMITS, LAYER_DEGRADED, plan_text(spare, 0), reason);
            return;
        }
        launch_set(l, LAYER_LIMITS, LAYER_ACTIVE, plan_text(step, 1), "");
        any = true;
    }
    if (!any)
        launch_set(l, LAYER_LIMITS, *plan_text(spare, 1) ? LAYER_DEGRADED : LAYER_ACTIVE,
                   plan_text(spare, 0), plan_text(spare, 1));
    launch_mark(l, "cgroups");
}

static bool set_limit(int what, rlim_t soft, rlim_t hard, struct err *err)
{
    struct rlimit limit = {soft, hard};
    if (setrlimit(what, &limit) != 0)
        return err_sys(err, errno, "cannot set resource limit %d to %llu", (int)what,
                       (unsigned long long)hard);
    return true;
}

bool limits_apply(struct launch *l, struct err *err)
{
    const struct plan_head *head = l->plan.head;
    struct rlimit files = l->open_files;
    if (!launch_has(l, LAYER_LIMITS))
        return set_limit(RLIMIT_NOFILE, files.rlim_cur, files.rlim_max, err);
    if (head->open_files > 0 && (rlim_t)head->open_files < files.rlim_max)
        files = (struct rlimit){(rlim_t)head->open_files, (rlim_t)head->open_files};
    if (!set_limit(RLIMIT_NOFILE, files.rlim_cur, files.rlim_max, err) ||
        !set_limit(RLIMIT_CORE, 0, 0, err))
        return false;
    if (head->pids <= 0)
        return true;
    /* Counted for each user namespace since Linux 5.14; pid 1 is one of them. */
    rlim_t most = (rlim_t)head->pids + 1;
    struct rlimit now;
    if (getrlimit(RLIMIT_NPROC, &now) == 0 && now.rlim_max < most)
        most = now.rlim_max;
    return set_limit(RLIMIT_NPROC, most, most, err);
}
