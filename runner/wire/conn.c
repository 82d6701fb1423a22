#include "runner/wire/conn.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/frame.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/wire/socket.h"

enum {
    CONN_READ_BYTES = 16 * 1024,
};

struct conn {
    uv_pipe_t pipe;
    struct conn_ops ops;
    void *arg;
    struct frame frame;
    size_t pooled_bytes; /* this conn's share of ops.pool */
    struct err err;      /* what `closed` will say */
    bool is_finishing;   /* reads no more; closes when the queue is empty */
    bool is_deaf;        /* the peer reads no more: writes are dropped */
};

struct conn_write {
    uv_write_t req;
    char data[];
};

static uv_stream_t *conn_stream(struct conn *c)
{
    return (uv_stream_t *)&c->pipe;
}

static bool conn_is_closing(const struct conn *c)
{
    return uv_is_closing((const uv_handle_t *)&c->pipe);
}

static void conn_on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    if (c->ops.pool)
        c->ops.pool->bytes -= c->pooled_bytes;
    c->ops.closed(c, &c->err, c->arg);
    frame_release(&c->frame);
    free(c);
}

void conn_close(struct conn *c)
{
    if (!conn_is_closing(c))
        uv_close((uv_handle_t *)&c->pipe, conn_on_closed);
}

void conn_finish(struct conn *c)
{
    if (conn_is_closing(c) || c->is_finishing)
        return;
    c->is_finishing = true;
    uv_read_stop(conn_stream(c));
    if (conn_queued_bytes(c) == 0 || c->is_deaf)
        conn_close(c);
}

/* End with a reason, after the owner's last words. */
static void conn_break(struct conn *c, const struct err *err)
{
    if (conn_is_closing(c) || c->is_finishing)
        return;
    c->err = *err;
    if (c->ops.broken)
        c->ops.broken(c, err, c->arg);
    conn_finish(c);
}

static void conn_deliver(struct conn *c, const struct buf *line)
{
    if (c->ops.line) {
        c->ops.line(c, line->ptr, line->len, c->arg);
        return;
    }
    struct err err = ERR_INIT;
    AUTO_JSON json_t *msg = NULL;
    if (!jx_parse(&msg, line->ptr, line->len, &err))
        conn_break(c, &err);
    else
        c->ops.message(c, msg, c->arg);
}

static size_t conn_unread_bytes(const struct conn *c)
{
    return c->frame.pending.len - c->frame.start;
}

/* Give back what read messages took, and count the rest. False: the pool is exceeded. */
static bool conn_count_unread(struct conn *c)
{
    struct conn_pool *pool = c->ops.pool;
    size_t unread = conn_unread_bytes(c);
    if (unread == 0)
        frame_release(&c->frame);
    if (!pool)
        return true;
    pool->bytes = pool->bytes - c->pooled_bytes + unread;
    c->pooled_bytes = unread;
    return pool->bytes <= pool->max_bytes;
}

static void conn_feed(struct conn *c, const char *data, size_t len)
{
    AUTO_BUF struct buf line = BUF_INIT;
    struct err err = ERR_INIT;
    frame_feed(&c->frame, data, len);
    while (!conn_is_closing(c) && !c->is_finishing) {
        bool have;
        if (!frame_next(&c->frame, &line, &have, &err)) {
            conn_break(c, &err);
            return;
        }
        if (!have)
            break;
        conn_deliver(c, &line);
    }
    if (!conn_count_unread(c)) {
        err_set(&err, ERR_LIMIT, "too many unfinished messages wait at once");
        conn_break(c, &err);
    }
}

static void conn_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)handle;
    (void)suggested;
    *ret = uv_buf_init(xmalloc(CONN_READ_BYTES), CONN_READ_BYTES);
}

static void conn_on_eof(struct conn *c, int status)
{
    if (conn_unread_bytes(c) > 0)
        err_set(&c->err, ERR_FORMAT, "the stream ended inside a message");
    else if (status != UV_EOF && status != UV_ECONNRESET)
        err_sys(&c->err, -status, "cannot read from the stream");
    conn_close(c);
}

static void conn_on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct conn *c = stream->data;
    if (nread > 0)
        conn_feed(c, buf->base, (size_t)nread);
    else if (nread < 0)
        conn_on_eof(c, (int)nread);
    free(buf->base);
}

struct conn *conn_open(uv_loop_t *loop, int fd, const struct conn_ops *ops, void *arg)
{
    struct conn *c = xcalloc(1, sizeof *c);
    c->ops = *ops;
    c->arg = arg;
    frame_init(&c->frame, ops->max_line_bytes);
    uv_pipe_init(loop, &c->pipe, 0);
    c->pipe.data = c;
    int status = uv_pipe_open(&c->pipe, fd);
    if (status != 0)
        close(fd);
    else
        status = uv_read_start(conn_stream(c), conn_on_alloc, conn_on_read);
    if (status != 0) {
        err_sys(&c->err, -status, "cannot use the socket");
        conn_close(c);
    }
    return c;
}

/* A failed write does not close: what the peer sent before it left is still to be read. */
static void conn_write_failed(struct conn *c)
{
    c->is_deaf = true;
    if (c->is_finishing)
        conn_close(c);
}

static void conn_on_written(uv_write_t *req, int status)
{
    struct conn_write *write = (struct conn_write *)req;
    struct conn *c = req->data;
    free(write);
    if (conn_is_closing(c))
        return;
    if (status != 0)
        conn_write_failed(c);
    else if (c->is_finishing && conn_queued_bytes(c) == 0)
        conn_close(c);
}

static void conn_queue(struct conn *c, const char *data, size_t len)
{
    if (conn_queued_bytes(c) + len > c->ops.max_queue_bytes) {
        err_set(&c->err, ERR_LIMIT, "the peer does not read what it is sent");
        conn_close(c);
        return;
    }
    struct conn_write *write = xmalloc(sizeof *write + len);
    write->req.data = c;
    memcpy(write->data, data, len);
    uv_buf_t buf = uv_buf_init(write->data, (unsigned)len);
    if (uv_write(&write->req, conn_stream(c), &buf, 1, conn_on_written) != 0) {
        free(write);
        conn_write_failed(c);
    }
}

void conn_send_raw(struct conn *c, const char *line, size_t len)
{
    if (conn_is_closing(c) || c->is_finishing || c->is_deaf)
        return;
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)line, (unsigned)len);
    int sent = uv_try_write(conn_stream(c), &buf, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        conn_write_failed(c);
        return;
    }
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done < len)
        conn_queue(c, line + done, len - done);
}

void conn_send(struct conn *c, const json_t *msg)
{
    AUTO_BUF struct buf line = BUF_INIT;
    jx_dump(&line, msg);
    buf_addch(&line, '\n');
    conn_send_raw(c, line.ptr, line.len);
}

size_t conn_queued_bytes(const struct conn *c)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&c->pipe);
}

int conn_fd(const struct conn *c)
{
    uv_os_fd_t fd;
    return uv_fileno((const uv_handle_t *)&c->pipe, &fd) == 0 ? fd : -1;
}

int conn_listen(const char *path, unsigned mode, struct err *err)
{
    return socket_listen(path, mode, err);
}

int conn_connect(const char *path, struct err *err)
{
    return socket_connect(path, err);
}
