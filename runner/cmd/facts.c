#include "runner/cmd/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"

enum { TEXT_MAX = 1 << 20, LANDLOCK_CREATE_RULESET = 444, LANDLOCK_VERSION = 1, SCOPES_ABI = 6 };

static void add(json_t *facts, const char *name, const char *value, const char *advice)
{
    json_t *fact = json_object();
    jx_set_str(fact, "name", name);
    jx_set_str(fact, "value", value);
    jx_set_str(fact, "advice", advice);
    json_array_append_new(facts, fact);
}

/* The first line of a file, allocated; NULL when there is none. */
static char *first_line(const char *path)
{
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    if (!fs_read_file(&text, AT_FDCWD, path, TEXT_MAX, &ignored))
        return NULL;
    text.ptr[strcspn(text.ptr, "\n")] = '\0';
    return xstrdup(text.ptr);
}

static bool file_has(const char *path, const char *word)
{
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    return fs_read_file(&text, AT_FDCWD, path, TEXT_MAX, &ignored) && strstr(text.ptr, word);
}

/* The kind of machine that this Linux believes to be. */
static const char *host_kind(void)
{
    static const struct {
        const char *path, *word, *kind; /* word NULL: the file is enough */
    } signs[] = {
        {"/proc/sys/kernel/osrelease", "icrosoft", "WSL2"},
        {"/run/.containerenv", NULL, "a Podman container"},
        {"/.dockerenv", NULL, "a Docker container"},
        {"/proc/1/cgroup", "kubepods", "a Kubernetes pod"},
        {"/proc/1/cgroup", "/docker", "a Docker container"},
        {"/proc/1/cgroup", "/lxc", "an LXC container"},
        {"/run/systemd/container", "nspawn", "a systemd-nspawn container"},
        {"/run/systemd/container", NULL, "a container"},
    };
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (signs[i].word ? file_has(signs[i].path, signs[i].word) : fs_exists(signs[i].path))
            return signs[i].kind;
    return "native";
}

char *facts_platform(void)
{
    struct utsname name;
    const char *kind = host_kind();
    bool is_native = strcmp(kind, "native") == 0;
    if (uname(&name) != 0)
        return xstrdup("Linux");
    return xasprintf("Linux %s %s%s%s%s", name.release, name.machine, is_native ? "" : " (",
                     is_native ? "" : kind, is_native ? "" : ")");
}

static void add_namespaces(json_t *facts)
{
    AUTO_FREE char *most = first_line("/proc/sys/user/max_user_namespaces");
    AUTO_FREE char *debian = first_line("/proc/sys/kernel/unprivileged_userns_clone");
    AUTO_FREE char *apparmor = first_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    bool is_none = !most || strcmp(most, "0") == 0;
    add(facts, "user.max_user_namespaces", most ? most : "absent",
        is_none ? "set user.max_user_namespaces to 15000 or so; without user namespaces there is "
                  "no box"
                : "");
    if (debian)
        add(facts, "kernel.unprivileged_userns_clone", debian,
            strcmp(debian, "0") == 0 ? "set kernel.unprivileged_userns_clone=1" : "");
    add(facts, "AppArmor's restriction of user namespaces",
        !apparmor                    ? "absent"
        : strcmp(apparmor, "1") == 0 ? "on"
                                     : "off",
        apparmor && strcmp(apparmor, "1") == 0
            ? "give headgate-box an AppArmor profile with `userns,`, or set "
              "kernel.apparmor_restrict_unprivileged_userns=0"
            : "");
}

static void add_landlock(json_t *facts)
{
    long abi = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION);
    int why = errno;
    AUTO_FREE char *value = xasprintf("%ld", abi);
    if (abi >= 1)
        add(facts, "Landlock ABI", value,
            abi < SCOPES_ABI ? "Linux 6.12 has the scopes of signals and abstract sockets" : "");
    else
        add(facts, "Landlock ABI", "none",
            why == EOPNOTSUPP
                ? "add landlock to the kernel's lsm= list"
                : "Linux 5.13 has Landlock; in a container, its filter must allow it");
}

/* In a child, since a filter stays: 0, or why there is no listener. */
static int try_listener(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = 1, .filter = &allow};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                    &program) < 0)
            _exit(errno);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINVAL;
}

static void add_listener(json_t *facts)
{
    int why = try_listener();
    add(facts, "seccomp notification",
        why == 0       ? "works"
        : why == EBUSY ? "taken"
                       : "refused",
        why == 0 ? ""
        : why == EBUSY
            ? "a sandbox around this process listens already, and there can be one only (WSL2, an "
              "outer agent's box): without it no exec can be asked about; start Headgate outside"
            : "Linux 5.0 has it; without it no exec can be asked about");
}

static void add_tracing(json_t *facts)
{
    AUTO_FREE char *scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
    add(facts, "Yama ptrace_scope", scope ? scope : "absent",
        scope && strcmp(scope, "3") == 0
            ? "no process may be traced until the next boot, so no exec can be allowed after asking"
            : "");
}

/* Mounts below /proc: a container engine's masks, and then the kernel refuses a procfs of one's
 * own. */
static void add_procfs(json_t *facts)
{
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    bool is_covered = false;
    if (fs_read_file(&text, AT_FDCWD, "/proc/self/mountinfo", TEXT_MAX, &ignored))
        is_covered = strstr(text.ptr, " /proc/") && !strstr(text.ptr, " /proc/sys/fs/binfmt_misc ");
    add(facts, "procfs", is_covered ? "covered in part" : "whole",
        is_covered ? "start the container with an unmasked /proc (docker: --security-opt "
                     "systempaths=unconfined)"
                   : "");
}

/* Folders in memory have a bound. A quota of the worktree and the private home would be root's to
 * set. */
static void add_disk(json_t *facts)
{
    AUTO_STRV struct strv own = STRV_INIT;
    struct statvfs fs;
    struct sysinfo machine;
    paths_add_private(&own);
    if (own.n == 0 || sysinfo(&machine) != 0)
        return;
    AUTO_FREE char *path = xstrdup(own.v[0]);
    while (statvfs(path, &fs) != 0 && strchr(path + 1, '/')) /* not made yet */
        *strrchr(path, '/') = '\0';
    if (statvfs(path, &fs) != 0)
        return;
    AUTO_FREE char *value =
        xasprintf("/tmp and /dev/shm of a box: %.1f GiB each, in memory; its worktree and home: no "
                  "quota, %.1f GiB free",
                  (double)machine.totalram * machine.mem_unit / 4 / (double)(1 << 30),
                  (double)fs.f_bavail * (double)fs.f_frsize / (double)(1 << 30));
    add(facts, "disk", value,
        "HEADGATE_STATE on a file system of its own bounds what boxes can fill");
}

static void add_cgroups(json_t *facts, const struct layer_report *report)
{
    const struct layer_status *limits = &report->layer[LAYER_LIMITS];
    bool has_v2 = fs_exists("/sys/fs/cgroup/cgroup.controllers");
    add(facts, "cgroups",
        limits->state == LAYER_ACTIVE        ? limits->mechanism
        : has_v2                             ? "version 2, not delegated"
        : fs_exists("/sys/fs/cgroup/memory") ? "version 1, not delegated"
                                             : "not in sight",
        limits->state == LAYER_ACTIVE ? "" : limits->reason);
}

json_t *facts_of_host(const struct layer_report *report)
{
    struct utsname name;
    json_t *facts = json_array();
    const char *kind = host_kind();
    AUTO_FREE char *kernel =
        uname(&name) == 0 ? xasprintf("%s %s", name.release, name.machine) : xstrdup("?");
    add(facts, "kernel", kernel, "");
    add(facts, "host", kind,
        strcmp(kind, "WSL2") == 0
            ? "programs of Windows are started by a handler of the kernel; turn it off in "
              "/etc/wsl.conf with [interop] enabled=false"
            : "");
    add_namespaces(facts);
    add_procfs(facts);
    add_landlock(facts);
    add_listener(facts);
    add_tracing(facts);
    add_disk(facts);
    add_cgroups(facts, report);
    add(facts, "macOS, Windows", "not built, not enforced", "");
    return facts;
}
