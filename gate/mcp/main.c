/*
 * headgate-mcp: serves the tools of tools.h on standard streams (see README.md).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate/mcp/message.h"
#include "gate/mcp/tools.h"
#include "runner/base/frame.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

enum { CALLS_AT_ONCE = 32, INTERNAL_ERROR = -32603 };

/* A call that a process of its own carries out; it writes its whole answer to the pipe. */
struct call {
    pid_t pid;
    int fd;
    json_t *id;
    struct buf text;
};

struct server {
    const char *socket;
    json_t *tools;
    struct frame in;
    struct call calls[CALLS_AT_ONCE];
    size_t n_calls;
    bool is_over;
};

static void say(struct server *s, const json_t *message)
{
    AUTO_BUF struct buf line = BUF_INIT;
    struct err err = ERR_INIT;
    jx_dump(&line, message);
    buf_addch(&line, '\n');
    if (!fs_write_fd(STDOUT_FILENO, line.ptr, line.len, &err))
        s->is_over = true;
}

static void say_error(struct server *s, const json_t *id, const char *text)
{
    AUTO_JSON json_t *error = message_error(id, INTERNAL_ERROR, text);
    say(s, error);
}

/* In the new process. exchange() watches standard output for a caller that hung up, so that is the
 * pipe here. */
_Noreturn static void carry_out(const struct server *s, const struct message *m, int fd)
{
    AUTO_BUF struct buf text = BUF_INIT, line = BUF_INIT, id = BUF_INIT;
    struct err err = ERR_INIT;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    dup2(fd, STDOUT_FILENO);
    jx_dump(&id, m->id);
    bool ok = tools_call(&text, s->socket, m->tool, m->args, id.ptr);
    AUTO_JSON json_t *answer =
        message_result(m->id, m->is_new, text.ptr ? text.ptr : "", text.len, !ok);
    jx_dump(&line, answer);
    buf_addch(&line, '\n');
    _exit(fs_write_fd(STDOUT_FILENO, line.ptr, line.len, &err) ? 0 : 1);
}

static void begin_call(struct server *s, const struct message *m)
{
    int fds[2];
    if (s->n_calls == CALLS_AT_ONCE) {
        say_error(s, m->id, "too many calls at once; wait for some of them");
        return;
    }
    if (pipe2(fds, O_CLOEXEC) != 0) {
        say_error(s, m->id, "no pipe can be made");
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        carry_out(s, m, fds[1]);
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        say_error(s, m->id, "no process can be started");
        return;
    }
    s->calls[s->n_calls++] =
        (struct call){.pid = pid, .fd = fds[0], .id = json_incref(m->id), .text = BUF_INIT};
}

static void end_call(struct server *s, size_t i)
{
    struct call *c = &s->calls[i];
    close(c->fd);
    waitpid(c->pid, NULL, 0);
    json_decref(c->id);
    buf_release(&c->text);
    *c = s->calls[--s->n_calls];
}

/* A whole answer is one line; a process that died before leaves less. */
static void hear_call(struct server *s, size_t i)
{
    struct call *c = &s->calls[i];
    char chunk[16 * 1024];
    ssize_t n = read(c->fd, chunk, sizeof chunk);
    struct err err = ERR_INIT;
    if (n < 0 && errno == EINTR)
        return;
    if (n > 0) {
        buf_add(&c->text, chunk, (size_t)n);
        return;
    }
    if (c->text.len == 0 || c->text.ptr[c->text.len - 1] != '\n')
        say_error(s, c->id, "the tool's process ended without an answer");
    else if (!fs_write_fd(STDOUT_FILENO, c->text.ptr, c->text.len, &err))
        s->is_over = true;
    end_call(s, i);
}

/* No answer is wanted any more: its process ends with all that it started, and the gate sees it
 * hang up. */
static void cancel(struct server *s, const json_t *id)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        if (!json_equal(s->calls[i].id, id))
            continue;
        kill(-s->calls[i].pid, SIGKILL);
        kill(s->calls[i].pid, SIGKILL);
        end_call(s, i);
        return;
    }
}

static void take_line(struct server *s, const struct buf *line)
{
    AUTO_MESSAGE struct message m = MESSAGE_INIT;
    if (line->len == 0)
        return;
    message_read(&m, line->ptr, line->len, s->tools);
    switch (m.kind) {
    case MESSAGE_ANSWER:
        say(s, m.answer);
        break;
    case MESSAGE_CALL:
        begin_call(s, &m);
        break;
    case MESSAGE_CANCEL:
        cancel(s, m.id);
        break;
    case MESSAGE_NOTHING:
        break;
    }
}

static void hear_client(struct server *s)
{
    AUTO_BUF struct buf line = BUF_INIT;
    char chunk[16 * 1024];
    struct err err = ERR_INIT;
    bool have = true;
    ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0) {
        s->is_over = true;
        return;
    }
    frame_feed(&s->in, chunk, (size_t)n);
    while (have && !s->is_over) {
        if (!frame_next(&s->in, &line, &have, &err)) {
            say_error(s, NULL, err.text);
            s->is_over = true;
        } else if (have) {
            take_line(s, &line);
        }
    }
}

static void serve(struct server *s)
{
    while (!s->is_over) {
        struct pollfd fds[1 + CALLS_AT_ONCE] = {{.fd = STDIN_FILENO, .events = POLLIN}};
        size_t n = s->n_calls;
        for (size_t i = 0; i < n; i++)
            fds[1 + i] = (struct pollfd){.fd = s->calls[i].fd, .events = POLLIN};
        if (poll(fds, 1 + n, -1) < 0 && errno != EINTR)
            return;
        for (size_t i = n; i > 0; i--) /* from the end: one that is over is replaced by the last */
            if (fds[i].revents)
                hear_call(s, i - 1);
        if (fds[0].revents)
            hear_client(s);
    }
}

int main(int argc, char **argv)
{
    struct server s = {.socket = getenv("HEADGATE_GATE")};
    if (argc > 1) {
        fprintf(stderr, "headgate-mcp: '%s' is one word too many; it has no options\n", argv[1]);
        return 2;
    }
    if (!s.socket) {
        fprintf(stderr, "headgate-mcp: there is no gate to ask. It serves agents inside a box: "
                        "name it as an MCP server to the "
                        "agent that 'headgate run -- AGENT' starts\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    frame_init(&s.in, LIMIT_LINE_BYTES);
    s.tools = tools_list();
    serve(&s);
    while (s.n_calls > 0)
        cancel(&s, s.calls[0].id);
    frame_release(&s.in);
    json_decref(s.tools);
    return 0;
}
