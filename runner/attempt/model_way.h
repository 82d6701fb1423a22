/*
 * model_way: how an agent reaches its model without the person's key in its box.
 *
 * The environment that the box gets holds a placeholder for each key, and an address on the box's
 * own loopback for each provider's. A relay of the keeper's (runner/model) listens there, puts the
 * keys in, and speaks TLS to the provider. Keys are never stored: they travel from the command that
 * starts the run over the server's memory to the keeper's standard input.
 *
 * In place of keys an agent may have a login of a subscription, where the person said so: then the
 * relay gets the access token of the day from the server, and what the file of the login holds
 * besides never leaves it (runner/login).
 */
#ifndef ATTEMPT_MODEL_WAY_H
#define ATTEMPT_MODEL_WAY_H

#include "runner/agents/provider.h"
#include "runner/base/config.h"
#include "runner/base/jx.h"
#include "runner/base/strv.h"

/* To one provider. */
struct model_way {
    char *provider; /* its name, by which an attempt that goes on finds its way again */
    char *host;
    uint16_t port;
    uint16_t inside; /* the relay's port in the box */
    char *ca_file;   /* NULL: the system's certificates */
    json_t *keys;    /* [{"placeholder", "header"}], header as of provider.h */
    char *login;     /* the file of the login whose token is the key; NULL: there is a key */
    json_t *paths;   /* of the provider, which may be asked for with it: texts; NULL: all */
};

struct model_ways {
    struct model_way v[PROVIDERS_MAX];
    size_t n; /* 0: the agent reaches its model by itself, or needs none */
};

void model_ways_release(struct model_ways *w);
json_t *model_ways_json(const struct model_ways *w);
void model_ways_parse(struct model_ways *ret, const json_t *list);

/*
 * Take the agent's keys out of env, where they can be held outside: its providers say which they
 * are and where requests go, agent.NAME.key is not `inside`, and what they are for is reached over
 * TLS. ret_keys: {PLACEHOLDER: KEY}, new reference, NULL when nothing was taken. *ret is the ways
 * that the attempt had before; env that was treated for them keeps them, with the keys of today.
 *
 * login: an absolute path, the file of the login to use; NULL: none, or the one that the attempt
 * had. With one the agent has no key, whatever env holds. ERR_USAGE: its login is not known.
 */
bool model_ways_take(struct model_ways *ret, json_t **ret_keys, struct strv *env,
                     const struct strv *services, const struct agent *agent, const char *login,
                     const struct config *config, struct err *err) WARN_UNUSED;
/* The variable of the first placeholder for which keys has nothing; NULL: none. Borrowed. */
const char *model_ways_lacking(const struct model_ways *w, const json_t *keys);

/* How a key gets to a provider: the words of `agent ls`. */
enum key_keeping { KEY_NONE, KEY_RELAY, KEY_PASSED };
/* Append a sentence for people, by the same rules; env is not changed. */
bool model_ways_describe(enum key_keeping *ret, struct buf *out, const struct strv *env,
                         const struct agent *agent, const struct config *config,
                         struct err *err) WARN_UNUSED;

#endif
