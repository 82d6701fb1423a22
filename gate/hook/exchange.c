#include "gate/hook/exchange.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runner/base/frame.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

static int connect_to(const char *path, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof(address.sun_path)) {
        err_set(err, ERR_USAGE, "the gate's socket has a name that cannot be: '%s'", path);
        return -1;
    }
    memcpy(address.sun_path, path, len);
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        err_sys(err, errno, "cannot make a socket");
        return -1;
    }
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        err_sys(err, errno, "cannot reach the gate at %s", path);
        return -1;
    }
    return steal_fd(&fd);
}

/* Wait for the gate. An agent that gave up closes the other end of standard output; then nobody
 * would take the answer, and hanging up lets the gate know. */
static bool wait_readable(int fd, struct err *err)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = STDOUT_FILENO}};
    do {
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for the gate");
        if (fds[1].revents & (POLLERR | POLLHUP))
            return err_set(err, ERR_FAILED, "the agent hung up before the gate answered");
        if (fds[1].revents & POLLNVAL)
            fds[1].fd = -1;
    } while (fds[0].revents == 0);
    return true;
}

static bool read_line(struct buf *line, int fd, struct err *err)
{
    __attribute__((cleanup(frame_release))) struct frame frame;
    frame_init(&frame, LIMIT_LINE_BYTES);
    char chunk[4096];
    bool have = false;
    while (!have) {
        if (!wait_readable(fd, err))
            return false;
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "cannot read the gate's answer");
        if (got == 0)
            return err_set(err, ERR_FAILED, "the gate closed the connection without an answer");
        frame_feed(&frame, chunk, (size_t)got);
        if (!frame_next(&frame, line, &have, err))
            return err_prefix(err, "the gate's answer");
    }
    return true;
}

static bool read_answer(struct exchange_answer *ret, const struct buf *line, struct err *err)
{
    AUTO_JSON json_t *message = NULL;
    if (!jx_parse(&message, line->ptr, line->len, err))
        return err_prefix(err, "the gate's answer");
    if (jx_int(message, "v", 0) != 1)
        return err_set(err, ERR_FORMAT, "the gate answers in a version that is not 1");
    const char *decision = jx_str(message, "decision", "");
    bool allow = strcmp(decision, "allow") == 0;
    if (!allow && strcmp(decision, "deny") != 0)
        return err_set(err, ERR_FORMAT, "the gate's answer is neither allow nor deny");
    json_t *reason = json_object_get(message, "reason");
    *ret = (struct exchange_answer){
        .allow = allow,
        .reason = json_is_string(reason) ? json_incref(reason) : json_string(""),
        .call = xstrdup(jx_str(message, "call", "")),
        .message = json_incref(message),
    };
    return true;
}

bool exchange(struct exchange_answer *ret, const char *socket_path, const json_t *request,
              struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT;
    jx_dump(&line, request);
    if (line.len > LIMIT_CALL_BYTES)
        return err_set(err, ERR_LIMIT, "the call is longer than %d bytes", LIMIT_CALL_BYTES);
    buf_addch(&line, '\n');
    AUTO_FD int fd = connect_to(socket_path, err);
    if (fd < 0)
        return false;
    if (!fs_write_fd(fd, line.ptr, line.len, err))
        return err_prefix(err, "the gate");
    buf_clear(&line);
    return read_line(&line, fd, err) && read_answer(ret, &line, err);
}
