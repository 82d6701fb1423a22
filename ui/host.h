/*
 * host: the outside world of a desk on one libuv loop: the terminal, the signals, the control
 * connection, a keeper's connection, a log's tail, diffs on worker threads. Its files are the only
 * ones of the dashboard that know libuv.
 *
 * One loop, one thread that decides. No timer runs while nothing changes: drawing is asked for by
 * what came in, and by the clock only when a time is in sight whose text will change.
 */
#ifndef UI_HOST_H
#define UI_HOST_H

#include <uv.h>
#include "runner/wire/conn.h"
#include "ui/desk.h"
#include "ui/ui.h"

enum { HOST_SIGNALS = 7 };

/* The control connection and the requests that wait for an answer. */
struct host_control {
    struct conn *conn; /* NULL: none */
    const char *path;  /* NULL: no server is needed */
    uv_timer_t retry;
    int64_t next_id;
    struct host_pending {
        int64_t id;
        enum desk_ask ask;
        char subject[64];
    } * pending;
    size_t n_pending;
};

struct host_live {
    struct conn *conn;          /* NULL: none */
    const struct ui_join *join; /* NULL: the agent's own terminal */
    int rows, cols;             /* for the join, which follows the welcome */
    char note[256];             /* the keeper's last words */
};

struct host_tail {
    uv_fs_event_t watch;
    bool is_watching;
    int fd; /* -1: none */
    int64_t at;
};

struct host {
    uv_loop_t loop;
    struct desk desk;
    struct canvas canvas;
    uv_poll_t tty;
    uv_timer_t draw, tick, escape;
    uv_signal_t signals[HOST_SIGNALS];
    struct key_reader keys;
    int64_t drawn_ms; /* monotonic, of the last drawing */
    bool wants_bell;
    struct alert alert;  /* how to tell that a call waits */
    size_t wants_alert;  /* calls to tell of; 0: none */
    bool ends_with_live; /* attach: the end of the terminal is the end of the host */
    bool is_quitting;
    int quit_signal;     /* the signal that ended it, 0: none */
    int status;          /* of the live terminal's process, -1 while unknown */
    struct err live_err; /* why the live terminal broke */
    struct host_control control;
    struct host_live live;
    struct host_tail tail;
    uint64_t diff_serial; /* of the newest diff that was asked for */
};

/* Take over signals and the terminal. On failure nothing is left. */
bool host_open(struct host *h, struct err *err) WARN_UNUSED;
/* Run until the person leaves, a signal ends it or the attached process does. */
void host_run(struct host *h);
/* Give everything back; then die of the signal that ended it, if one did. */
void host_close(struct host *h);
/* Something has changed: draw soon. */
void host_dirty(struct host *h);
void host_quit(struct host *h);
/* Set the desk's clock; before every desk_on_*. */
struct desk *host_desk(struct host *h);

void host_control_start(struct host *h, const char *path);
void host_control_stop(struct host *h);
void host_control_request(void *arg, enum desk_ask ask, const char *subject, const char *op,
                          json_t *request);

void host_live_open(void *arg, const char *keeper_socket, int rows, int cols);
void host_live_send(void *arg, const void *bytes, size_t len);
void host_live_resize(void *arg, int rows, int cols);
void host_live_close(void *arg);

void host_tail_init(struct host *h);
void host_tail(void *arg, const char *log);
void host_diff(void *arg, const char *attempt, const char *repo, const char *from, const char *to);

#endif
