/*
 * model_side: a keeper's own end of headgate-model, the process that adds the person's keys to what
 * the agent asks its models (runner/model). It is started before the box, and told of the box's
 * listening sockets when they are there; the end of this process's end of the stream is its end.
 */
#ifndef KEEP_MODEL_SIDE_H
#define KEEP_MODEL_SIDE_H

#include <jansson.h>
#include <sys/types.h>
#include "runner/base/err.h"

struct model_side {
    pid_t pid; /* 0: none; reaped by whoever waits for the keeper's children */
    int fd;    /* -1: none */
};
#define MODEL_SIDE_INIT \
    {                   \
        .fd = -1        \
    }

/* Start the relay to models (a list as of upstream_load) with keys {PLACEHOLDER: KEY}; both borrowed. */
bool model_side_open(struct model_side *ret, const json_t *models, const json_t *keys,
                     struct err *err) WARN_UNUSED;
/* Hand a listening socket over, which leads to this one of the models; it is closed here. */
bool model_side_listen(const struct model_side *m, size_t model, int fd, struct err *err) WARN_UNUSED;
void model_side_close(struct model_side *m);

#endif
