#include "sandbox/escape/live.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/mem.h"

enum { START_TIMEOUT_MS = 10000, END_TIMEOUT_MS = 2000 };

static bool spawn(struct escape_live *ret, const struct escape_try *t, const struct box_spec *spec,
                  struct err *err)
{
    AUTO_BUF struct buf plan = BUF_INIT;
    int in[2], out[2];
    if (!box_plan(&plan, spec, err))
        return false;
    if (pipe2(in, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    ret->in_fd = in[1];
    AUTO_FD int in_theirs = in[0];
    if (pipe2(out, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    ret->out_fd = out[0];
    AUTO_FD int out_theirs = out[1];
    const int std_fds[3] = {in_theirs, out_theirs, STDERR_FILENO};
    return box_spawn(&ret->child, t->scene->launcher, &plan, std_fds, err);
}

static bool await_line(const struct escape_live *live, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT;
    struct pollfd p = {.fd = live->out_fd, .events = POLLIN};
    char c = 0;
    while (poll(&p, 1, START_TIMEOUT_MS) == 1 && read(live->out_fd, &c, 1) == 1 && c != '\n')
        buf_addch(&line, c);
    return (c == '\n' && strcmp(line.ptr, "ready") == 0) ||
           err_set(err, ERR_FAILED, "another box did not come about (%s)", line.ptr);
}

bool escape_live_start(struct escape_live *ret, struct escape_try *t, struct box_spec *spec,
                       const char *word, struct err *err)
{
    bool has_root = !(t->without & ESCAPE_BIT(LAYER_MOUNT));
    strv_push(&spec->argv, has_root ? ESCAPE_INSIDE : t->scene->launcher);
    strv_push(&spec->argv, "--probe");
    strv_push(&spec->argv, word);
    return spawn(ret, t, spec, err) && box_go(ret->child.ctl_fd, err) && await_line(ret, err);
}

void escape_live_end(struct escape_live *live)
{
    char c;
    struct pollfd p = {.fd = live->out_fd, .events = POLLIN};
    auto_fd_(&live->in_fd);
    /* Its program ends by itself and takes away what it made where a layer is left out. */
    while (live->out_fd >= 0 && live->child.pid > 0 && poll(&p, 1, END_TIMEOUT_MS) == 1 &&
           read(live->out_fd, &c, 1) > 0)
        continue;
    auto_fd_(&live->out_fd);
    if (live->child.pid > 0) {
        kill(live->child.pid, SIGKILL);
        while (waitpid(live->child.pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        box_close(&live->child);
    }
    *live = (struct escape_live)ESCAPE_LIVE_INIT;
}
