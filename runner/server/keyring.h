/*
 * keyring: secrets that runs were started with, keys of models, tokens or --secret, in memory
 * alone: a server that ends forgets them, and who resumes an attempt then brings them again.
 */
#ifndef SERVER_KEYRING_H
#define SERVER_KEYRING_H

#include <jansson.h>
#include <stdint.h>
#include "runner/base/strv.h"

struct keyring {
    struct keyring_entry *all;
    size_t n;
};

/* keys ({PLACEHOLDER: KEY}, NULL: none) is taken over; newer ones of the same run replace older. */
void keyring_put(struct keyring *ring, int64_t run, json_t *keys);
/* A copy for a worker thread, new reference; NULL when there are none. */
json_t *keyring_copy(const struct keyring *ring, int64_t run);
/* Exchange each NAME for NAME=VALUE. ERR_USAGE says what is not known any more, and how attempt id
 * goes on. */
bool keyring_fill(struct strv *names, const struct keyring *ring, int64_t run, const char *id,
                  struct err *err) WARN_UNUSED;
void keyring_forget(struct keyring *ring, int64_t run);
void keyring_release(struct keyring *ring);

#endif
