#include "runner/keep/model_side.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/buf.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"

enum { QUESTION_BYTES = 4096 };

static int spawn_relay(pid_t *ret, const char *program, int stdin_fd)
{
    char name[] = "headgate-model", locale[] = "LC_ALL=C.UTF-8";
    char *argv[] = {name, NULL}, *env[] = {locale, NULL};
    posix_spawn_file_actions_t actions;
    int why = posix_spawn_file_actions_init(&actions);
    if (why)
        return why;
    why = posix_spawn_file_actions_adddup2(&actions, stdin_fd, STDIN_FILENO);
    if (!why)
        why = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    if (!why)
        why = posix_spawn(ret, program, &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    return why;
}

static bool send_all(int fd, const struct buf *text, struct err *err)
{
    for (size_t at = 0; at < text->len;) {
        ssize_t n = send(fd, text->ptr + at, text->len - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_sys(err, errno, "the relay to the model ended");
        at += (size_t)n;
    }
    return true;
}

bool model_side_open(struct model_side *ret, const json_t *models, const json_t *keys,
                     struct err *err)
{
    int ends[2];
    AUTO_BUF struct buf text = BUF_INIT;
    /* Borrowed only; jansson counts references on const values too. */
    AUTO_JSON json_t *config = json_pack("{s:O, s:O?}", "models", (json_t *)(uintptr_t)models,
                                         "keys", (json_t *)(uintptr_t)keys);
    AUTO_FREE char *program = paths_program("headgate-model", err);
    if (!program)
        return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot reach the relay to the model");
    AUTO_FD int ours = ends[0];
    AUTO_FD int theirs = ends[1];
    pid_t pid = 0;
    int why = spawn_relay(&pid, program, theirs);
    if (why)
        return err_sys(err, why, "cannot start %s", program);
    jx_dump(&text, config);
    buf_addch(&text, '\n');
    bool ok = send_all(ours, &text, err);
    explicit_bzero(text.ptr, text.len);
    if (!ok)
        return false;
    *ret = (struct model_side){
        .pid = pid, .fd = steal_fd(&ours), .in = BUF_INIT, .questions = json_object()};
    return true;
}

bool model_side_listen(const struct model_side *m, size_t model, int fd, struct err *err)
{
    AUTO_FD int owned = fd;
    unsigned char byte = (unsigned char)model;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &owned, sizeof(int));
    return sendmsg(m->fd, &message, MSG_NOSIGNAL) == 1 ||
           err_sys(err, errno, "the relay to the model ended");
}

static void take_question(struct model_side *m, const char *line, size_t len)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *question = NULL;
    if (!jx_parse(&question, line, len, &err))
        return;
    AUTO_FREE char *model = xasprintf("%lld", (long long)jx_int(question, "model", 0));
    json_object_set(m->questions, model, question);
    m->ask(m->arg, question);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct model_side *m = poll->data;
    char chunk[QUESTION_BYTES];
    ssize_t n = status == 0 ? recv(m->fd, chunk, sizeof(chunk), MSG_DONTWAIT) : -1;
    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || m->in.len > QUESTION_BYTES) { /* it ended: its process tells that as well */
        uv_poll_stop(poll);
        return;
    }
    buf_add(&m->in, chunk, (size_t)n);
    for (const char *end; (end = memchr(m->in.ptr, '\n', m->in.len));) {
        take_question(m, m->in.ptr, (size_t)(end - m->in.ptr));
        buf_consume(&m->in, (size_t)(end + 1 - m->in.ptr));
    }
}

bool model_side_follow(struct model_side *m, uv_loop_t *loop,
                       void (*ask)(void *arg, const json_t *question), void *arg, struct err *err)
{
    m->ask = ask;
    m->arg = arg;
    m->poll.data = m;
    int status = uv_poll_init(loop, &m->poll, m->fd);
    if (status == 0)
        status = uv_poll_start(&m->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&m->poll); /* it keeps nobody waiting */
    return status == 0 || err_sys(err, -status, "cannot follow the relay to the model");
}

void model_side_ask_again(const struct model_side *m)
{
    const char *model;
    json_t *question;
    json_object_foreach(m->questions, model, question)
    {
        m->ask(m->arg, question);
    }
}

const char *model_side_answer(struct model_side *m, const json_t *answer)
{
    struct err ignored = ERR_INIT; /* the relay's end is told by its process */
    AUTO_BUF struct buf line = BUF_INIT;
    AUTO_FREE char *model = xasprintf("%lld", (long long)jx_int(answer, "model", 0));
    const char *trouble = jx_str(answer, "failed", jx_str(answer, "trouble", NULL));
    if (m->fd < 0 || !json_object_get(m->questions, model))
        return NULL;
    json_object_del(m->questions, model);
    jx_dump(&line, answer);
    buf_addch(&line, '\n');
    bool is_sent = send_all(m->fd, &line, &ignored);
    (void)is_sent;
    explicit_bzero(line.ptr, line.len);
    if (!trouble || (m->trouble && strcmp(m->trouble, trouble) == 0))
        return NULL;
    free(m->trouble);
    m->trouble = xstrdup(trouble);
    return m->trouble;
}

void model_side_stop(struct model_side *m)
{
    if (m->ask && !uv_is_closing((uv_handle_t *)&m->poll))
        uv_close((uv_handle_t *)&m->poll, NULL);
}

void model_side_close(struct model_side *m)
{
    auto_fd_(&m->fd);
    if (m->questions)
        buf_release(&m->in);
    json_decref(m->questions);
    free(m->trouble);
    *m = (struct model_side)MODEL_SIDE_INIT;
}
