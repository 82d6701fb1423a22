#include "runner/cmd/box_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/box_flow.h"
#include "runner/cmd/box_proxy.h"
#include "runner/cmd/box_service.h"
#include "runner/cmd/box_term.h"
#include "sandbox/held.h"

/* What a signal to us means is for the command to say; a change of size is for its terminal. */
static const int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

enum { FIXED_FDS = 8, PROXY_FD = 5, HELD_FD = 6 };

struct loop {
    struct box_child child;
    struct box_services *services;
    struct box_proxy *proxy; /* borrowed; NULL: none */
    int signal_fd;
    sigset_t old_mask;
    int pty_fd;
    int relay[3]; /* our ends of the pipes in place of terminals and files; -1: none */
    struct box_flow flow[3];
    struct held held;
    struct box_end end;
    bool has_ended;  /* nothing runs any more; pid 1 ends by itself */
    bool has_closed; /* ... and nothing more is waited for: a cgroup is removed after pid 1 */
};

static void loop_release(struct loop *l)
{
    box_term_restore();
    if (l->child.pid > 0) {
        bool is_awaited = !l->has_ended || l->child.groups.n > 0;
        if (is_awaited)
            kill(l->child.pid, SIGKILL);
        while (is_awaited && waitpid(l->child.pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        box_close(&l->child);
    }
    box_services_free(l->services);
    held_release(&l->held);
    auto_fd_(&l->pty_fd);
    for (int i = 0; i < 3; i++)
        auto_fd_(&l->relay[i]);
    auto_fd_(&l->signal_fd);
    sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
}

#define AUTO_LOOP __attribute__((cleanup(loop_release)))

static void choose_terminal(struct box_spec *spec)
{
    struct winsize size;
    spec->pty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!spec->pty || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return;
    spec->cols = size.ws_col;
    spec->rows = size.ws_row;
}

static bool watch_signals(struct loop *l, struct err *err)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGWINCH);
    for (size_t i = 0; i < ARRAY_LEN(passed_signals); i++)
        sigaddset(&watched, passed_signals[i]);
    sigprocmask(SIG_BLOCK, &watched, &l->old_mask);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe ends that stream, and no more */
    l->signal_fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return l->signal_fd >= 0 || err_sys(err, errno, "cannot watch signals");
}

/*
 * A stream that goes into the box as it is: a pipe or a socket, behind which lies no file system,
 * and /dev/null. Of a file or folder the box could change mode, owner and whatever lies beside it;
 * only Landlock, where the kernel has it, would keep it from opening them anew.
 */
static bool is_harmless(int fd)
{
    struct stat st;
    struct statfs fs;
    if (fstat(fd, &st) != 0)
        return false;
    if (S_ISFIFO(st.st_mode))
        return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == PIPEFS_MAGIC;
    return S_ISSOCK(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

/* The box's end of one stream: the person's own, or a pipe in place of it. */
static int open_stream(struct loop *l, int stream, struct err *err)
{
    int ends[2];
    bool is_closed = fcntl(stream, F_GETFD) < 0; /* by whoever started us */
    if (is_closed || is_harmless(stream)) {
        int fd =
            is_closed ? open("/dev/null", O_RDWR | O_CLOEXEC) : fcntl(stream, F_DUPFD_CLOEXEC, 3);
        return fd >= 0 ? fd : (err_sys(err, errno, "cannot open stream %d", stream), -1);
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe"), -1;
    bool is_input = stream == STDIN_FILENO;
    l->relay[stream] = ends[is_input ? 1 : 0];
    AUTO_FD int inner = ends[is_input ? 0 : 1];
    if (!fs_set_nonblock(l->relay[stream], err))
        return -1;
    return steal_fd(&inner);
}

static bool start_launcher(struct loop *l, struct box_launcher *ret, const char *path, bool has_pty,
                           struct err *err)
{
    AUTO_FD int in = -1;
    AUTO_FD int out = -1;
    AUTO_FD int errout = -1;
    if (has_pty)
        return box_launcher_start(ret, path, NULL, err);
    in = open_stream(l, STDIN_FILENO, err);
    out = in < 0 ? -1 : open_stream(l, STDOUT_FILENO, err);
    errout = out < 0 ? -1 : open_stream(l, STDERR_FILENO, err);
    if (errout < 0)
        return false;
    const int std_fds[3] = {in, out, errout};
    box_flow_init(&l->flow[0], STDIN_FILENO, l->relay[0]);
    box_flow_init(&l->flow[1], l->relay[1], STDOUT_FILENO);
    box_flow_init(&l->flow[2], l->relay[2], STDERR_FILENO);
    return box_launcher_start(ret, path, std_fds, err);
}

/* The launcher's own start and the making of its plan go on at the same time. */
static bool start(struct loop *l, const char *path, bool is_plain, box_describe_fn describe,
                  void *arg, box_allow_fn allow, struct err *err)
{
    AUTO_BUF struct buf plan = BUF_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_BOX_LAUNCHER struct box_launcher launcher = BOX_LAUNCHER_INIT;
    box_spec_init(&spec);
    choose_terminal(&spec);
    if (!start_launcher(l, &launcher, path, spec.pty, err))
        return false;
    if (is_plain)
        (void)box_launcher_begin(&launcher);
    if (!describe(&spec, arg, err) || !box_plan(&plan, &spec, err))
        return false;
    held_plan(&l->held, &plan, path);
    return box_launcher_plan(&l->child, &launcher, &plan, err) && (!allow || allow(&spec, err));
}

static bool take_terminal(struct loop *l, int fd, struct err *err)
{
    l->pty_fd = fd;
    if (!fs_set_nonblock(fd, err) || !box_term_raw(err))
        return false;
    box_flow_init(&l->flow[0], STDIN_FILENO, fd);
    box_flow_init(&l->flow[1], fd, STDOUT_FILENO);
    return true;
}

static bool take_message(struct loop *l, struct err *err)
{
    struct box_msg msg;
    if (!box_recv(&msg, l->child.ctl_fd, err))
        return false;
    switch (msg.kind) {
    case BOX_MSG_LAYERS:
        l->end.report = msg.report;
        l->end.times = msg.times;
        return held_begin(&l->held, l->child.pid, false, err);
    case BOX_MSG_LISTENER:
        if (box_proxy_is_port(l->proxy, msg.port))
            return box_proxy_listen(l->proxy, msg.fd, err);
        box_services_add(l->services, msg.fd, msg.port);
        break;
    case BOX_MSG_PTY:
        return take_terminal(l, msg.fd, err);
    case BOX_MSG_FAILED:
        l->end.failure = msg.error;
        break;
    case BOX_MSG_EXITED:
        l->end.status = msg.status;
        break;
    case BOX_MSG_EXCEEDED:
        l->end.exceeded = msg.error;
        break;
    case BOX_MSG_ENDED:
        l->has_ended = true;
        l->has_closed |= l->child.groups.n == 0;
        break;
    case BOX_MSG_CLOSED:
        l->has_closed = true;
        break;
    case BOX_MSG_DIALED: /* never asked for here */
    case BOX_MSG_NONE:
    case BOX_MSG_CALL_LISTENER: /* not asked for, nor a set-up */
    case BOX_MSG_MOVED:
    case BOX_MSG_SET_UP:
    case BOX_MSG_STARTED:
        break;
    }
    return true;
}

static void take_signal(struct loop *l)
{
    struct signalfd_siginfo info;
    struct err ignored = ERR_INIT;
    while (read(l->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        struct winsize size;
        int number = (int)info.ssi_signo;
        if (number != SIGWINCH)
            (void)!box_signal(l->child.ctl_fd, 0, number, &ignored);
        else if (l->pty_fd >= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
            ioctl(l->pty_fd, TIOCSWINSZ, &size);
    }
}

/* Output is drained to its end after the box has gone; input no longer matters then. */
static bool is_over(const struct loop *l)
{
    return l->has_closed && l->flow[1].is_done && l->flow[2].is_done;
}

static void on_lost_mount(void *arg, const char *sentence)
{
    const struct loop *l = arg;
    fprintf(stderr, "headgate: note: %s%s\n", sentence, l->pty_fd >= 0 ? "\r" : "");
}

static const struct held_ops held_ops = {.told = on_lost_mount};

static bool turn(struct loop *l, struct pollfd *fds, struct err *err)
{
    fds[0] = (struct pollfd){.fd = l->has_closed ? -1 : l->child.ctl_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = l->signal_fd, .events = POLLIN};
    for (int i = 0; i < 3; i++)
        fds[2 + i] = box_flow_poll(&l->flow[i]);
    if (l->has_closed)
        fds[2].fd = -1;
    int timeout_ms;
    fds[PROXY_FD] = box_proxy_poll(l->proxy, &timeout_ms);
    held_poll(&l->held, fds + HELD_FD);
    if (l->has_ended || l->has_closed)
        fds[HELD_FD].fd = fds[HELD_FD + 1].fd = -1;
    size_t n = FIXED_FDS + box_services_poll(l->services, fds + FIXED_FDS);
    if (poll(fds, n, timeout_ms) < 0)
        return errno == EINTR || err_sys(err, errno, "cannot wait for the box");
    box_services_step(l->services, fds + FIXED_FDS);
    if (l->proxy)
        box_proxy_step(l->proxy);
    if (fds[0].revents && !take_message(l, err))
        return false;
    if ((fds[HELD_FD].revents || fds[HELD_FD + 1].revents) && !l->has_ended && !l->has_closed &&
        !held_look(&l->held, &held_ops, l, NULL, err))
        return false;
    if (fds[1].revents)
        take_signal(l);
    for (int i = 0; i < 3; i++)
        box_flow_step(&l->flow[i], fds[2 + i].revents);
    if (l->flow[0].is_done && l->relay[0] >= 0 && !l->has_closed) {
        auto_fd_(&l->relay[0]); /* the end of the person's input is the end of the command's */
        l->relay[0] = -1;
    }
    return true;
}

bool box_loop_run(struct box_end *ret, const char *launcher, bool is_plain,
                  box_describe_fn describe, void *arg, box_allow_fn allow, struct box_proxy *proxy,
                  struct err *err)
{
    AUTO_LOOP struct loop l = {
        .child = {.ctl_fd = -1, .groups = STRV_INIT},
        .signal_fd = -1,
        .pty_fd = -1,
        .held = HELD_INIT,
        .relay = {-1, -1, -1},
        .end = {.status = -1, .failure = ERR_INIT, .exceeded = ERR_INIT},
    };
    l.services = box_services_new();
    l.proxy = proxy;
    for (int i = 0; i < 3; i++)
        box_flow_init(&l.flow[i], -1, -1);
    if (!watch_signals(&l, err) || !start(&l, launcher, is_plain, describe, arg, allow, err))
        return false;
    /* Said at once: pid 1 hears it only when all layers are in force, and refuses by itself to go
     * on without a required one. If it is gone already, its last message says why. */
    struct err gone = ERR_INIT;
    (void)!box_go(l.child.ctl_fd, &gone);
    while (!is_over(&l)) {
        AUTO_FREE struct pollfd *fds =
            xcalloc(FIXED_FDS + box_services_count(l.services), sizeof(*fds));
        if (!turn(&l, fds, err))
            return false;
    }
    if (l.end.status < 0)
        l.end.status = 128 + SIGKILL; /* pid 1 was killed from outside */
    *ret = l.end;
    return true;
}
