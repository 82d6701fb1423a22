#include "ui/host.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "ui/term.h"

enum { FRAME_MS = 33, ESCAPE_MS = 50, READ_BYTES = 4096 };

static const int signal_numbers[HOST_SIGNALS] = {SIGWINCH, SIGTERM, SIGINT, SIGHUP,
                                                 SIGQUIT,  SIGTSTP, SIGCONT};

struct desk *host_desk(struct host *h)
{
    h->desk.now_ms = clock_unix_ms();
    return &h->desk;
}

/* ---- drawing ---- */

static void on_tick(uv_timer_t *timer)
{
    host_dirty(timer->data);
}

static void write_alert(struct host *h)
{
    AUTO_BUF struct buf bytes = BUF_INIT;
    alert_add(&bytes, &h->alert, h->wants_alert);
    term_alert(bytes.ptr);
    h->wants_alert = 0;
}

static void on_draw(uv_timer_t *timer)
{
    struct host *h = timer->data;
    int rows, cols;
    term_size(&rows, &cols);
    struct desk *d = host_desk(h);
    int64_t next_ms = desk_draw(d, &h->canvas, rows, cols);
    if (h->wants_bell)
        term_bell();
    h->wants_bell = false;
    if (h->wants_alert)
        write_alert(h);
    term_draw(&h->canvas);
    h->drawn_ms = clock_mono_ms();
    uv_timer_stop(&h->tick);
    if (next_ms != INT64_MAX)
        uv_timer_start(&h->tick, on_tick, next_ms > d->now_ms ? (uint64_t)(next_ms - d->now_ms) : 1,
                       0);
}

void host_dirty(struct host *h)
{
    if (h->is_quitting || uv_is_active((uv_handle_t *)&h->draw))
        return;
    int64_t since = clock_mono_ms() - h->drawn_ms;
    uv_update_time(&h->loop);
    uv_timer_start(&h->draw, on_draw, since < FRAME_MS ? (uint64_t)(FRAME_MS - since) : 0, 0);
}

static void bell(void *arg)
{
    struct host *h = arg;
    h->wants_bell = true;
}

static void alert(void *arg, size_t n)
{
    struct host *h = arg;
    h->wants_alert = n;
}

/* ---- keys ---- */

static void on_escape(uv_timer_t *timer)
{
    struct host *h = timer->data;
    struct key key;
    if (key_flush(&key, &h->keys))
        desk_on_key(host_desk(h), &key);
    host_dirty(h);
}

/* Bytes go raw to a live terminal and are keys for every other screen; a key may change which. */
static void take_bytes(struct host *h, const unsigned char *bytes, size_t len)
{
    struct desk *d = host_desk(h);
    for (size_t at = 0; at < len && !h->is_quitting;) {
        size_t used = key_is_waiting(&h->keys) ? 0 : desk_on_bytes(d, bytes + at, len - at);
        if (used == 0) {
            struct key key;
            if (key_next(&key, &h->keys, bytes + at, len - at, &used))
                desk_on_key(d, &key);
        }
        at += used;
    }
}

static void on_tty(uv_poll_t *poll, int status, int events)
{
    struct host *h = poll->data;
    unsigned char bytes[READ_BYTES];
    (void)events;
    ssize_t n = status < 0 ? 0 : term_read(bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        host_quit(h); /* the terminal is gone */
        return;
    }
    uv_timer_stop(&h->escape);
    take_bytes(h, bytes, (size_t)n);
    if (h->is_quitting)
        return;
    if (key_is_waiting(&h->keys))
        uv_timer_start(&h->escape, on_escape, ESCAPE_MS, 0);
    term_raw(desk_wants_raw(&h->desk));
    host_dirty(h);
}

/* ---- signals ---- */

static void on_signal(uv_signal_t *handle, int number);

/* Stop as a program without a handler would: the shell sees it, and Ctrl-Z works as everywhere. */
static void stop_self(struct host *h, uv_signal_t *handle)
{
    term_suspend();
    uv_signal_stop(handle);
    raise(SIGTSTP);
    uv_signal_start(handle, on_signal, SIGTSTP);
    term_resume();
    host_dirty(h);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct host *h = handle->data;
    if (number == SIGTSTP) {
        stop_self(h, handle);
    } else if (number == SIGCONT) {
        term_resume(); /* after a SIGSTOP, which nobody can see coming */
        host_dirty(h);
    } else if (number == SIGWINCH) {
        term_forget();
        host_dirty(h);
    } else {
        h->quit_signal = number;
        host_quit(h);
    }
}

/* ---- life ---- */

void host_quit(struct host *h)
{
    h->is_quitting = true;
    uv_stop(&h->loop);
}

static void quit(void *arg)
{
    host_quit(arg);
}

static const struct desk_host desk_host = {
    .request = host_control_request,
    .diff = host_diff,
    .tail = host_tail,
    .live_open = host_live_open,
    .live_send = host_live_send,
    .live_resize = host_live_resize,
    .live_close = host_live_close,
    .bell = bell,
    .alert = alert,
    .quit = quit,
};

static void start_signals(struct host *h)
{
    for (size_t i = 0; i < HOST_SIGNALS; i++) {
        uv_signal_init(&h->loop, &h->signals[i]);
        h->signals[i].data = h;
        uv_signal_start(&h->signals[i], on_signal, signal_numbers[i]);
    }
}

static void start_timers(struct host *h)
{
    uv_timer_t *const timers[] = {&h->draw, &h->tick, &h->escape, &h->control.retry};
    for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
        uv_timer_init(&h->loop, timers[i]);
        timers[i]->data = h;
    }
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Everything that belongs to a connection or a worker ends by itself; the handles that are left are
 * ours. */
static void drain(struct host *h)
{
    host_control_stop(h);
    host_live_close(h);
    host_tail(h, NULL);
    uv_run(&h->loop, UV_RUN_NOWAIT);
    uv_walk(&h->loop, close_handle, NULL);
    uv_run(&h->loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&h->loop);
    assert(left == 0);
    (void)left;
}

bool host_open(struct host *h, struct err *err)
{
    *h = (struct host){.status = -1, .tail.fd = -1, .live_err = ERR_INIT};
    int failed = uv_loop_init(&h->loop);
    if (failed != 0)
        return err_sys(err, -failed, "cannot make an event loop");
    desk_init(&h->desk, &desk_host, h);
    start_timers(h);
    host_tail_init(h);
    start_signals(h); /* before curses, which takes the signals that have no handler */
    bool is_open = term_open(err);
    if (is_open) {
        uv_poll_init(&h->loop, &h->tty, term_waker());
        h->tty.data = h;
        uv_poll_start(&h->tty, UV_READABLE, on_tty);
        term_size(&h->desk.rows, &h->desk.cols);
        return true;
    }
    drain(h);
    desk_release(&h->desk);
    return false;
}

void host_run(struct host *h)
{
    term_raw(desk_wants_raw(&h->desk));
    host_dirty(h);
    if (!h->is_quitting)
        uv_run(&h->loop, UV_RUN_DEFAULT);
}

void host_close(struct host *h)
{
    int number = h->quit_signal;
    uv_poll_stop(&h->tty);
    term_close();
    desk_release(&h->desk);
    drain(h);
    canvas_release(&h->canvas);
    free(h->control.pending);
    if (number != 0) {
        signal(number, SIG_DFL);
        raise(number);
    }
}
