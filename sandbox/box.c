#include "sandbox/box.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/plan.h"
#include "sandbox/plan_parts.h"
#include "sandbox/wire.h"

/* Ours are kept above the numbers that the launcher gets, so that no dup2 overwrites a source. */
enum { LOWEST_OWN_FD = 16, CHILD_STACK_BYTES = 16 * 1024 };

static int lift(int fd)
{
    if (fd < 0)
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_OWN_FD);
    int why = errno;
    close(fd);
    errno = why;
    return high;
}

static int plan_to_memfd(const struct buf *plan, struct err *err)
{
    AUTO_FD int fd = lift(memfd_create("box-plan", MFD_CLOEXEC));
    if (fd < 0)
        return err_sys(err, errno, "cannot create a memory file"), -1;
    if (!fs_write_fd(fd, plan->ptr, plan->len, err))
        return -1;
    return steal_fd(&fd);
}

static bool send_cmd(int ctl_fd, const struct wire_cmd *cmd, int fd, struct err *err)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)cmd, .iov_len = sizeof(*cmd)};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        head.msg_control = control.bytes;
        head.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&head);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    ssize_t sent;
    do
        sent = sendmsg(ctl_fd, &head, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return err_sys(err, errno, "cannot speak to the box");
    return true;
}

/* The descriptors of one start that the caller keeps, and those that go to the launcher. */
struct start {
    int ctl_fd, box_ctl_fd;     /* ours, pid 1's */
    int birth_fd, box_birth_fd; /* we read, the outer launcher writes */
    int std_fds[3];
};

static void start_release(struct start *s)
{
    int *const all[] = {&s->ctl_fd,     &s->box_ctl_fd, &s->birth_fd,  &s->box_birth_fd,
                        &s->std_fds[0], &s->std_fds[1], &s->std_fds[2]};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        auto_fd_(all[i]);
}

#define AUTO_START __attribute__((cleanup(start_release)))

static bool start_open(struct start *s, const int std_fds[3], struct err *err)
{
    int pair[2], ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return err_sys(err, errno, "cannot create the control socket of a box");
    s->ctl_fd = pair[0];
    s->box_ctl_fd = lift(pair[1]);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    s->birth_fd = ends[0];
    s->box_birth_fd = lift(ends[1]);
    for (int i = 0; i < 3; i++) {
        s->std_fds[i] = std_fds ? fcntl(std_fds[i], F_DUPFD_CLOEXEC, LOWEST_OWN_FD)
                                : lift(open("/dev/null", O_RDWR | O_CLOEXEC));
        if (s->std_fds[i] < 0)
            return err_sys(err, errno, "cannot open standard stream %d of the box", i);
    }
    if (s->box_ctl_fd < 0 || s->box_birth_fd < 0)
        return err_sys(err, errno, "cannot pass descriptors to the box");
    return fs_set_nonblock(s->ctl_fd, err);
}

/* What the child of one start needs, in memory that it shares with its parent. */
struct exec_call {
    const struct start *start;
    const char *launcher;
    int why; /* errno, when there was no exec */
};

/* The descriptors that are moved lie above all that they are moved to (lift). An empty environment:
 * what the launcher was started with stays readable in /proc to its owner. Not instrumented: it
 * never returns, and would leave marks of its frame on a stack that the parent goes on to use. */
__attribute__((no_sanitize_address)) static int become_launcher(void *arg)
{
    struct exec_call *call = arg;
    const struct start *s = call->start;
    const struct {
        int from, to;
    } moves[] = {
        {s->std_fds[0], 0},
        {s->std_fds[1], 1},
        {s->std_fds[2], 2},
        {s->box_ctl_fd, WIRE_CTL_FD},
        {s->box_birth_fd, WIRE_BIRTH_FD},
    };
    char name[] = "headgate-box";
    char *argv[] = {name, NULL};
    char *env[] = {NULL};
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        if (dup2(moves[i].from, moves[i].to) < 0)
            goto failed;
    if (close_range(WIRE_FIRST_FREE_FD, ~0U, 0) == 0)
        execve(call->launcher, argv, env);
failed:
    call->why = errno;
    _exit(127);
}

/* As posix_spawn(3) does it, but for the signals: those are put right by the launcher itself, while
 * it waits for its plan. Spawn would make some seventy calls for them while this process waits. No
 * handler may run in the child, hence none does until it has its own memory. */
static bool start_launcher(pid_t *ret_pid, const struct start *s, const char *launcher,
                           struct err *err)
{
    _Alignas(16) char stack[CHILD_STACK_BYTES];
    struct exec_call call = {s, launcher, 0};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid =
        clone(become_launcher, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &call);
    int why = pid < 0 ? errno : call.why;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (why) {
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        return err_sys(err, why, "cannot start %s", launcher);
    }
    *ret_pid = pid;
    return true;
}

static bool read_birth(int fd, struct wire_birth *ret, struct err *err)
{
    ssize_t got;
    do
        got = read(fd, ret, sizeof(*ret));
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(*ret))
        return err_set(err, ERR_INTERNAL, "the launcher of the box ended without a word");
    if (ret->pid <= 0)
        *err = ret->error;
    return ret->pid > 0;
}

static void copy_groups(struct strv *ret, const struct buf *plan, pid_t outer)
{
    struct plan view = {.head = (const struct plan_head *)(const void *)plan->ptr,
                        .size_bytes = plan->len};
    const struct plan_step *step = NULL;
    while ((step = plan_next(&view, step)))
        if (step->kind == PLAN_CGROUP)
            strv_pushf(ret, "%s/" BOX_GROUP_PREFIX "%d", plan_text(step, 0), (int)outer);
}

bool box_launcher_start(struct box_launcher *ret, const char *path, const int std_fds[3],
                        struct err *err)
{
    AUTO_START struct start s = {-1, -1, -1, -1, {-1, -1, -1}};
    pid_t pid = -1;
    if (!start_open(&s, std_fds, err) || !start_launcher(&pid, &s, path, err))
        return false;
    *ret = (struct box_launcher){
        .pid = pid, .ctl_fd = steal_fd(&s.ctl_fd), .birth_fd = steal_fd(&s.birth_fd)};
    return true;
}

bool box_launcher_begin(struct box_launcher *launcher)
{
    const struct wire_cmd cmd = {.op = WIRE_BEGIN};
    struct err gone = ERR_INIT; /* is told when the plan is */
    launcher->has_begun = geteuid() != 0 && send_cmd(launcher->ctl_fd, &cmd, -1, &gone);
    return launcher->has_begun;
}

static void reap(pid_t pid)
{
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

void box_launcher_release(struct box_launcher *launcher)
{
    struct wire_birth birth;
    struct err unborn = ERR_INIT;
    auto_fd_(&launcher->ctl_fd); /* its end is the launcher's, and that of a pid 1 without a plan */
    launcher->ctl_fd = -1;
    if (launcher->has_begun && launcher->birth_fd >= 0 &&
        read_birth(launcher->birth_fd, &birth, &unborn))
        reap(birth.pid);
    auto_fd_(&launcher->birth_fd);
    reap(launcher->pid);
    *launcher = (struct box_launcher)BOX_LAUNCHER_INIT;
}

static bool send_plan(int ctl_fd, const struct buf *plan, struct err *err)
{
    const struct wire_cmd cmd = {.op = WIRE_PLAN};
    AUTO_FD int fd = plan_to_memfd(plan, err);
    return fd >= 0 && send_cmd(ctl_fd, &cmd, fd, err);
}

/* A launcher that could not begin is gone before the plan is there; its last message says why. */
static bool is_peer_gone(const struct err *unsent)
{
    return unsent->sys_errno == EPIPE || unsent->sys_errno == ECONNRESET;
}

bool box_launcher_plan(struct box_child *ret, struct box_launcher *launcher, const struct buf *plan,
                       struct err *err)
{
    struct wire_birth birth;
    struct err unsent = ERR_INIT;
    pid_t outer = launcher->pid;
    bool is_sent = send_plan(launcher->ctl_fd, plan, &unsent) || is_peer_gone(&unsent);
    bool is_born = read_birth(launcher->birth_fd, &birth, err);
    if (is_sent && is_born) {
        *ret = (struct box_child){
            .pid = birth.pid, .ctl_fd = steal_fd(&launcher->ctl_fd), .groups = STRV_INIT};
        copy_groups(&ret->groups, plan, outer);
    } else if (is_born) {
        *err = unsent;
    }
    launcher->has_begun = false; /* its birth is read, and its pid 1 the caller's */
    box_launcher_release(launcher);
    return is_sent && is_born;
}

bool box_spawn(struct box_child *ret, const char *launcher, const struct buf *plan,
               const int std_fds[3], struct err *err)
{
    AUTO_BOX_LAUNCHER struct box_launcher started = BOX_LAUNCHER_INIT;
    const struct plan_head *head = (const struct plan_head *)(const void *)plan->ptr;
    if (plan->len < sizeof(*head))
        return err_set(err, ERR_FORMAT, "the plan of the box is empty");
    return box_launcher_start(&started, launcher, head->flags & PLAN_PTY ? NULL : std_fds, err) &&
           box_launcher_plan(ret, &started, plan, err);
}

void box_close(struct box_child *child)
{
    if (child->ctl_fd >= 0)
        close(child->ctl_fd);
    /* Best effort: what cannot be removed now is swept away at the next start of a box. */
    for (size_t i = 0; i < child->groups.n; i++)
        rmdir(child->groups.v[i]);
    strv_release(&child->groups);
    *child = (struct box_child){.pid = 0, .ctl_fd = -1, .groups = STRV_INIT};
}

/* The descriptor of a message, or -1. */
static int take_fd(struct msghdr *head)
{
    int fd = -1;
    const struct cmsghdr *c = CMSG_FIRSTHDR(head);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

/* pid 1 is trusted to speak the truth, yet a text that it did not end must not be read past its
 * end. */
static void end_texts(struct wire_msg *wire)
{
    wire->error.text[sizeof(wire->error.text) - 1] = '\0';
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        struct layer_status *layer = &wire->report.layer[i];
        layer->mechanism[sizeof(layer->mechanism) - 1] = '\0';
        layer->reason[sizeof(layer->reason) - 1] = '\0';
    }
    if (wire->times.n > BOX_TIMES)
        wire->times.n = BOX_TIMES;
}

bool box_recv(struct box_msg *ret, int ctl_fd, struct err *err)
{
    struct wire_msg wire;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = &wire, .iov_len = sizeof(wire)};
    struct msghdr head = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    ssize_t got;
    /* ECONNRESET comes once, before what is still queued, when pid 1 ended with commands unread. */
    do
        got = recvmsg(ctl_fd, &head, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got < 0 && errno != EAGAIN)
        return err_sys(err, errno, "cannot read from the box");
    if (got <= 0) {
        bool is_empty = got < 0 && errno == EAGAIN;
        *ret = (struct box_msg){.kind = is_empty ? BOX_MSG_NONE : BOX_MSG_CLOSED, .fd = -1};
        return true;
    }
    AUTO_FD int fd = take_fd(&head);
    if (got != (ssize_t)sizeof(wire))
        return err_set(err, ERR_FORMAT, "the box sent a message of %zd bytes", got);
    end_texts(&wire);
    *ret = (struct box_msg){
        .kind = (enum box_msg_kind)wire.kind,
        .fd = steal_fd(&fd),
        .id = wire.id,
        .port = wire.port,
        .status = wire.status,
        .report = wire.report,
        .times = wire.times,
        .error = wire.error,
    };
    return true;
}

bool box_go(int ctl_fd, struct err *err)
{
    const struct wire_cmd cmd = {.op = WIRE_GO};
    return send_cmd(ctl_fd, &cmd, -1, err);
}

bool box_dial(int ctl_fd, int id, int port, bool is_v6, struct err *err)
{
    const struct wire_cmd cmd = {.op = WIRE_DIAL, .id = id, .port = port, .is_v6 = is_v6};
    return send_cmd(ctl_fd, &cmd, -1, err);
}

bool box_join(int ctl_fd, int id, const struct strv *argv, const struct strv *env, const char *cwd,
              uint16_t cols, uint16_t rows, struct err *err)
{
    const struct wire_cmd cmd = {.op = WIRE_JOIN, .id = id};
    AUTO_BUF struct buf plan = BUF_INIT;
    if (id <= 0 || argv->n == 0)
        return err_set(err, ERR_USAGE, "a further program in a box needs an id and a command");
    plan_join(&plan, argv, env, cwd, cols, rows);
    AUTO_FD int fd = plan_to_memfd(&plan, err);
    return fd >= 0 && send_cmd(ctl_fd, &cmd, fd, err);
}

bool box_move(int ctl_fd, int id, const struct box_rename *rename, struct err *err)
{
    const struct wire_cmd cmd = {.op = WIRE_MOVE, .id = id};
    AUTO_BUF struct buf plan = BUF_INIT;
    plan_move(&plan, rename);
    AUTO_FD int fd = plan_to_memfd(&plan, err);
    return fd >= 0 && send_cmd(ctl_fd, &cmd, fd, err);
}

bool box_signal(int ctl_fd, int id, int signal_number, struct err *err)
{
    const struct wire_cmd cmd = {.op = WIRE_SIGNAL, .id = id, .signal_number = signal_number};
    return send_cmd(ctl_fd, &cmd, -1, err);
}
