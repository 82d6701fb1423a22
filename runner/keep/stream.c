#include "runner/keep/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "runner/base/buf.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum {
    STREAM_READ_BYTES = 16 * 1024,
    STREAM_READS = 8, /* in one go, before other events have their turn */
    STREAM_DRAIN_READS = 64,
    STREAM_QUEUE_BYTES = 256 * 1024,
};

struct stream {
    uv_poll_t poll;
    int fd;
    bool has_ended;
    struct buf queue;
    const struct stream_ops *ops;
    void *arg;
    char chunk[STREAM_READ_BYTES];
};

static bool stream_is_closing(const struct stream *s)
{
    return uv_is_closing((const uv_handle_t *)&s->poll);
}

static void stream_end(struct stream *s)
{
    if (s->has_ended)
        return;
    s->has_ended = true;
    uv_poll_stop(&s->poll);
    s->ops->ended(s->arg);
}

/* False: nothing more is there now. */
static bool stream_read_once(struct stream *s)
{
    if (s->has_ended || stream_is_closing(s))
        return false;
    ssize_t n = read(s->fd, s->chunk, sizeof s->chunk);
    if (n > 0) {
        s->ops->data(s->arg, s->chunk, (size_t)n);
        return true;
    }
    if (n < 0 && errno == EINTR)
        return true;
    if (n == 0 || errno != EAGAIN)
        stream_end(s); /* a terminal ends with EIO */
    return false;
}

static void stream_flush(struct stream *s)
{
    while (s->queue.len > 0) {
        ssize_t n = write(s->fd, s->queue.ptr, s->queue.len);
        if (n > 0)
            buf_consume(&s->queue, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n == 0 || errno != EINTR)
            buf_clear(&s->queue); /* nobody will read it any more */
    }
}

static void stream_on_event(uv_poll_t *poll, int status, int events);

static void stream_watch(struct stream *s)
{
    int events = UV_READABLE | (s->queue.len > 0 ? UV_WRITABLE : 0);
    if (!s->has_ended && !stream_is_closing(s))
        uv_poll_start(&s->poll, events, stream_on_event);
}

static void stream_on_event(uv_poll_t *poll, int status, int events)
{
    struct stream *s = poll->data;
    if (events & UV_WRITABLE) {
        stream_flush(s);
        stream_watch(s);
    }
    if (status == 0 && !(events & UV_READABLE))
        return;
    for (int i = 0; i < STREAM_READS && stream_read_once(s); i++)
        continue;
}

struct stream *stream_open(uv_loop_t *loop, int fd, const struct stream_ops *ops, void *arg,
                           struct err *err)
{
    AUTO_FD int own = fd;
    if (!fs_set_nonblock(own, err))
        return NULL;
    AUTO_FREE struct stream *s = xcalloc(1, sizeof *s);
    int status = uv_poll_init(loop, &s->poll, own);
    if (status != 0) {
        err_sys(err, -status, "cannot watch the agent's output");
        return NULL;
    }
    s->poll.data = s;
    s->fd = steal_fd(&own);
    s->ops = ops;
    s->arg = arg;
    buf_init(&s->queue);
    stream_watch(s);
    return steal_ptr(&s);
}

bool stream_write(struct stream *s, const char *bytes, size_t len)
{
    if (s->has_ended || stream_is_closing(s) || s->queue.len + len > STREAM_QUEUE_BYTES)
        return false;
    buf_add(&s->queue, bytes, len);
    stream_flush(s);
    stream_watch(s);
    return true;
}

void stream_resize(struct stream *s, uint16_t cols, uint16_t rows)
{
    struct winsize size = {.ws_col = cols, .ws_row = rows};
    ioctl(s->fd, TIOCSWINSZ, &size);
}

void stream_drain(struct stream *s)
{
    for (int i = 0; i < STREAM_DRAIN_READS && stream_read_once(s); i++)
        continue;
}

static void stream_on_closed(uv_handle_t *handle)
{
    struct stream *s = handle->data;
    close(s->fd);
    buf_release(&s->queue);
    free(s);
}

void stream_close(struct stream *s)
{
    if (s && !stream_is_closing(s))
        uv_close((uv_handle_t *)&s->poll, stream_on_closed);
}
