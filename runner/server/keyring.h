/*
 * keyring: secrets that runs were started with, keys of models or tokens, in memory alone: a server that ends
 * forgets them, and who resumes an attempt then brings them again.
 */
#ifndef SERVER_KEYRING_H
#define SERVER_KEYRING_H

#include <jansson.h>
#include <stdint.h>

struct keyring {
    struct keyring_entry *all;
    size_t n;
};

/* keys ({PLACEHOLDER: KEY}, NULL: none) is taken over; newer ones of the same run replace older. */
void keyring_put(struct keyring *ring, int64_t run, json_t *keys);
/* A copy for a worker thread, new reference; NULL when there are none. */
json_t *keyring_copy(const struct keyring *ring, int64_t run);
void keyring_forget(struct keyring *ring, int64_t run);
void keyring_release(struct keyring *ring);

#endif
