#include "runner/keep/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "runner/base/fs.h"

enum {
    OUTPUT_LINE_EVERY_MS = 100,
};

static int output_open_log(int dirfd, struct err *err)
{
    return fs_open_beneath(dirfd, "log", O_WRONLY | O_APPEND | O_CREAT, 0600, err);
}

static void output_on_whole(void *arg, const char *line, size_t len)
{
    struct output *o = arg;
    o->ops->whole(o->arg, false, line, len);
}

static void output_on_aside(void *arg, const char *line, size_t len)
{
    struct output *o = arg;
    o->ops->whole(o->arg, true, line, len);
}

bool output_open(struct output *ret, uv_loop_t *loop, int dirfd, const char *kind,
                 int64_t max_bytes, bool is_rotated, const struct output_ops *ops, void *arg,
                 struct err *err)
{
    int fd = output_open_log(dirfd, err);
    if (fd < 0)
        return err_prefix(err, "cannot open the attempt's log");
    *ret = (struct output){.ops = ops,
                           .arg = arg,
                           .dirfd = dirfd,
                           .fd = fd,
                           .max_bytes = max_bytes,
                           .is_rotated = is_rotated};
    last_line_init(&ret->last, kind);
    last_line_init(&ret->aside, "lines");
    ret->last.whole = output_on_whole;
    ret->aside.whole = output_on_aside;
    ret->last.arg = ret->aside.arg = ret;
    uv_timer_init(loop, &ret->pause);
    ret->pause.data = ret;
    return true;
}

static void output_fail(struct output *o, const struct err *err)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    o->ops->trouble(o->arg, err);
}

static void output_rotate(struct output *o)
{
    struct err err = ERR_INIT;
    int fd = -1;
    if (renameat(o->dirfd, "log", o->dirfd, "log.1") != 0)
        err_sys(&err, errno, "cannot move the full log aside");
    else
        fd = output_open_log(o->dirfd, &err);
    if (fd < 0) {
        output_fail(o, &err);
        return;
    }
    close(o->fd);
    o->fd = fd;
    o->log_bytes = 0;
}

static void output_write(struct output *o, const char *bytes, size_t len)
{
    struct err err = ERR_INIT;
    int64_t room = o->max_bytes - o->log_bytes;
    if (o->fd < 0 || o->is_full)
        return;
    if (o->is_rotated && room < (int64_t)len) {
        output_rotate(o);
        room = o->max_bytes;
    }
    size_t part = room < (int64_t)len ? (size_t)room : len;
    if (o->fd < 0)
        return;
    if (!fs_write_fd(o->fd, bytes, part, &err)) {
        output_fail(o, &err);
        return;
    }
    o->log_bytes += (int64_t)part;
    if (part < len && !o->is_rotated) {
        o->is_full = true;
        o->ops->full(o->arg);
    }
}

void output_tell(struct output *o)
{
    if (o->last.line.len > 0)
        o->ops->line(o->arg, o->last.line.ptr, o->last.line.len, o->total_bytes);
}

static void output_on_pause_over(uv_timer_t *timer);

static void output_tell_now(struct output *o)
{
    o->is_dirty = false;
    output_tell(o);
    uv_timer_start(&o->pause, output_on_pause_over, OUTPUT_LINE_EVERY_MS, 0);
}

static void output_on_pause_over(uv_timer_t *timer)
{
    struct output *o = timer->data;
    if (o->is_dirty)
        output_tell_now(o);
}

static void output_line_changed(struct output *o)
{
    o->is_dirty = true;
    if (!uv_is_active((const uv_handle_t *)&o->pause))
        output_tell_now(o);
}

void output_add(struct output *o, const char *bytes, size_t len, bool has_lines)
{
    o->total_bytes += (int64_t)len;
    output_write(o, bytes, len);
    bool has_changed = last_line_feed(has_lines ? &o->last : &o->aside, bytes, len);
    if (has_lines && has_changed)
        output_line_changed(o);
}

void output_finish(struct output *o)
{
    bool has_changed = last_line_finish(&o->last) || o->is_dirty;
    (void)last_line_finish(&o->aside);
    if (o->last.line.len == 0 && o->aside.line.len > 0) {
        buf_add(&o->last.line, o->aside.line.ptr, o->aside.line.len);
        has_changed = true;
    }
    if (has_changed)
        output_tell_now(o);
}

void output_close(struct output *o)
{
    if (!uv_is_closing((const uv_handle_t *)&o->pause))
        uv_close((uv_handle_t *)&o->pause, NULL);
}

void output_release(struct output *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    last_line_release(&o->last);
    last_line_release(&o->aside);
}
