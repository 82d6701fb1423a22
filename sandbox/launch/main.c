#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* The namespaces in the order in which they are given up where the kernel was built without one. */
static const struct {
    enum layer_id layer;
    uint64_t flag;
    bool may_miss;
    const char *mechanism;
} namespaces[] = {
    {LAYER_CGROUP, CLONE_NEWCGROUP, true, "cgroup namespace"},
    {LAYER_UTS, CLONE_NEWUTS, true, "uts namespace"},
    {LAYER_IPC, CLONE_NEWIPC, true, "ipc namespace"},
    {LAYER_NET, CLONE_NEWNET, true, "network namespace, only lo"},
    {LAYER_PID, CLONE_NEWPID, false, "pid namespace, own procfs"},
    {LAYER_MOUNT, CLONE_NEWNS, false, "mount namespace, own root"},
    {LAYER_USER, CLONE_NEWUSER, false, "user namespace, one uid mapped to itself"},
};

static bool explain_no_namespaces(int why, struct err *err)
{
    err_sys(err, why, "cannot create the namespaces of the box");
    err->code = ERR_LAYER;
    if (launch_blame_apparmor(err))
        return false;
    if (why == ENOSPC || why == EUSERS)
        err_prefix(err, "the limit of namespaces is used up; raise user.max_user_namespaces");
    else if (why == ENOSYS)
        err_prefix(err, "this process is in a sandbox already, whose filter refuses namespaces; "
                        "start a container with --security-opt seccomp=unconfined");
    else if (why == EPERM)
        err_prefix(err, "this system does not allow user namespaces; see `headgate doctor`");
    return false;
}

static pid_t clone_with(uint64_t flags)
{
    struct clone_args args = {.flags = flags | CLONE_PARENT};
    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Returns twice, as fork(2) does; -1 with err filled. */
static pid_t clone_inside(struct launch *l, struct err *err)
{
    uint64_t flags = 0;
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        /* The private mount namespace stays even without the layer: the own procfs needs it. */
        if (launch_has(l, namespaces[i].layer) || namespaces[i].layer == LAYER_MOUNT)
            flags |= namespaces[i].flag;
        if (launch_has(l, namespaces[i].layer))
            launch_set(l, namespaces[i].layer, LAYER_ACTIVE, namespaces[i].mechanism, "");
    }
    for (size_t i = 0;; i++) {
        pid_t pid = clone_with(flags);
        if (pid >= 0)
            return pid;
        int why = errno;
        if (why != EINVAL || i >= ARRAY_LEN(namespaces) || !namespaces[i].may_miss)
            return explain_no_namespaces(why, err), -1;
        if (flags & namespaces[i].flag) {
            flags &= ~namespaces[i].flag;
            launch_set(l, namespaces[i].layer, LAYER_UNAVAILABLE, "",
                       "the kernel was built without this namespace");
        }
    }
}

static void raise_open_files(struct launch *l)
{
    getrlimit(RLIMIT_NOFILE, &l->open_files);
    struct rlimit most = {l->open_files.rlim_max, l->open_files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
}

/*
 * Started by root: what the box shows is opened with root's rights, then root is given up for good,
 * before there is a namespace. From here on everything is as for any other user. Dumpable is what
 * the change of uid took away, and without it /proc/self/uid_map is not writable.
 */
static bool give_up_root(struct launch *l, struct err *err)
{
    const struct plan_head *head = l->plan.head;
    if (head->uid == 0 || head->gid == 0)
        return err_set(err, ERR_LAYER,
                       "a box never runs as root; set box.user to an unprivileged account");
    if (!tree_open_all(l, err))
        return false;
    if (setgroups(0, NULL) != 0 || setresgid(head->gid, head->gid, head->gid) != 0 ||
        setresuid(head->uid, head->uid, head->uid) != 0)
        return err_sys(err, errno, "cannot become uid %u, gid %u", head->uid, head->gid);
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot become dumpable");
    return true;
}

/* The caller may still be making the plan. Its end instead is no error: nobody is left to hear of
 * one. Without a plan on success: the caller wants the namespaces first. */
static bool receive_plan(struct launch *l, struct err *err)
{
    struct wire_cmd cmd = {0};
    AUTO_FD int fd = -1;
    if (launch_receive(l->ctl_fd, &cmd, &fd, 0) && cmd.op == WIRE_BEGIN && l->uid != 0)
        return true;
    if (cmd.op != WIRE_PLAN || fd < 0)
        return err_set(err, ERR_FORMAT, "no plan came for the box");
    return plan_map(&l->plan, fd, err);
}

/* No signal blocked or ignored, whatever the caller does with its own. Real-time signals are
 * nobody's habit to ignore. */
static void reset_signals(void)
{
    enum { LOWEST_REALTIME = 32 };
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < LOWEST_REALTIME; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool check_account(const struct launch *l, struct err *err)
{
    const struct plan_head *head = l->plan.head;
    return (l->uid == head->uid && l->gid == head->gid) ||
           err_set(err, ERR_INTERNAL, "the box was planned for uid %u, gid %u, started by %u, %u",
                   head->uid, head->gid, l->uid, l->gid);
}

static bool prepare(struct launch *l, struct err *err)
{
    reset_signals();
    close_range(WIRE_FIRST_FREE_FD, ~0U, 0);
    if (fcntl(WIRE_CTL_FD, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(WIRE_BIRTH_FD, F_SETFD, FD_CLOEXEC) < 0)
        return err_sys(err, errno, "headgate-box is started by Headgate itself");
    l->uid = geteuid();
    l->gid = getegid();
    if (!receive_plan(l, err))
        return false;
    launch_mark(l, "");
    raise_open_files(l);
    if (!l->plan.head)
        return true; /* the namespaces come first */
    limits_join_groups(l);
    return l->uid == 0 ? give_up_root(l, err) : check_account(l, err);
}

bool launch_catch_up(struct launch *l, struct err *err)
{
    if (!receive_plan(l, err))
        return false;
    launch_mark(l, "wait for the plan");
    if (!l->plan.head || l->plan.head->without || plan_find(&l->plan, PLAN_CGROUP))
        return err_set(err, ERR_INTERNAL,
                       "the plan of the box is not one whose namespaces may come first");
    limits_join_groups(l);
    return check_account(l, err);
}

static void tell_birth(const struct wire_birth *birth)
{
    while (write(WIRE_BIRTH_FD, birth, sizeof(*birth)) < 0 && errno == EINTR)
        continue;
}

int main(int argc, char **argv)
{
    static struct launch l = {.ctl_fd = WIRE_CTL_FD, .pty_fd = -1, .root_fd = -1, .proc_fd = -1};
    if (argc > 1 && strcmp(argv[1], "--probe") == 0)
        return probe_main(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--hold") == 0)
        return hold_main(argc - 2, argv + 2);
    if (argc != 1 || fcntl(WIRE_BIRTH_FD, F_GETFD) < 0) {
        fputs("headgate-box is started by headgate and its keeper; use `headgate box`\n", stderr);
        return 2;
    }
    struct wire_birth birth = {.error = ERR_INIT};
    if (prepare(&l, &birth.error)) {
        pid_t pid = clone_inside(&l, &birth.error);
        if (pid == 0) {
            close(WIRE_BIRTH_FD);
            launch_mark(&l, "namespaces");
            inside_run(&l);
        }
        birth.pid = pid > 0 ? pid : 0;
    }
    tell_birth(&birth);
    return birth.pid > 0 ? 0 : 1;
}
