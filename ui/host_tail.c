#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "ui/host.h"

enum { FIRST_BYTES = 256 * 1024, MOST_BEHIND_BYTES = 1024 * 1024, CHUNK_BYTES = 64 * 1024 };

static void tell_error(struct host *h, const char *what)
{
    struct err err;
    err_sys(&err, errno, "%s", what);
    desk_on_tail(host_desk(h), NULL, 0, &err);
    host_dirty(h);
}

/* Where to read on: from the start again after a truncation, near the end when the log runs away.
 */
static bool find_place(struct host_tail *t)
{
    struct stat st;
    if (fstat(t->fd, &st) != 0)
        return false;
    if (st.st_size < t->at)
        t->at = 0;
    if (st.st_size - t->at > MOST_BEHIND_BYTES)
        t->at = st.st_size - MOST_BEHIND_BYTES;
    return true;
}

static void read_more(struct host *h)
{
    struct host_tail *t = &h->tail;
    if (t->fd < 0 || !find_place(t))
        return;
    AUTO_FREE char *bytes = xmalloc(CHUNK_BYTES);
    ssize_t n;
    while ((n = pread(t->fd, bytes, CHUNK_BYTES, t->at)) > 0) {
        t->at += n;
        desk_on_tail(host_desk(h), bytes, (size_t)n, NULL);
    }
    if (n < 0)
        tell_error(h, "cannot read the log");
    host_dirty(h);
}

static void on_change(uv_fs_event_t *watch, const char *name, int events, int status)
{
    (void)name;
    (void)events;
    if (status == 0)
        read_more(watch->data);
}

static void stop(struct host_tail *t)
{
    uv_fs_event_stop(&t->watch);
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

void host_tail_init(struct host *h)
{
    uv_fs_event_init(&h->loop, &h->tail.watch);
    h->tail.watch.data = h;
}

void host_tail(void *arg, const char *log)
{
    struct host *h = arg;
    struct host_tail *t = &h->tail;
    struct stat st;
    stop(t);
    if (!log)
        return;
    t->fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (t->fd < 0 || fstat(t->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        tell_error(h, "cannot open the log");
        return;
    }
    t->at = st.st_size > FIRST_BYTES ? st.st_size - FIRST_BYTES : 0;
    /* Watch first: what is written between the two would otherwise wait for the next write. */
    if (uv_fs_event_start(&t->watch, on_change, log, 0) != 0)
        tell_error(h, "cannot follow the log");
    read_more(h);
}
