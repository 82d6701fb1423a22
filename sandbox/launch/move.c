#include "sandbox/launch/move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "sandbox/launch/carry.h"
#include "sandbox/launch/launch.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

enum {
    NEW_MODE =
        0700, /* until it is in its place: to rename a folder, one must be able to write it */
    EXIT_LEFT = 255, /* no errno: left to the kernel */
};

#define NEW_NAME "new"

/* One end of a rename: a name in a folder. */
struct end {
    int parent;
    char name[NAME_MAX + 1];
};

struct move {
    struct end from, to;
    unsigned flags;
    int tree;           /* the overlay's root */
    int source;         /* the folder that moves */
    struct statx st;    /* of it */
    mode_t target_mode; /* of the empty folder that it replaces; 0: none */
    struct carry carry;
};

static void move_done(struct move *m)
{
    int *const all[] = {&m->from.parent, &m->to.parent, &m->tree, &m->source};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        auto_fd_(all[i]);
}

static int open_path(int dir, const char *path)
{
    return openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Where the caller's relative paths start: its descriptor, or its working folder. */
static int open_base(const char *pid, const char *dirfd)
{
    char path[64];
    if (atoi(dirfd) == AT_FDCWD)
        snprintf(path, sizeof(path), "/proc/%s/cwd", pid);
    else
        snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, dirfd);
    return open_path(AT_FDCWD, path);
}

/* Slashes at the end mean nothing here, since only folders come this far. */
static int open_end(struct end *e, const char *pid, const char *dirfd, const char *path)
{
    char above[PATH_MAX];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/')
        start--;
    if (len - start > NAME_MAX || start >= sizeof(above))
        return ENAMETOOLONG;
    memcpy(e->name, path + start, len - start);
    e->name[len - start] = '\0';
    snprintf(above, sizeof(above), "%.*s", start > 0 ? (int)start : 1, start > 0 ? path : ".");
    AUTO_FD int base = path[0] == '/' ? -1 : open_base(pid, dirfd);
    e->parent = open_path(base, above);
    return e->parent >= 0 ? 0 : errno;
}

/* The kernel would rename between these, were it not for the overlay. */
static bool is_one_mount(const struct move *m)
{
    const int fds[] = {m->tree, m->from.parent, m->to.parent};
    uint64_t first = 0;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        struct statx st;
        if (statx(fds[i], "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0 ||
            !(st.stx_mask & STATX_MNT_ID) || (i > 0 && st.stx_mnt_id != first))
            return false;
        first = st.stx_mnt_id;
    }
    return true;
}

static bool is_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool read_link(char ret[PATH_MAX], const char *link)
{
    ssize_t len = readlink(link, ret, PATH_MAX - 1);
    ret[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/* A process that stands in the folder would stand in one that is gone: a real rename takes it
 * along, and nobody but itself can do so here. */
static bool is_stood_in(const struct move *m)
{
    char link[64], folder[PATH_MAX], cwd[PATH_MAX];
    AUTO_DIR DIR *processes = opendir("/proc");
    const struct dirent *entry;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", m->source);
    if (!processes || !read_link(folder, link))
        return true;
    while ((entry = readdir(processes))) {
        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name))
            continue;
        snprintf(link, sizeof(link), "/proc/%.20s/cwd", entry->d_name);
        if (read_link(cwd, link) && is_in(cwd, folder))
            return true;
    }
    return false;
}

/* What is in the way is known before the work, and not after it. */
static int look_at_target(struct move *m)
{
    struct stat st;
    AUTO_FD int fd =
        openat(m->to.parent, m->to.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_DIR DIR *list = fd < 0 || fstat(fd, &st) != 0 ? NULL : fdopendir(fd);
    if (!list)
        return 0;
    (void)steal_fd(&fd);
    m->target_mode = st.st_mode & 07777;
    int n = 0;
    while (n < 3 && readdir(list)) /* two are itself and the one above */
        n++;
    return n < 3 ? 0 : ENOTEMPTY;
}

static int open_move(struct move *m, const struct plan_step *step)
{
    const char *pid = plan_text(step, 0);
    m->flags = (unsigned)strtoul(plan_text(step, 5), NULL, 10);
    int why = open_end(&m->from, pid, plan_text(step, 1), plan_text(step, 2));
    return why ? why : open_end(&m->to, pid, plan_text(step, 3), plan_text(step, 4));
}

/* May it be done by making the folder again? EXDEV: no. EBUSY: not while someone stands in it. */
static int examine(struct move *m, const char *tree)
{
    m->tree = open_path(AT_FDCWD, tree);
    m->source =
        openat(m->from.parent, m->from.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (m->tree < 0 || m->source < 0 || (m->flags & ~(unsigned)RENAME_NOREPLACE) ||
        !is_one_mount(m) || carry_init(&m->carry, m->tree) != 0 ||
        statx(m->source, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &m->st) != 0)
        return EXDEV;
    int why = look_at_target(m);
    return !why && is_stood_in(m) ? EBUSY : why;
}

/* What is in its place goes back to where it came from, and an empty folder to where it was. Where
 * that fails too, every file is in one of the two. */
static void take_back(const struct move *m, int made)
{
    int why = carry_back(m->source, made);
    if (!why && unlinkat(m->to.parent, m->to.name, AT_REMOVEDIR) != 0)
        why = errno;
    if (!why && m->target_mode && mkdirat(m->to.parent, m->to.name, m->target_mode) != 0)
        why = errno;
    if (!why)
        why = carry_attributes(m->source, m->source, &m->st);
    (void)why;
}

/* The new folder is whole before it appears, and the old one is emptied after that. */
static int put_in_place(const struct move *m, int moving, int made)
{
    if (notify_rename_unasked(moving, NEW_NAME, m->to.parent, m->to.name, m->flags) != 0)
        return errno;
    int why = carry_attributes(made, m->source, &m->st);
    if (!why)
        why = carry_drain(&m->carry, made, m->source);
    if (!why && unlinkat(m->from.parent, m->from.name, AT_REMOVEDIR) != 0)
        why = errno;
    if (why)
        take_back(m, made);
    return why;
}

static int make_again(const struct move *m)
{
    int why = carry_remove(m->tree, PATHS_MOVING); /* of one that was killed */
    if (!why && mkdirat(m->tree, PATHS_MOVING, 0700) != 0)
        why = errno;
    AUTO_FD int moving = why ? -1 : open_path(m->tree, PATHS_MOVING);
    if (!why && mkdirat(moving, NEW_NAME, NEW_MODE) != 0)
        why = errno;
    AUTO_FD int made = why ? -1 : openat(moving, NEW_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!why)
        why = carry_fill(&m->carry, made, m->source);
    if (!why)
        why = put_in_place(m, moving, made);
    int left = carry_remove(m->tree, PATHS_MOVING);
    (void)left; /* the next one tries again */
    return why;
}

/* What rename(2) says itself of such a failure; for all others it stays at what the kernel says. */
static int exit_code(int why)
{
    static const int passed[] = {0, EBUSY, EDQUOT, EEXIST, EIO, ENOSPC, ENOTEMPTY};
    for (size_t i = 0; i < ARRAY_LEN(passed); i++)
        if (why == passed[i])
            return why;
    return EXIT_LEFT;
}

static int carry_out(const struct plan *plan, const char *tree)
{
    __attribute__((cleanup(move_done))) struct move m = {
        .from.parent = -1, .to.parent = -1, .tree = -1, .source = -1};
    const struct plan_step *step = plan_find(plan, PLAN_MOVE);
    if (!step || open_move(&m, step) != 0)
        return EXIT_LEFT;
    if (notify_rename_unasked(m.from.parent, m.from.name, m.to.parent, m.to.name, m.flags) == 0)
        return 0;
    if (errno != EXDEV)
        return EXIT_LEFT;
    int why = examine(&m, tree);
    return exit_code(why ? why : make_again(&m));
}

bool mover_start(struct mover *ret, int id, int plan_fd, const char *tree, struct err *err)
{
    struct plan plan = {0};
    if (!plan_map(&plan, plan_fd, err))
        return false;
    pid_t pid = fork();
    if (pid == 0)
        _exit(carry_out(&plan, tree));
    int why = errno;
    plan_unmap(&plan);
    if (pid < 0)
        return err_sys(err, why, "cannot carry a rename out");
    *ret = (struct mover){.pid = pid, .id = id};
    return true;
}

int mover_outcome(int wait_status)
{
    if (!WIFEXITED(wait_status))
        return EIO;
    return WEXITSTATUS(wait_status) == EXIT_LEFT ? BOX_MOVE_LEFT : WEXITSTATUS(wait_status);
}

void mover_sweep(const char *tree)
{
    AUTO_FD int fd = open_path(AT_FDCWD, tree);
    int why = fd < 0 ? errno : carry_remove(fd, PATHS_MOVING);
    (void)why; /* the next one tries again */
}
