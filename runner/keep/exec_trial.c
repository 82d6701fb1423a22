#include "runner/keep/exec_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/exec_image.h"
#include "runner/keep/exec_notice.h"
#include "runner/keep/exec_trace.h"
#include "sandbox/box.h"

enum { TRIAL_TIME_MS = 10 * 1000, TRIAL_TICK_MS = 10, TRIAL_OUTPUT_BYTES = 4096 };

/* One box at its trial. */
struct trial {
    const struct exec_trial *what;
    enum exec_gating gating;
    struct box_child child;
    int listener_fd, root_fd, out_fd;
    struct exec_trace trace;
    struct buf out;
    struct err err; /* why there is no gate */
    bool is_gone;
};

static void trial_done(struct trial *t)
{
    int status;
    if (t->child.pid > 0 && !t->is_gone) {
        kill(t->child.pid, SIGKILL);
        waitpid(t->child.pid, &status, 0);
    }
    if (t->child.pid > 0)
        box_close(&t->child);
    auto_fd_(&t->listener_fd);
    auto_fd_(&t->root_fd);
    auto_fd_(&t->out_fd);
    exec_trace_release(&t->trace);
    buf_release(&t->out);
}

static bool start(struct trial *t, const char *launcher, uid_t uid, gid_t gid)
{
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_BUF struct buf plan = BUF_INIT;
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    AUTO_FD int out = -1;
    int ends[2];
    box_spec_init(&spec);
    spec.uid = uid;
    spec.gid = gid;
    spec.cwd = xstrdup("/");
    spec.exec_notify = t->gating != EXEC_NOT_GATED;
    strv_push(&spec.argv, "/bin/sh");
    strv_push(&spec.argv, "-c");
    strv_push(&spec.argv, t->what->script);
    strv_env_set(&spec.env, "PATH", "/usr/bin:/bin");
    if (null < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(&t->err, errno, "cannot make a pipe");
    t->out_fd = ends[0];
    out = ends[1];
    fcntl(t->out_fd, F_SETFL, O_NONBLOCK);
    return box_plan(&plan, &spec, &t->err) &&
           box_spawn(&t->child, launcher, &plan, (const int[3]){null, out, null}, &t->err);
}

static void hear(struct trial *t)
{
    struct box_msg msg;
    struct err err = ERR_INIT;
    while (t->child.ctl_fd >= 0 && box_recv(&msg, t->child.ctl_fd, &err) &&
           msg.kind != BOX_MSG_NONE && msg.kind != BOX_MSG_CLOSED) {
        if (msg.kind == BOX_MSG_CALL_LISTENER && msg.fd < 0)
            t->err = msg.error;
        else if (msg.kind == BOX_MSG_CALL_LISTENER)
            t->listener_fd = msg.fd;
        else if (msg.fd >= 0)
            close(msg.fd);
        if (msg.kind == BOX_MSG_FAILED)
            t->err = msg.error;
        /* Without a listener its box would wait for ever. */
        bool may_go = t->gating == EXEC_NOT_GATED || t->listener_fd >= 0;
        if (msg.kind == BOX_MSG_LAYERS && (!may_go || !box_go(t->child.ctl_fd, &err)))
            kill(t->child.pid, SIGKILL);
    }
}

static void write_memory(pid_t tid, uint64_t address, const void *bytes, size_t len)
{
    const struct iovec local = {(void *)(uintptr_t)bytes, len};
    const struct iovec remote = {(void *)(uintptr_t)address, len};
    ssize_t written = process_vm_writev(tid, &local, 1, &remote, 1, 0);
    (void)written; /* then it comes out otherwise than expected */
}

static void change_argument(const struct exec_notice *n)
{
    uint64_t address = 0;
    const struct iovec local = {&address, sizeof address};
    const struct iovec remote = {(void *)(uintptr_t)(n->argv + sizeof address), sizeof address};
    if (process_vm_readv(n->tid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof address)
        write_memory(n->tid, address, "changed", sizeof "changed");
}

static void turn_link(const struct trial *t)
{
    if (renameat(t->root_fd, "tmp/new", t->root_fd, "tmp/link") != 0)
        return; /* as above */
}

/* What others could do between the answer and the kernel's own look. */
static void change(struct trial *t, const struct exec_notice *n)
{
    switch (t->what->change) {
    case EXEC_CHANGE_NONE:
        break;
    case EXEC_CHANGE_PATH:
        write_memory(n->tid, n->path, "/bin/echo", sizeof "/bin/echo");
        break;
    case EXEC_CHANGE_ARGUMENT:
        change_argument(n);
        break;
    case EXEC_CHANGE_LINK:
        turn_link(t);
        break;
    case EXEC_CHANGE_HOLDER:
        auto_fd_(&t->listener_fd);
        break;
    }
}

static bool is_refused(const struct trial *t, const struct exec_image *image)
{
    for (size_t i = 0; t->what->refused && i < image->names.all.n; i++)
        if (strcmp(fs_basename(image->names.all.v[i]), t->what->refused) == 0)
            return true;
    return false;
}

static int look_at(struct exec_args *args, struct exec_image *image, struct trial *t,
                   const struct exec_notice *n)
{
    char root[64];
    if (t->root_fd < 0) {
        snprintf(root, sizeof root, "/proc/%d/root", (int)n->tid);
        t->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    const struct exec_place place = {t->root_fd, n->tid, n->dirfd, NULL, NULL};
    int why = exec_args_read(args, n->tid, n->path, n->argv);
    return why ? why : exec_image_of(image, &place, args, n->flags);
}

static void answer(struct trial *t)
{
    struct exec_notice n;
    AUTO_EXEC_ARGS struct exec_args args = EXEC_ARGS_INIT;
    AUTO_EXEC_IMAGE struct exec_image image = EXEC_IMAGE_INIT;
    struct notice notice;
    if (!notice_take(&notice, t->listener_fd) || !exec_notice_of(&n, &notice))
        return;
    int why = look_at(&args, &image, t, &n);
    if (!why && is_refused(t, &image))
        why = EACCES;
    if (!why && t->gating == EXEC_GATED) {
        why = exec_trace_seize(&t->trace, n.tid, &image);
        if (why)
            err_sys(&t->err, why, "this host lets nobody trace");
    }
    if (!why && t->what->changed && strcmp(args.path, t->what->changed) == 0)
        change(t, &n);
    if (t->listener_fd < 0)
        return;
    bool is_sent = exec_notice_answer(&n, t->listener_fd, why);
    if (!why && t->gating == EXEC_GATED)
        exec_trace_answered(&t->trace, n.tid, is_sent);
}

static void reap(struct trial *t)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
        AUTO_EXEC_IMAGE struct exec_image image = EXEC_IMAGE_INIT;
        if (pid == t->child.pid && !WIFSTOPPED(status))
            t->is_gone = true;
        else if (exec_trace_event(&t->trace, pid, status, &image) == EXEC_BEGAN)
            exec_trace_let_begin(pid);
    }
}

/* Serve the box to its end. The last output is read after that. */
static void serve(struct trial *t)
{
    int64_t until_ms = clock_mono_ms() + TRIAL_TIME_MS;
    for (bool is_last = false; !is_last && clock_mono_ms() < until_ms;) {
        struct pollfd fds[] = {{.fd = t->is_gone ? -1 : t->child.ctl_fd, .events = POLLIN},
                               {.fd = t->is_gone ? -1 : t->listener_fd, .events = POLLIN},
                               {.fd = t->out_fd, .events = POLLIN}};
        char bytes[512];
        ssize_t n;
        is_last = t->is_gone;
        poll(fds, ARRAY_LEN(fds), is_last ? 0 : TRIAL_TICK_MS);
        if (fds[0].revents)
            hear(t);
        if (fds[1].revents)
            answer(t);
        while (t->out.len < TRIAL_OUTPUT_BYTES && (n = read(t->out_fd, bytes, sizeof bytes)) > 0)
            buf_add(&t->out, bytes, (size_t)n);
        reap(t);
    }
}

char *exec_trial_run(const struct exec_trial *trial, enum exec_gating gating, const char *launcher,
                     uid_t uid, gid_t gid, struct err *ret_why)
{
    __attribute__((cleanup(trial_done))) struct trial t = {.what = trial,
                                                           .gating = gating,
                                                           .child = {.ctl_fd = -1},
                                                           .listener_fd = -1,
                                                           .root_fd = -1,
                                                           .out_fd = -1,
                                                           .out = BUF_INIT,
                                                           .err = ERR_INIT};
    if (start(&t, launcher, uid, gid))
        serve(&t);
    *ret_why = t.err;
    return xstrdup(t.out.len ? t.out.ptr : "");
}
