/*
 * hold: what an agent asks of its model, or of anyone outside, waits until its hook has shaken
 * hands with the gate: before that nothing shows that its calls would be asked.
 *
 *   none --keep--> held --greeted--> let go
 *                   |--somebody waits, and nobody greets within the time--> overdue
 *                   |--nobody waits nor greets within ten times that--> overdue
 *
 * Listening sockets of the box are kept unaccepted: whoever connects is taken by the kernel and
 * waits. The time runs from the first that does, so that an agent that is slow to start is given
 * time; one with a task that neither asks nor greets for much longer has stopped there (its hook
 * hangs). An agent that is only open holds nothing up.
 */
#ifndef KEEP_HOLD_H
#define KEEP_HOLD_H

#include <uv.h>
#include "runner/base/err.h"

enum { HOLD_SOCKETS = 128, HOLD_START_TIMES = 10 };

struct hold_ops {
    void (*serve)(void *arg, int port, int fd); /* fd is the callee's */
    void (*overdue)(void *arg);
};

struct hold_socket {
    int port, fd;
    uv_poll_t poll; /* while it is held; its data is the hold */
};

struct hold {
    uv_loop_t *loop;
    const struct hold_ops *ops;
    void *arg;
    int64_t patience_ms; /* 0: nothing is held */
    bool was_greeted, is_wanted, is_closed;
    struct hold_socket *sockets[HOLD_SOCKETS];
    size_t n_sockets;
    uv_timer_t patience;
};

/* patience_ms 0: an agent that shakes no hands. */
void hold_init(struct hold *h, uv_loop_t *loop, int64_t patience_ms, const struct hold_ops *ops,
               void *arg);
/* An agent with a task has started: it is expected to greet by itself. */
void hold_expect(struct hold *h);
/* How long it was waited for until now. */
int64_t hold_patience_ms(const struct hold *h);
/* There is something to wait for. */
bool hold_is_on(const struct hold *h);
/* Keep a listening socket (taken over) until then, or serve it at once. */
void hold_keep(struct hold *h, int port, int fd);
/* The hook has shaken hands: serve all. Idempotent. */
void hold_greeted(struct hold *h);
/* What is still held is closed. Idempotent; the memory is in use until the loop has ended. */
void hold_close(struct hold *h);

#endif
