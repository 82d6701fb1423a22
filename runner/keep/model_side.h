/*
 * model_side: a keeper's own end of headgate-model, the process that adds the person's keys to what
 * the agent asks its models (runner/model). It is started before the box, and told of the box's
 * listening sockets when they are there; the end of this process's end of the stream is its end.
 *
 * Where a model is asked with a login of the person's, the relay asks for its access token on the
 * same stream. Such a question is the server's to answer (runner/server/renewal.h); it is kept
 * until it did, and told again to a server that comes later.
 */
#ifndef KEEP_MODEL_SIDE_H
#define KEEP_MODEL_SIDE_H

#include <jansson.h>
#include <sys/types.h>
#include <uv.h>
#include "runner/base/buf.h"

struct model_side {
    pid_t pid; /* 0: none; reaped by whoever waits for the keeper's children */
    int fd;    /* -1: none */
    uv_poll_t poll;
    struct buf in;
    json_t *questions; /* of each model, by its number: {"model", "refused"} */
    char *trouble;     /* what the person was told last; NULL: nothing */
    void (*ask)(void *arg, const json_t *question);
    void *arg;
};
#define MODEL_SIDE_INIT \
    {                   \
        .fd = -1        \
    }

/* Start the relay to models (a list as of upstream_load) with keys {PLACEHOLDER: KEY}; both
 * borrowed. */
bool model_side_open(struct model_side *ret, const json_t *models, const json_t *keys,
                     struct err *err) WARN_UNUSED;
/* Hand a listening socket over, which leads to this one of the models; it is closed here. */
bool model_side_listen(const struct model_side *m, size_t model, int fd,
                       struct err *err) WARN_UNUSED;
/* Listen to what it asks. */
bool model_side_follow(struct model_side *m, uv_loop_t *loop,
                       void (*ask)(void *arg, const json_t *question), void *arg,
                       struct err *err) WARN_UNUSED;
/* Ask again what was not answered: there is a new server. */
void model_side_ask_again(const struct model_side *m);
/* The server's answer, passed on. Returns what the person has to be told and was not yet, borrowed,
 * else NULL. */
const char *model_side_answer(struct model_side *m, const json_t *answer);
/* The handle, before the loop ends; the rest after it. */
void model_side_stop(struct model_side *m);
void model_side_close(struct model_side *m);

#endif
