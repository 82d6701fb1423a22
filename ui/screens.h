/*
 * screens: what each screen offers to the others: its operations and how it is opened. One file per
 * screen, scr_NAME.c.
 */
#ifndef UI_SCREENS_H
#define UI_SCREENS_H

#include "ui/desk.h"

extern const struct screen_ops scr_attempts_ops, scr_queue_ops, scr_attempt_ops, scr_call_ops,
    scr_deny_ops, scr_output_ops, scr_diff_ops, scr_live_ops, scr_help_ops, scr_trace_ops;

void scr_attempts_open(struct desk *d);
void scr_queue_open(struct desk *d);
void scr_attempt_open(struct desk *d, const char *attempt);
/* The card of this call; alone: only the call itself, whatever equals it. */
void scr_call_open(struct desk *d, const struct model_call *call, bool alone);
struct decide_set;
/* Ask for the reason of a denial. The set is taken over. */
void scr_deny_open(struct desk *d, struct decide_set *set, const char *what);
void scr_trace_open(struct desk *d, const char *attempt);
void scr_output_open(struct desk *d, const struct model_attempt *a);
void scr_diff_open(struct desk *d, const struct model_attempt *a);
/* The live terminal of a keeper; name is what the bottom line calls it. A joined process has this
 * terminal alone, which then answers what the process asks of it. */
void scr_live_open(struct desk *d, const char *name, const char *keeper_socket, bool is_joined);
void scr_help_open(struct desk *d);

/* What comes back for a screen; dropped when it is closed. */
void scr_attempt_on_show(struct desk *d, const char *attempt, const json_t *result);
void scr_call_on_show(struct desk *d, const char *call, const json_t *result);
/* result NULL: err says why there is none. */
void scr_trace_on_answer(struct desk *d, const char *attempt, const json_t *result,
                         const struct err *err);
void scr_diff_on_text(struct desk *d, const char *attempt, const struct buf *text,
                      const struct err *err);
void scr_diff_on_harvest(struct desk *d, const char *attempt, const struct err *err);
void scr_output_on_bytes(struct desk *d, const char *bytes, size_t len, const struct err *err);
void scr_live_on_bytes(struct desk *d, const void *bytes, size_t len);
/* Append what the program has shown (vt_text); nothing when no terminal is open. */
void scr_live_text(const struct desk *d, struct buf *out);
void scr_live_on_end(struct desk *d, int status, const struct err *err);

#endif
