/*
 * stream: the outside end of an agent's terminal or output pipe on the loop.
 *
 * Not a uv_pipe: libuv 1.44 takes a short read with a hang-up for the end (uv__stream_io), and a
 * terminal gives at most 4 KiB a read, so that the last output of a program would be lost. What is
 * read is handed on at once; what is written waits in a bounded queue.
 */
#ifndef KEEP_STREAM_H
#define KEEP_STREAM_H

#include <stdint.h>
#include <uv.h>
#include "runner/base/err.h"

struct stream;

struct stream_ops {
    void (*data)(void *arg, const char *bytes, size_t len);
    /* Nothing more will come; once. */
    void (*ended)(void *arg);
};

/* Take over fd (made non-blocking). NULL with err; fd is then closed. ops and arg outlive it. */
struct stream *stream_open(uv_loop_t *loop, int fd, const struct stream_ops *ops, void *arg,
                           struct err *err);
/* Queue bytes for the agent. False: it does not read, and they were dropped. */
bool stream_write(struct stream *s, const char *bytes, size_t len) WARN_UNUSED;
/* Set the terminal's size; the kernel sends SIGWINCH when it changed. */
void stream_resize(struct stream *s, uint16_t cols, uint16_t rows);
/* Hand on what is there at this moment, up to a bound: others may write for ever. */
void stream_drain(struct stream *s);
/* No callback comes after it. NULL is fine. */
void stream_close(struct stream *s);

#endif
