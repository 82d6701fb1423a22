/*
 * desk: the dashboard without its terminal: the model, a stack of screens, the status line. Pure:
 * what it wants from outside (a request to the server, a diff, the tail of a log, a live terminal)
 * it asks of its host, and what comes back is handed to a desk_on_* function.
 *
 * Screens are tables of operations on a stack; the top one draws and gets the keys. There are no
 * modal loops. A screen is named by its operations, so an answer that comes after its screen was
 * closed finds nobody and is dropped.
 */
#ifndef UI_DESK_H
#define UI_DESK_H

#include "ui/canvas.h"
#include "ui/cards.h"
#include "ui/key.h"
#include "ui/model.h"

struct desk;
struct screen;

/* One drawing: where, and when the clock alone would change it. */
struct paint {
    struct canvas *cv;
    int64_t now_ms;
    int64_t next_ms;     /* lowered by whoever draws a time; INT64_MAX: nothing changes by itself */
    int top, rows, cols; /* the body: what the frame leaves to a screen */
};

struct help_line {
    const char *keys, *text;
};

struct screen_ops {
    const char *name;             /* in the header */
    const char *hints;            /* the bottom line */
    const struct help_line *help; /* ends with {NULL, NULL} */
    bool is_full;                 /* draws every row itself: no header, status or hints */
    bool takes_text;              /* gets every key: no global ones */
    void (*draw)(struct screen *s, const struct desk *d, struct paint *p);
    void (*key)(struct screen *s, struct desk *d, const struct key *key);
    /* Gets the terminal's bytes before they are keys; returns how many it took. NULL: none. */
    size_t (*raw)(struct screen *s, struct desk *d, const unsigned char *bytes, size_t len);
    void (*changed)(struct screen *s, struct desk *d); /* the model has changed; may be NULL */
    void (*free)(struct screen *s, struct desk *d);
};

/* The head of every screen's own struct. */
struct screen {
    const struct screen_ops *ops;
    struct screen *below;
};

enum desk_ask {
    ASK_APPROVE,
    ASK_DENY,
    ASK_STOP,
    ASK_ATTEMPT,
    ASK_LAYERS,
    ASK_CALL,
    ASK_HARVEST,
    ASK_TRACE
};

/* The outside world. Nothing blocks; strings are borrowed for the call. */
struct desk_host {
    /* Send a request of the control protocol; request is stolen. Its answer comes to desk_on_answer
     * with ask and subject. */
    void (*request)(void *arg, enum desk_ask ask, const char *subject, const char *op,
                    json_t *request);
    void (*diff)(void *arg, const char *attempt, const char *repo, const char *from,
                 const char *to);
    void (*tail)(void *arg, const char *log); /* NULL: stop */
    void (*live_open)(void *arg, const char *keeper_socket, int rows, int cols);
    void (*live_send)(void *arg, const void *bytes, size_t len);
    void (*live_resize)(void *arg, int rows, int cols);
    void (*live_close)(void *arg);
    void (*bell)(void *arg);
    void (*alert)(void *arg, size_t n); /* a call has come; n wait now */
    void (*quit)(void *arg);
};

enum desk_link { LINK_NONE /* no server is needed */, LINK_CONNECTING, LINK_UP, LINK_GONE };

/* Decisions of one kind whose answers are being counted. */
struct desk_tally {
    size_t sent, done, failed;
    char first[32];
    char failure[256];
};

struct desk {
    struct model model;
    struct cards cards;
    struct screen *top;
    const struct desk_host *host;
    void *host_arg;
    int64_t now_ms;        /* wall clock, set by the host before each call */
    int rows, cols;        /* of the whole canvas at the last drawing */
    char attempt[32];      /* the selected attempt, "" for the first */
    char card[72];         /* the key of the selected card */
    int64_t card_moved_ms; /* when another card came under the cursor without a key of the person */
    char stop_armed[32];   /* the attempt for which "stop" was pressed once */
    int64_t layers_asked_run; /* the run whose layers were asked for last */
    enum desk_link link;
    struct desk_tally tally[2]; /* denials, approvals */
    bool status_is_bad;
    char status[512];
};

void desk_init(struct desk *d, const struct desk_host *host, void *host_arg);
void desk_release(struct desk *d);

/* ---- for the host ---- */
void desk_on_key(struct desk *d, const struct key *key);
/* The top screen's raw operation; 0 when it has none. */
size_t desk_on_bytes(struct desk *d, const unsigned char *bytes, size_t len);
bool desk_wants_raw(const struct desk *d);
void desk_on_snapshot(struct desk *d, const json_t *snapshot);
void desk_on_event(struct desk *d, const json_t *event);
/* result is NULL and err set when the request failed. */
void desk_on_answer(struct desk *d, enum desk_ask ask, const char *subject, const json_t *result,
                    const struct err *err);
void desk_on_link(struct desk *d, enum desk_link link);
void desk_on_diff(struct desk *d, const char *attempt, const struct buf *text,
                  const struct err *err);
void desk_on_tail(struct desk *d, const char *bytes, size_t len, const struct err *err);
void desk_on_live(struct desk *d, const void *bytes, size_t len);
void desk_on_live_end(struct desk *d, int status, const struct err *err);
/* Draw everything; the canvas gets this size. Returns when the clock alone would change the
 * drawing, INT64_MAX for never. */
int64_t desk_draw(struct desk *d, struct canvas *cv, int rows, int cols);

/* ---- for the screens ---- */
/* Open on top. Each kind of screen is on the stack at most once: an older one of the same kind is
 * closed. */
void desk_push(struct desk *d, struct screen *s);
/* Close the top screen; closing the last one leaves the dashboard. */
void desk_pop(struct desk *d);
struct screen *desk_find(const struct desk *d, const struct screen_ops *ops);
void desk_say(struct desk *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
void desk_complain(struct desk *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The selected attempt, or the first; NULL when there is none. */
const struct model_attempt *desk_attempt(const struct desk *d);
/* The selected card's index, or SIZE_MAX when nothing waits. */
size_t desk_card(const struct desk *d);
/* The keys that mean the same for one attempt wherever it is shown: output, diff, trace, terminal,
 * stop. True when it was one. */
bool desk_attempt_key(struct desk *d, const struct key *key, const char *attempt);

#endif
