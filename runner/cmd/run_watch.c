#include "runner/cmd/run_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/cmd/out.h"
#include "runner/cmd/watch.h"

enum {
    REDRAW_MS = 100, /* at most ten times a second */
    TICK_MS = 1000,  /* the times that are shown go on */
};

/* One stay. */
struct stay {
    struct client *client;
    struct watch watch;
    int signals;   /* signalfd; -1 */
    sigset_t mask; /* as it was before */
    bool quiet, live;
    struct alert alert;
    bool detached;
    int region_rows; /* lines of the region on the screen now */
    bool dirty;
    int64_t drawn_ms; /* monotonic */
    int64_t rung;     /* cards that the bell was rung for */
};

static void stay_done(struct stay *s)
{
    watch_done(&s->watch);
    if (s->signals >= 0)
        sigprocmask(SIG_SETMASK, &s->mask, NULL);
    auto_fd_(&s->signals);
}

static void add_erase(struct buf *out, struct stay *s)
{
    if (s->region_rows)
        buf_addf(out, "\033[%dA\r\033[J", s->region_rows);
    s->region_rows = 0;
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* Print lines (live: above the region, and only what is none of the region's business). */
static bool flush(struct stay *s, const struct buf *lines, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    int64_t news = s->watch.asked - s->rung;
    s->rung = s->watch.asked;
    s->dirty = s->dirty || lines->len;
    if (s->quiet)
        return true;
    if (news > 0 && isatty(STDOUT_FILENO))
        alert_add(&out, &s->alert, (size_t)news);
    if (!s->live)
        buf_add(&out, lines->ptr, lines->len);
    return out.len == 0 || out_buf(&out, err);
}

static bool redraw(struct stay *s, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT, region = BUF_INIT;
    struct print p;
    if (s->quiet || !s->live)
        return true;
    out_print(&p);
    add_erase(&out, s);
    watch_region(&region, &s->watch, &p, out_rows() - 1);
    s->region_rows = count_lines(region.ptr);
    buf_add(&out, region.ptr, region.len);
    s->dirty = false;
    s->drawn_ms = clock_mono_ms();
    return out_buf(&out, err);
}

static bool erase(struct stay *s, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    add_erase(&out, s);
    return out.len == 0 || out_buf(&out, err);
}

static bool subscribe(struct stay *s, const json_t *run, struct err *err)
{
    AUTO_JSON json_t *snapshot = NULL;
    AUTO_BUF struct buf lines = BUF_INIT;
    struct print p;
    json_t *request = json_object();
    json_object_set(request, "run", (json_t *)run);
    if (!client_call(&snapshot, s->client, "subscribe", request, err))
        return false;
    out_print(&p);
    watch_snapshot(&s->watch, &p, snapshot, &lines);
    return flush(s, &lines, err);
}

/* Everything that has come. */
static bool take_events(struct stay *s, struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT;
    struct print p;
    out_print(&p);
    for (;;) {
        AUTO_JSON json_t *msg = NULL;
        struct err why = ERR_INIT;
        bool ok = sync_recv(&msg, &s->client->conn, 0, &why);
        if (ok && msg) {
            watch_event(&s->watch, &p, json_object_get(msg, "event"), &lines);
            continue;
        }
        if (!flush(s, &lines, err))
            return false;
        if (!ok)
            *err = why;
        return ok;
    }
}

static void take_signal(struct stay *s)
{
    struct signalfd_siginfo info;
    if (read(s->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    if (info.ssi_signo == SIGWINCH)
        s->dirty = true;
    else
        s->detached = true;
}

static int wait_ms(const struct stay *s)
{
    if (!s->live || s->quiet)
        return -1;
    int64_t since_ms = clock_mono_ms() - s->drawn_ms;
    int64_t left_ms = (s->dirty ? REDRAW_MS : TICK_MS) - since_ms;
    return left_ms > 0 ? (int)left_ms : 0;
}

static bool wait_for_news(struct stay *s, struct err *err)
{
    struct pollfd fds[] = {{.fd = s->signals, .events = POLLIN},
                           {.fd = s->client->conn.fd, .events = POLLIN}};
    int n = poll(fds, ARRAY_LEN(fds), wait_ms(s));
    if (n < 0 && errno != EINTR)
        return err_sys(err, errno, "cannot wait for the run");
    if (n > 0 && fds[0].revents)
        take_signal(s);
    return true;
}

static bool follow(struct stay *s, struct err *err)
{
    while (!s->detached && !watch_is_over(&s->watch)) {
        if (wait_ms(s) == 0 && !redraw(s, err))
            return false;
        if (!wait_for_news(s, err) || !take_events(s, err))
            return false;
    }
    return true;
}

static bool take_over_signals(struct stay *s, struct err *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        sigaddset(&set, numbers[i]);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0)
        return err_sys(err, errno, "cannot watch for signals");
    sigprocmask(SIG_BLOCK, &set, &s->mask);
    return true;
}

static bool stay_to_end(struct stay *s, const json_t *run, struct err *err)
{
    if (!take_over_signals(s, err))
        return false;
    while (!(subscribe(s, run, err) && follow(s, err)))
        if (!client_reopen(s->client, err))
            return false;
    return erase(s, err);
}

static char *run_name(const json_t *run)
{
    return json_is_string(run) ? xstrdup(json_string_value(run))
                               : xasprintf("%" PRId64, (int64_t)json_integer_value(run));
}

bool run_watch(enum run_watch_end *ret, struct client *c, const json_t *run,
               const struct run_watch_opts *opts, struct err *err)
{
    AUTO_FREE char *name = run_name(run);
    __attribute__((cleanup(stay_done))) struct stay s = {.client = c,
                                                         .signals = -1,
                                                         .quiet = opts->quiet,
                                                         .alert = opts->alert,
                                                         .live = out_is_live(),
                                                         .dirty = true};
    watch_init(&s.watch, name);
    if (!stay_to_end(&s, run, err))
        return false;
    *ret = s.detached ? RUN_WATCH_DETACHED : RUN_WATCH_ENDED;
    return true;
}

bool run_watch_start(bool *ret_running, struct client *c, const char *attempt, struct err *err)
{
    AUTO_FREE char *run = xstrndup(attempt, strcspn(attempt, "."));
    AUTO_WATCH struct watch w;
    AUTO_JSON json_t *msg = NULL;
    AUTO_BUF struct buf unused = BUF_INIT;
    const struct print p = {0};
    json_t *request = json_object();
    jx_set_int(request, "run", strtoll(run, NULL, 10));
    watch_init(&w, run);
    if (!client_call(&msg, c, "subscribe", request, err))
        return false;
    watch_snapshot(&w, &p, msg, &unused);
    for (;;) {
        const char *state = jx_str(watch_attempt(&w, attempt), "state", "done");
        bool is_running = strcmp(state, "running") == 0;
        if (is_running || strcmp(state, "done") == 0) {
            *ret_running = is_running;
            return true;
        }
        auto_json_(&msg);
        msg = NULL;
        if (!sync_recv(&msg, &c->conn, -1, err))
            return false;
        watch_event(&w, &p, json_object_get(msg, "event"), &unused);
    }
}
