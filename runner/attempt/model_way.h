/*
 * model_way: how an agent reaches its model without the person's key in its box.
 *
 * The environment that the box gets holds a placeholder for each key, and an address on the box's
 * own loopback for the provider's. A relay of the keeper's (runner/model) listens there, puts the
 * keys in, and speaks TLS to the provider. Keys are never stored: they travel from the command that
 * starts the run over the server's memory to the keeper's standard input.
 */
#ifndef ATTEMPT_MODEL_WAY_H
#define ATTEMPT_MODEL_WAY_H

#include "runner/base/config.h"
#include "runner/base/jx.h"
#include "runner/base/strv.h"

struct agent;

struct model_way {
    char *host; /* NULL: the agent reaches its model by itself, or needs none */
    uint16_t port;
    char *ca_file; /* NULL: the system's certificates */
};
#define MODEL_WAY_INIT \
    {                  \
        .host = NULL   \
    }

void model_way_release(struct model_way *w);
json_t *model_way_json(const struct model_way *w); /* null when there is none */
void model_way_parse(struct model_way *ret, const json_t *j);

/*
 * Take the agent's keys out of env, where they can be held outside: the adapter says which they are
 * and where requests go, agent.NAME.key is not `inside`, and what they are for is reached over TLS.
 * ret_keys: {PLACEHOLDER: KEY}, new reference, NULL when nothing was taken. *ret is the way that the
 * attempt had before; env that was treated for it keeps it, with the keys of today.
 */
bool model_way_take(struct model_way *ret, json_t **ret_keys, struct strv *env,
                    const struct strv *services, const struct agent *agent,
                    const struct config *config, struct err *err) WARN_UNUSED;
/* The relay's port inside: not one of the services'. */
uint16_t model_way_port(const struct strv *services);

#endif
