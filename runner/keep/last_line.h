/*
 * last_line: the last whole line of an agent's output that says something, for lists. Pure.
 *
 * Terminal control is taken out (what is left is still sanitised where it is shown); a carriage
 * return begins the line anew, as a progress bar means it. What a line of a known output format
 * says to a person is the adapter's knowledge (runner/agents/agent.h).
 */
#ifndef KEEP_LAST_LINE_H
#define KEEP_LAST_LINE_H

#include "runner/agents/agent.h"
#include "runner/base/buf.h"

enum { LAST_LINE_BYTES = 512 };

enum last_line_escape { LAST_LINE_TEXT, LAST_LINE_ESC, LAST_LINE_CSI, LAST_LINE_STRING };

struct last_line {
    struct agent_output output;
    /* Each whole line, before it is looked at; NULL: nobody wants it. */
    void (*whole)(void *arg, const char *line, size_t len);
    void *arg;
    struct buf partial; /* the line that is not finished; what is beyond a bound is passed over */
    bool has_return;    /* a carriage return was the last byte */
    enum last_line_escape escape;
    struct buf line; /* the result, at most LAST_LINE_BYTES, valid UTF-8 where the output was */
};

/* kind as struct agent's output; borrowed. */
void last_line_init(struct last_line *l, const char *kind);
void last_line_release(struct last_line *l);
/* True when `line` changed. */
bool last_line_feed(struct last_line *l, const char *bytes, size_t len);
/* The output has ended: an unfinished line counts as a whole one. */
bool last_line_finish(struct last_line *l);

#endif
