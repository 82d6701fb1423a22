#include "sandbox/plan_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

/*
 * Where the box's group can be made. Version 2: below our own cgroup, when it was delegated with
 * the memory and pids controllers handed down; its own processes may then not be in it ("no
 * internal processes", kernel cgroup-v2.rst), so the parent is tried too, which a delegation to a
 * slice gives. Version 1: below our own group of each hierarchy, for root or where it was given
 * away by chown.
 */

enum {
    CGROUP_FILE_BYTES = 64 * 1024,
    CPU_WEIGHT = 50, /* half of what anything else has: the person's own programs come first */
};

static const char degraded_mechanism[] = "RLIMIT_NPROC, memory counted by pid 1";
static const char degraded_reason[] = "no memory and pids cgroup is delegated to this account; "
                                      "start under `systemd-run --user --scope "
                                      "-p Delegate=yes`";

static bool is_writable(const char *folder, const char *file)
{
    AUTO_FREE char *path = fs_join(folder, file);
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p += len)
        if ((p == text || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\n' || !p[len]))
            return true;
    return false;
}

/* Both controllers are handed down to the children of folder, or can be. */
static bool hands_down(const char *folder)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = fs_join(folder, "cgroup.subtree_control");
    struct err ignored = ERR_INIT;
    if (fs_read_file(&text, AT_FDCWD, path, CGROUP_FILE_BYTES, &ignored) &&
        has_word(text.ptr, "memory") && has_word(text.ptr, "pids"))
        return true;
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    static const char both[] = "+memory +pids", cpu[] = "+cpu";
    if (fd < 0 || write(fd, both, sizeof(both) - 1) != (ssize_t)sizeof(both) - 1)
        return false;
    bool has_weight = write(fd, cpu, sizeof(cpu) - 1) > 0;
    (void)has_weight; /* welcome, not needed */
    return true;
}

/* The group of a hierarchy that /proc/self/cgroup names; NULL when there is none. Allocated. */
static char *own_group(const char *text, const char *controller, const char *mount)
{
    AUTO_STRV struct strv lines = STRV_INIT;
    strv_split(&lines, text, '\n', false);
    for (size_t i = 0; i < lines.n; i++) {
        char *names = strchr(lines.v[i], ':');
        char *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        AUTO_STRV struct strv controllers = STRV_INIT;
        strv_split(&controllers, names + 1, ',', true);
        if (strv_has(&controllers, controller))
            return fs_join(mount, path);
    }
    return NULL;
}

static void add_set(struct buf *plan, const char *file, int64_t value, unsigned flags)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, value);
    if (value > 0)
        plan_add(plan, PLAN_CGROUP_SET, flags, file, text, NULL);
}

/* pid 1 of the box counts as well. */
static int64_t pids_in_group(const struct box_limits *limits)
{
    return limits->pids > 0 ? limits->pids + 1 : 0;
}

static bool add_v2(struct buf *plan, const struct box_limits *limits, const char *mount,
                   const char *text)
{
    AUTO_FREE char *own = own_group(text, "", mount);
    if (!own)
        return false;
    AUTO_FREE char *parent = fs_dirname(own);
    const char *const places[] = {own, parent};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (strncmp(places[i], mount, strlen(mount)) != 0 || !is_writable(places[i], "") ||
            !is_writable(places[i], "cgroup.procs") || !hands_down(places[i]))
            continue;
        plan_add(plan, PLAN_CGROUP, 0, places[i], "cgroup v2 memory, pids", NULL);
        add_set(plan, "memory.max", limits->memory_bytes, 0);
        if (limits->memory_bytes > 0) {
            plan_add(plan, PLAN_CGROUP_SET, PLAN_OPTIONAL, "memory.swap.max", "0", NULL);
            plan_add(plan, PLAN_CGROUP_SET, PLAN_OPTIONAL, "memory.oom.group", "1", NULL);
        }
        add_set(plan, "pids.max", pids_in_group(limits), 0);
        add_set(plan, "cpu.weight", CPU_WEIGHT, PLAN_OPTIONAL);
        return true;
    }
    return false;
}

static void add_v1(struct buf *plan, const struct box_limits *limits, const char *sys_root,
                   const char *text)
{
    AUTO_FREE char *memory_mount = fs_join(sys_root, "memory");
    AUTO_FREE char *pids_mount = fs_join(sys_root, "pids");
    AUTO_FREE char *memory = own_group(text, "memory", memory_mount);
    AUTO_FREE char *pids = own_group(text, "pids", pids_mount);
    if (!memory || !pids || !is_writable(memory, "") || !is_writable(pids, ""))
        return;
    plan_add(plan, PLAN_CGROUP, 0, memory, "cgroup v1 memory, pids", NULL);
    add_set(plan, "memory.limit_in_bytes", limits->memory_bytes, 0);
    /* Memory and swap together: none beyond memory itself. Absent without swap accounting. */
    add_set(plan, "memory.memsw.limit_in_bytes", limits->memory_bytes, PLAN_OPTIONAL);
    plan_add(plan, PLAN_CGROUP, 0, pids, "cgroup v1 memory, pids", NULL);
    add_set(plan, "pids.max", pids_in_group(limits), 0);
}

void plan_add_cgroups(struct buf *plan, const struct box_limits *limits, const char *sys_root,
                      const char *proc_cgroup)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    if (limits->memory_bytes <= 0 && limits->pids <= 0) {
        plan_add(plan, PLAN_LIMITS, 0, "rlimits (no limit was asked for)", "", NULL);
        return;
    }
    plan_add(plan, PLAN_LIMITS, 0, degraded_mechanism, degraded_reason, NULL);
    if (!fs_read_file(&text, AT_FDCWD, proc_cgroup, CGROUP_FILE_BYTES, &ignored))
        return;
    AUTO_FREE char *hybrid = fs_join(sys_root, "unified");
    const char *v2_mount = fs_is_dir(hybrid) ? hybrid : sys_root;
    if (!add_v2(plan, limits, v2_mount, text.ptr))
        add_v1(plan, limits, sys_root, text.ptr);
}
