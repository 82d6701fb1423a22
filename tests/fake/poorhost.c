/*
 * poorhost: run a command as on a host that allows less, with the kernel's own means, so that what
 * Headgate then says and refuses is tested for real.
 *
 *   poorhost KIND... -- COMMAND ARG...
 *
 * Kinds that need a supervisor (landlock-N, no-userns) are listened to by this process until the
 * command ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define GIVE(action) BPF_STMT(BPF_RET | BPF_K, action)
#define FAIL(why) GIVE(SECCOMP_RET_ERRNO | (why))
#define ALLOW GIVE(SECCOMP_RET_ALLOW)
#define LOW_OF_ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n))

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "poorhost: %s: %s\n", what, strerror(errno));
    exit(125);
}

/* Root needs no no_new_privs, and keeps what it may do to make boxes. */
static int load(const struct sock_filter *code, size_t n, unsigned flags)
{
    struct sock_fprog program = {.len = (unsigned short)n,
                                 .filter = (struct sock_filter *)(uintptr_t)code};
    if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        die("no_new_privs");
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (fd < 0)
        die("seccomp");
    return fd;
}

/* As Docker's profile does it: clone3 unknown, namespaces not permitted. */
static void refuse_namespaces(void)
{
    static const struct sock_filter code[] = {
        LOAD(nr),
        IS(SYS_clone3, 0, 1),
        FAIL(ENOSYS),
        IS(SYS_unshare, 1, 0),
        IS(SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_OF_ARG(0)),
        HAS(0x7e020000, 0, 1),
        FAIL(EPERM),
        ALLOW,
    };
    load(code, COUNT(code), 0);
}

static void refuse_landlock(int why)
{
    const struct sock_filter code[] = {LOAD(nr), IS(444, 0, 1), FAIL((uint32_t)why), ALLOW};
    load(code, COUNT(code), 0);
}

/* A listener that somebody else has: there can be one in a process's line of filters. */
static void take_listener(void)
{
    static const struct sock_filter code[] = {LOAD(nr), IS(SYS_reboot, 0, 1),
                                              GIVE(SECCOMP_RET_USER_NOTIF), ALLOW};
    if (fcntl(load(code, COUNT(code), SECCOMP_FILTER_FLAG_NEW_LISTENER), F_SETFD, 0) < 0)
        die("listener");
}

/* Before Linux 5.19 any signal interrupts a call that waits at a listener. */
static void refuse_firm_waits(void)
{
    static const struct sock_filter code[] = {
        LOAD(nr),
        IS(SYS_seccomp, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_OF_ARG(1)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1U << 5 /* WAIT_KILLABLE_RECV */, 0, 1),
        FAIL(EINVAL),
        ALLOW,
    };
    load(code, COUNT(code), 0);
}

static void refuse_ptrace(void)
{
    static const struct sock_filter code[] = {LOAD(nr), IS(SYS_ptrace, 0, 1), FAIL(EPERM), ALLOW};
    load(code, COUNT(code), 0);
}

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        die(path);
    close(fd);
}

static void own_namespaces(void)
{
    char map[64];
    unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) != 0)
        die("unshare");
    if (uid) {
        write_text("/proc/self/setgroups", "deny");
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        write_text("/proc/self/gid_map", map);
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        write_text("/proc/self/uid_map", map);
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        die("private mounts");
}

/* A limit of user.max_user_namespaces that holds for everybody below. */
static void use_up_namespaces(void)
{
    if (geteuid() == 0) {
        errno = EINVAL;
        die("the limit of namespaces is for an ordinary user here");
    }
    own_namespaces();
    write_text("/proc/sys/user/max_user_namespaces", "0");
}

static void cover_proc(void)
{
    own_namespaces();
    if (mount("/dev/null", "/proc/kcore", NULL, MS_BIND, NULL) != 0 &&
        mount("/dev/null", "/proc/uptime", NULL, MS_BIND, NULL) != 0)
        die("cover /proc");
}

static void hide_cgroups(void)
{
    own_namespaces();
    if (mount("none", "/sys/fs/cgroup", "tmpfs", MS_RDONLY, NULL) != 0)
        die("hide cgroups");
}

/* Another /proc/sys/kernel: what of the real one is read, and one file that says otherwise. */
static void tell_kernel(const char *name, const char *text)
{
    static const char *const kept[] = {"osrelease",   "random/boot_id", "cap_last_cap", "pid_max",
                                       "overflowuid", "overflowgid",    "ngroups_max"};
    char folder[] = "/tmp/poorhost-XXXXXX", path[256], content[COUNT(kept)][128] = {{0}};
    for (size_t i = 0; i < COUNT(kept); i++) {
        snprintf(path, sizeof(path), "/proc/sys/kernel/%s", kept[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read(fd, content[i], sizeof(content[i]) - 1) < 0)
            die(path);
        close(fd);
    }
    own_namespaces();
    if (!mkdtemp(folder) || mount("none", "/proc/sys/kernel", "tmpfs", 0, NULL) != 0 ||
        mkdir("/proc/sys/kernel/random", 0755) != 0 || rmdir(folder) != 0)
        die("another /proc/sys/kernel");
    for (size_t i = 0; i <= COUNT(kept); i++) {
        bool is_told = i == COUNT(kept);
        snprintf(path, sizeof(path), "/proc/sys/kernel/%s", is_told ? name : kept[i]);
        const char *line = is_told ? text : content[i];
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
        if (fd < 0 || write(fd, line, strlen(line)) < 0)
            die(path);
        close(fd);
    }
}

/* As Ubuntu's AppArmor does it: a user namespace comes about, and in it nothing is allowed. */
static void restrict_by_apparmor(void)
{
    static const struct sock_filter code[] = {
        LOAD(nr), IS(SYS_mount, 3, 0), IS(SYS_open_tree, 2, 0), IS(SYS_move_mount, 1, 0),
        ALLOW,    FAIL(EACCES),
    };
    tell_kernel("apparmor_restrict_unprivileged_userns", "1\n");
    load(code, COUNT(code), 0);
}

/* A kernel without filters; its own no_new_privs stays. */
static void refuse_filters(void)
{
    static const struct sock_filter code[] = {LOAD(nr), IS(SYS_seccomp, 0, 1), FAIL(ENOSYS), ALLOW};
    load(code, COUNT(code), 0);
}

/* What a call that is listened to comes to: a value, an error, or the kernel's own answer. */
struct verdict {
    long long value;
    int error;
    bool is_kernels;
};

typedef struct verdict (*judge_fn)(const struct seccomp_notif *request, int arg);

static struct verdict tell_abi(const struct seccomp_notif *request, int abi)
{
    (void)request;
    return (struct verdict){.value = abi};
}

/* The flags of clone3 lie in memory. */
static struct verdict refuse_user_namespace(const struct seccomp_notif *request, int unused)
{
    unsigned long long flags = 0;
    struct iovec local = {&flags, sizeof(flags)},
                 remote = {(void *)(uintptr_t)request->data.args[0], sizeof(flags)};
    (void)unused;
    if (process_vm_readv((pid_t)request->pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(flags))
        return (struct verdict){.error = EFAULT};
    return flags & CLONE_NEWUSER ? (struct verdict){.error = EPERM}
                                 : (struct verdict){.is_kernels = true};
}

static _Noreturn void serve(int listener, pid_t child, judge_fn judge, int arg)
{
    int status;
    for (;;) {
        struct seccomp_notif request = {0};
        struct pollfd p = {.fd = listener, .events = POLLIN};
        if (waitpid(child, &status, WNOHANG) == child)
            break;
        if (poll(&p, 1, 100) != 1 || (p.revents & POLLIN) == 0 ||
            ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
            continue;
        struct verdict v = judge(&request, arg);
        struct seccomp_notif_resp answer = {.id = request.id,
                                            .val = v.value,
                                            .error = -v.error,
                                            .flags = v.is_kernels ? SECCOMP_USER_NOTIF_FLAG_CONTINUE
                                                                  : 0};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Filter a child, which goes on to the command, and answer here what the filter asks. */
static void listen_to(const struct sock_filter *code, size_t n, judge_fn judge, int arg)
{
    int ends[2], taken[2], number;
    if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(taken, O_CLOEXEC) != 0)
        die("pipe");
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        number = load(code, n, SECCOMP_FILTER_FLAG_NEW_LISTENER);
        close(taken[1]);
        /* The command's exec closes the descriptor: not before the parent has a copy. */
        if (write(ends[1], &number, sizeof(number)) < 0 || read(taken[0], &number, 1) != 0)
            die("pipe");
        return;
    }
    close(ends[1]);
    if (read(ends[0], &number, sizeof(number)) != (ssize_t)sizeof(number))
        die("listener");
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    int listener = (int)syscall(SYS_pidfd_getfd, process, number, 0);
    if (listener < 0)
        die("take the listener");
    close(taken[1]);
    serve(listener, child, judge, arg);
}

static void lower_landlock(int abi)
{
    static const struct sock_filter code[] = {
        LOAD(nr),
        IS(444, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_OF_ARG(2)),
        IS(1 /* the question for the version */, 0, 1),
        GIVE(SECCOMP_RET_USER_NOTIF),
        ALLOW,
    };
    listen_to(code, COUNT(code), tell_abi, abi);
}

/* As AppArmor's and Debian's switches do it. */
static void refuse_user_namespaces(void)
{
    static const struct sock_filter code[] = {LOAD(nr), IS(SYS_clone3, 0, 1),
                                              GIVE(SECCOMP_RET_USER_NOTIF), ALLOW};
    listen_to(code, COUNT(code), refuse_user_namespace, 0);
}

static bool apply(const char *kind)
{
    if (strcmp(kind, "docker") == 0)
        refuse_namespaces();
    else if (strcmp(kind, "no-userns") == 0)
        refuse_user_namespaces();
    else if (strcmp(kind, "userns-limit") == 0)
        use_up_namespaces();
    else if (strcmp(kind, "landlock-none") == 0)
        refuse_landlock(ENOSYS);
    else if (strcmp(kind, "landlock-off") == 0)
        refuse_landlock(EOPNOTSUPP);
    else if (strncmp(kind, "landlock-", 9) == 0)
        lower_landlock(atoi(kind + 9));
    else if (strcmp(kind, "notify-taken") == 0)
        take_listener();
    else if (strcmp(kind, "notify-interrupted") == 0)
        refuse_firm_waits();
    else if (strcmp(kind, "no-ptrace") == 0)
        refuse_ptrace();
    else if (strcmp(kind, "covered-proc") == 0)
        cover_proc();
    else if (strcmp(kind, "apparmor") == 0)
        restrict_by_apparmor();
    else if (strcmp(kind, "wsl2") == 0)
        tell_kernel("osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
    else if (strcmp(kind, "no-seccomp") == 0)
        refuse_filters();
    else if (strcmp(kind, "no-cgroups") == 0)
        hide_cgroups();
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!apply(argv[i])) {
            fprintf(stderr, "poorhost: there is no kind %s\n", argv[i]);
            return 125;
        }
    if (i + 1 >= argc) {
        fputs("usage: poorhost KIND... -- COMMAND ARG...\n", stderr);
        return 125;
    }
    execvp(argv[i + 1], argv + i + 1);
    die(argv[i + 1]);
}
