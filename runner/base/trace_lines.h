/*
 * trace_lines: a trace (runner/server/trace.h, `attempt.trace`) as lines for people. Pure; what a
 * box wrote is sanitised here.
 */
#ifndef BASE_TRACE_LINES_H
#define BASE_TRACE_LINES_H

#include "runner/base/jx.h"

enum trace_mood { TRACE_PLAIN, TRACE_HEAD, TRACE_GOOD, TRACE_BAD, TRACE_WAITS };

struct trace_line {
    int64_t at_ms;        /* 0: not told */
    const char *tree;     /* "│  ├─ ", "" of the first */
    const char *subject;  /* "c12", "make", "registry.example.org:443" */
    const char *outcome;  /* "approved by ann", "" */
    const char *detail;   /* "Bash: make test", "" */
    enum trace_mood mood; /* of the outcome; TRACE_HEAD: the attempt and subagents */
};
/* Texts are valid within the call. */
typedef void (*trace_line_fn)(void *arg, const struct trace_line *line);

/* One line for each node, parents before children. */
void trace_lines(const json_t *tree, trace_line_fn fn, void *arg);

#endif
