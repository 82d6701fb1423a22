#include "runner/keep/model_side.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/buf.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"

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
    AUTO_JSON json_t *config = json_pack("{s:O, s:O?}", "models", (json_t *)(uintptr_t)models, "keys",
                                         (json_t *)(uintptr_t)keys);
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
    *ret = (struct model_side){.pid = pid, .fd = steal_fd(&ours)};
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

void model_side_close(struct model_side *m)
{
    auto_fd_(&m->fd);
    *m = (struct model_side)MODEL_SIDE_INIT;
}
