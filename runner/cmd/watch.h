/*
 * watch: one run as its events tell it, for the progress of `headgate run`. Pure: no socket, no
 * terminal, no clock.
 *
 * The model is fed the snapshot of a subscription (again after a reconnect: what changed meanwhile
 * is told as if by events) and then each event. What is worth a line of its own is appended to
 * `lines`; a terminal shows the region instead.
 */
#ifndef CMD_WATCH_H
#define CMD_WATCH_H

#include "runner/cmd/print.h"

struct watch {
    char *run;        /* "3": others are passed over */
    json_t *attempts; /* id -> ATTEMPT, in order of arrival */
    json_t *calls;    /* id -> CALL that waits */
    int64_t asked;    /* cards that appeared so far: a rise is worth a bell */
};
#define AUTO_WATCH __attribute__((cleanup(watch_done)))
void watch_init(struct watch *w, const char *run);
void watch_done(struct watch *w);

void watch_snapshot(struct watch *w, const struct print *p, const json_t *snapshot,
                    struct buf *lines);
void watch_event(struct watch *w, const struct print *p, const json_t *event, struct buf *lines);
/* True when there are attempts and all have ended. */
bool watch_is_over(const struct watch *w);
/* The attempt of the id, borrowed, or NULL. */
const json_t *watch_attempt(const struct watch *w, const char *id);
/* Append the live region: at most rows lines of at most p->columns columns. */
void watch_region(struct buf *out, const struct watch *w, const struct print *p, int rows);

#endif
