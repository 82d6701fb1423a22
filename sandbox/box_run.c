#include "sandbox/box.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

enum { STDERR_KEEP_BYTES = 64 * 1024, CHUNK_BYTES = 64 * 1024, POLL_MAX_MS = 60000 };

/* One box from its start to its end. */
struct run {
    const struct proc_cmd *cmd;
    struct box_child child;
    int out_fd, err_fd; /* our ends; -1 when not captured or at their end */
    int64_t deadline_ms;
    struct buf out, errout;
    struct layer_report report;
    int status;
    bool has_closed; /* pid 1 is gone */
    bool has_failed;
    struct err failure; /* what it said before */
};

static void run_release(struct run *r)
{
    if (r->child.pid > 0) {
        kill(r->child.pid, SIGKILL);
        while (waitpid(r->child.pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        box_close(&r->child);
    }
    auto_fd_(&r->out_fd);
    auto_fd_(&r->err_fd);
    buf_release(&r->out);
    buf_release(&r->errout);
}

#define AUTO_RUN __attribute__((cleanup(run_release)))

/* The input in memory, so that the box reads at its pace and we never write into a closed pipe. */
static int open_input(const struct proc_cmd *cmd, struct err *err)
{
    AUTO_FD int fd = -1;
    if (cmd->input)
        fd = memfd_create("input", MFD_CLOEXEC);
    else if (cmd->input_fd > 0)
        fd = fcntl(cmd->input_fd, F_DUPFD_CLOEXEC, 3);
    else
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot open the input of the box"), -1;
    if (cmd->input && (!fs_write_fd(fd, cmd->input, cmd->input_len, err)))
        return -1;
    if (cmd->input && lseek(fd, 0, SEEK_SET) != 0)
        return err_sys(err, errno, "cannot rewind the input of the box"), -1;
    return steal_fd(&fd);
}

/* A captured stream: *ret_inner is for the box. When it is not captured, a copy of given. */
static bool open_output(int *ret_ours, int *ret_inner, int given, struct err *err)
{
    int ends[2];
    if (given > 0) {
        *ret_inner = fcntl(given, F_DUPFD_CLOEXEC, 3);
        return *ret_inner >= 0 || err_sys(err, errno, "cannot pass the output of the box on");
    }
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    *ret_ours = ends[0];
    *ret_inner = ends[1];
    return fs_set_nonblock(ends[0], err);
}

static bool start(struct run *r, const char *launcher, const struct box_spec *spec, struct err *err)
{
    AUTO_BUF struct buf plan = BUF_INIT;
    AUTO_FD int in = -1;
    AUTO_FD int out = -1;
    AUTO_FD int errout = -1;
    if (!box_plan(&plan, spec, err))
        return false;
    in = open_input(r->cmd, err);
    if (in < 0 || !open_output(&r->out_fd, &out, r->cmd->output_fd, err) ||
        !open_output(&r->err_fd, &errout, r->cmd->inherit_stderr ? STDERR_FILENO : -1, err))
        return false;
    const int std_fds[3] = {in, out, errout};
    return box_spawn(&r->child, launcher, &plan, std_fds, err);
}

/* Read what is there. At its end the descriptor is closed. */
static bool drain(int *fd, struct buf *into, size_t max_bytes, bool is_strict, struct err *err)
{
    char chunk[CHUNK_BYTES];
    ssize_t got = read(*fd, chunk, sizeof(chunk));
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ||
               err_sys(err, errno, "cannot read the output of the box");
    if (got == 0) {
        auto_fd_(fd);
        *fd = -1;
        return true;
    }
    size_t room = max_bytes - into->len;
    if ((size_t)got > room && is_strict)
        return err_set(err, ERR_LIMIT, "the box printed more than %zu bytes", max_bytes);
    buf_add(into, chunk, (size_t)got < room ? (size_t)got : room);
    return true;
}

static bool take_message(struct run *r, struct err *err)
{
    struct box_msg msg;
    if (!box_recv(&msg, r->child.ctl_fd, err))
        return false;
    AUTO_FD int fd = msg.fd; /* of a listener that nobody asked for */
    (void)fd;
    switch (msg.kind) {
    case BOX_MSG_LAYERS:
        r->report = msg.report;
        return box_go(r->child.ctl_fd, err);
    case BOX_MSG_SET_UP:
        return box_go(r->child.ctl_fd, err);
    case BOX_MSG_FAILED:
        r->has_failed = true;
        r->failure = msg.error;
        break;
    case BOX_MSG_EXITED:
        r->status = msg.status;
        break;
    case BOX_MSG_EXCEEDED:
        buf_addf(&r->errout, "headgate: %s\n", msg.error.text);
        break;
    case BOX_MSG_CLOSED:
        r->has_closed = true;
        break;
    case BOX_MSG_NONE:
    case BOX_MSG_LISTENER:
    case BOX_MSG_DIALED:
    case BOX_MSG_PTY:
    case BOX_MSG_CALL_LISTENER:
    case BOX_MSG_MOVED:
    case BOX_MSG_STARTED:
    case BOX_MSG_ENDED:
        break;
    }
    return true;
}

static int remaining_ms(const struct run *r)
{
    if (r->deadline_ms == INT64_MAX)
        return -1;
    int64_t left = r->deadline_ms - clock_mono_ms();
    if (left <= 0)
        return 0;
    return left > POLL_MAX_MS ? POLL_MAX_MS : (int)left;
}

static bool supervise(struct run *r, struct err *err)
{
    size_t max = r->cmd->max_output_bytes ? r->cmd->max_output_bytes : LIMIT_CAPTURE_BYTES;
    while (r->out_fd >= 0 || r->err_fd >= 0 || !r->has_closed) {
        struct pollfd fds[3] = {
            {.fd = r->out_fd, .events = POLLIN},
            {.fd = r->err_fd, .events = POLLIN},
            {.fd = r->has_closed ? -1 : r->child.ctl_fd, .events = POLLIN},
        };
        int timeout = remaining_ms(r);
        int ready = timeout == 0 ? 0 : poll(fds, ARRAY_LEN(fds), timeout);
        if (ready < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for the box");
        if (ready == 0 && remaining_ms(r) == 0)
            return err_set(err, ERR_LIMIT, "the box did not end within %" PRId64 " ms",
                           r->cmd->timeout_ms);
        if (ready <= 0)
            continue;
        if ((fds[0].revents && !drain(&r->out_fd, &r->out, max, true, err)) ||
            (fds[1].revents && !drain(&r->err_fd, &r->errout, STDERR_KEEP_BYTES, false, err)) ||
            (fds[2].revents && !take_message(r, err)))
            return false;
    }
    return true;
}

bool box_run(struct proc_result *ret, struct layer_report *ret_report, const char *launcher,
             const struct box_spec *spec, const struct proc_cmd *cmd, struct err *err)
{
    AUTO_RUN struct run r = {
        .cmd = cmd,
        .child = {.ctl_fd = -1, .groups = STRV_INIT},
        .out_fd = -1,
        .err_fd = -1,
        .deadline_ms = cmd->timeout_ms > 0 ? clock_mono_ms() + cmd->timeout_ms : INT64_MAX,
        .out = BUF_INIT,
        .errout = BUF_INIT,
        .status = -1,
    };
    if (spec->pty)
        return err_set(err, ERR_USAGE, "a box that is run to its end has no terminal");
    if (!start(&r, launcher, spec, err) || !supervise(&r, err))
        return false;
    if (r.has_failed) {
        *err = r.failure;
        return false;
    }
    /* pid 1 was killed from outside when it told nothing: by the kernel for want of memory, mostly.
     */
    ret->status = r.status >= 0 ? r.status : 128 + SIGKILL;
    buf_release(&ret->out);
    buf_release(&ret->errout);
    ret->out = r.out;
    ret->errout = r.errout;
    buf_init(&r.out);
    buf_init(&r.errout);
    if (ret_report)
        *ret_report = r.report;
    return true;
}
