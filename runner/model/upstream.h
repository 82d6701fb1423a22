/*
 * upstream: where a relay sends requests to one model, and which words it exchanges for secrets on
 * the way.
 *
 * An agent in a box holds a placeholder in place of each of the person's keys. The relay, outside,
 * knows both: it puts the key where the placeholder stands alone in the header that is made for it,
 * and sends the request to one host, over TLS, and to no other. Pure, but for loading.
 */
#ifndef MODEL_UPSTREAM_H
#define MODEL_UPSTREAM_H

#include <jansson.h>
#include <stdint.h>
#include "runner/base/buf.h"
#include "runner/keep/http_head.h"
#include "runner/model/tokens.h"

enum { UPSTREAM_KEYS_MAX = 16, UPSTREAM_KEY_BYTES = 16 * 1024, UPSTREAM_PATHS_MAX = 8 };

struct upstream_key {
    char *header; /* its name */
    char *prefix; /* what stands before the key: "Bearer ", or nothing */
    char *placeholder;
    char *secret; /* NULL: the token of a login, which changes */
};

struct upstream {
    char *host;
    uint16_t port;
    char *ca_file; /* certificates to trust instead of the system's; NULL: the system's */
    struct upstream_key keys[UPSTREAM_KEYS_MAX];
    size_t n_keys;
    bool has_login; /* its key is an access token of the person's login (tokens.h) */
    char *paths[UPSTREAM_PATHS_MAX]; /* what may be asked for with it, and what is below; without
                                        one: anything */
    size_t n_paths;
};

/* From {"host", "port", "ca", "keys":[{"placeholder", "header"}], "login", "paths"}, where
 * "authorization: Bearer" as a header is its name and what stands before the key, and {PLACEHOLDER:
 * SECRET}, of which only these are taken; with a login none. A key that is missing, or has bytes
 * that a header cannot hold, is an error that does not show it. */
bool upstream_load(struct upstream *ret, const json_t *config, const json_t *secrets,
                   struct err *err) WARN_UNUSED;
/* Wipes the secrets. */
void upstream_release(struct upstream *u);

/*
 * The head of a request as it goes out: the request's own target, `Host` of the upstream, keys in
 * place of placeholders, `Connection: close`. Refused: methods and targets of a proxy (CONNECT, an
 * absolute URL), for the relay has one destination; HTTP/1.0; and with a login what is not of the
 * model, for such a token opens more than that. token: of the login, NULL without one.
 */
bool upstream_head(struct buf *out, const struct upstream *u, const struct token *token,
                   const struct http_head *head, struct err *err) WARN_UNUSED;

#endif
