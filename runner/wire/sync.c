#include "runner/wire/sync.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runner/base/clock.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/wire/socket.h"

enum {
    SYNC_READ_BYTES = 16 * 1024,
};

bool sync_open(struct sync_conn *ret, const char *socket_path, struct err *err)
{
    int fd = socket_connect(socket_path, err);
    if (fd < 0)
        return false;
    ret->fd = fd;
    ret->next_id = 1;
    frame_init(&ret->frame, LIMIT_LINE_BYTES);
    return true;
}

void sync_close(struct sync_conn *c)
{
    if (c->fd < 0)
        return;
    close(c->fd);
    c->fd = -1;
    frame_release(&c->frame);
}

/* send(2) and not write(2): a server that went away is an error, not a SIGPIPE. */
bool sync_send(struct sync_conn *c, const json_t *msg, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT;
    jx_dump(&line, msg);
    buf_addch(&line, '\n');
    for (size_t done = 0; done < line.len;) {
        ssize_t sent = send(c->fd, line.ptr + done, line.len - done, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return err_sys(err, errno, "cannot send to the peer");
        done += (size_t)sent;
    }
    return true;
}

/* *ret_ready false: timed out. deadline_ms < 0: wait for ever. */
static bool sync_wait(bool *ret_ready, int fd, int64_t deadline_ms, struct err *err)
{
    for (;;) {
        int64_t left_ms = deadline_ms < 0 ? -1 : deadline_ms - clock_mono_ms();
        if (deadline_ms >= 0 && left_ms < 0)
            left_ms = 0;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int n = poll(&p, 1, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "cannot wait for the peer");
        *ret_ready = n > 0;
        return true;
    }
}

static bool sync_fill(struct sync_conn *c, struct err *err)
{
    char data[SYNC_READ_BYTES];
    ssize_t n = read(c->fd, data, sizeof data);
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0)
        return err_sys(err, errno, "cannot receive from the peer");
    if (n == 0)
        return err_sys(err, ECONNRESET, "the peer closed the connection");
    frame_feed(&c->frame, data, (size_t)n);
    return true;
}

bool sync_recv(json_t **ret, struct sync_conn *c, int64_t timeout_ms, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT;
    int64_t deadline_ms = timeout_ms < 0 ? -1 : clock_mono_ms() + timeout_ms;
    for (;;) {
        bool have = false, is_ready = false;
        if (!frame_next(&c->frame, &line, &have, err))
            return false;
        if (have)
            return jx_parse(ret, line.ptr, line.len, err);
        if (!sync_wait(&is_ready, c->fd, deadline_ms, err))
            return false;
        if (!is_ready) {
            *ret = NULL;
            return true;
        }
        if (!sync_fill(c, err))
            return false;
    }
}

static bool sync_result(json_t **ret, const json_t *answer, struct err *err)
{
    if (jx_bool(answer, "ok", false)) {
        json_t *result = json_object_get(answer, "result");
        *ret = result ? json_incref(result) : json_null();
        return true;
    }
    const json_t *error = jx_obj(answer, "error");
    return err_set(err, err_code_from_name(jx_str(error, "code", "internal")), "%s",
                   jx_str(error, "message", "the server gave no reason"));
}

bool sync_call(json_t **ret_result, struct sync_conn *c, const char *op, json_t *request,
               struct err *err)
{
    AUTO_JSON json_t *own = request ? json_incref(request) : json_object();
    int64_t id = c->next_id++;
    jx_set_int(own, "id", id);
    jx_set_str(own, "op", op);
    if (!sync_send(c, own, err))
        return false;
    for (;;) {
        AUTO_JSON json_t *answer = NULL;
        if (!sync_recv(&answer, c, -1, err))
            return false;
        if (jx_int(answer, "id", -1) == id && json_object_get(answer, "ok"))
            return sync_result(ret_result, answer, err);
    }
}
