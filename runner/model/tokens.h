/*
 * tokens: the access token of a login, which the keeper gets from the server when one is wanted
 * (runner/server/renewal.h). Many connections ask; one question is under way at a time.
 *
 * Invariant: a token is used until a margin before its end, which is the server's to renew in, and
 * never once it was refused. Any thread may call; tokens_answer is for the one that reads what the
 * keeper says.
 */
#ifndef MODEL_TOKENS_H
#define MODEL_TOKENS_H

#include <jansson.h>
#include <pthread.h>
#include <stdint.h>
#include "runner/base/err.h"

struct token {
    char *text;
    char *account; /* NULL: none */
};
void token_release(struct token *t); /* wipes */
#define AUTO_TOKEN __attribute__((cleanup(token_release)))

struct tokens {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    size_t model; /* its number, in messages */
    int fd;       /* to the keeper, borrowed */
    struct token now;
    int64_t expires_ms; /* 0: not said */
    int64_t margin_ms;
    bool is_bad; /* the one of now was refused */
    bool is_asked;
    uint64_t n_answers;
    struct err failure; /* the last answer was none; ERR_REFUSED: only the person can help */
};

void tokens_init(struct tokens *t, size_t model, int fd);
/* One that is good, copied. refused: one that the provider did not take, NULL: none. Blocks, for
 * two minutes at most. ERR_REFUSED: the person has to log in again; any other error may be over in
 * a while. */
bool tokens_get(struct token *ret, struct tokens *t, const char *refused,
                struct err *err) WARN_UNUSED;
/* The provider did not take this one, and whoever asked with it was told: the next who comes gets
 * another. */
void tokens_drop(struct tokens *t, const char *refused);
/* {"token", "expires_ms", "account"} or {"failed", "again"}. */
void tokens_answer(struct tokens *t, const json_t *answer);

#endif
