/*
 * view: the objects of the control protocol as JSON, from the store and what is live. New
 * references.
 */
#ifndef SERVER_VIEW_H
#define SERVER_VIEW_H

#include "runner/server/core.h"
#include "runner/store/attempt_row.h"
#include "runner/store/run_row.h"

enum view_form {
    VIEW_SHORT, /* for lists and events: the task cut to its beginning */
    VIEW_WHOLE, /* for attempt.show: the whole task, layers, review, calls */
};

bool view_attempt(json_t **ret, struct server *s, const char *id, enum view_form form,
                  struct err *err) WARN_UNUSED;
/* An array in the order of ids. */
bool view_attempts(json_t **ret, struct server *s, const struct strv *ids, enum view_form form,
                   struct err *err) WARN_UNUSED;
/* Calls for a list: where arguments are long, or many calls make the answer long, `args` is
 * replaced by one sentence under `cut`; call.show has them whole. Changes the array and returns it.
 */
json_t *view_cut_calls(json_t *calls);
/* Add to each call the rung of its attempt, as `ladder`. Changes the array. */
bool view_add_rungs(json_t *calls, struct server *s, struct err *err) WARN_UNUSED;
/* LAYER objects. */
json_t *view_layers(const struct layer_report *report);

/* The attempts that the request's `ids` name, each once, in order; without `ids` and with `all`
 * true: those of which. */
bool view_resolve(struct strv *ret, struct server *s, const json_t *request,
                  enum attempt_which which, struct err *err) WARN_UNUSED;

#endif
