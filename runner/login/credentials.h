/*
 * credentials: the file in which an agent's own program keeps the login of a subscription, read and
 * rewritten as that program does it.
 *
 * Such a login is a pair: an access token that lives for hours, and a refresh token that is good
 * for one use: who renews gets a new pair, and an old refresh token that is used again makes the
 * provider end the login everywhere. So it is renewed by one process, under the program's own lock
 * (lock.h), and only the access token goes anywhere. Members that are not known here are kept.
 * Pure: JSON in, JSON out; no error shows a token.
 */
#ifndef LOGIN_CREDENTIALS_H
#define LOGIN_CREDENTIALS_H

#include <jansson.h>
#include <stdint.h>
#include "runner/base/buf.h"

enum { CREDENTIALS_BYTES = 256 * 1024, CREDENTIALS_TOKEN_BYTES = 16 * 1024 };

struct credentials {
    char *access;
    char *refresh;      /* NULL: it cannot be renewed */
    char *account;      /* told in a header of each request; NULL: none */
    char *client;       /* to whom the login was given */
    char *scope;        /* what it is good for, words with a space between; NULL: not said */
    int64_t expires_ms; /* of the access token; 0: not said */
};
#define CREDENTIALS_INIT \
    {                    \
        .access = NULL   \
    }
void credentials_release(struct credentials *c); /* wipes */
#define AUTO_CREDENTIALS __attribute__((cleanup(credentials_release)))

struct login_form {
    const char *agent;     /* name of the adapter */
    const char *title;     /* for people */
    const char *again;     /* what to type to log in anew */
    const char *issuer;    /* URL where it is renewed, unless the configuration names another */
    const char *home_env;  /* the folder that holds the file, where this variable is set... */
    const char *home;      /* ...else this one of the person's home */
    const char *file;      /* its name */
    size_t indent;         /* of the text that the program writes */
    bool has_folder_locks; /* lock.h: folders that are made and removed; else files with flock(2) */
    const char *const *spent; /* words of the issuer's for a refresh token that is of no use any
                                 more, NULL-terminated */
    bool (*read)(struct credentials *ret, const json_t *file, struct err *err);
    void (*ask)(json_t *body, const struct credentials *c); /* beyond grant, token and client */
    void (*rewrite)(json_t *file, const struct credentials *renewed, const json_t *answer,
                    int64_t now_ms);
};

/* NULL: logins of this agent are not known. */
const struct login_form *login_form(const char *agent);

/* Allocated: where the program keeps its login, by the environment of who asks; env_get as
 * getenv(3). */
char *login_default_file(const struct login_form *form, const char *home,
                         const char *(*env_get)(const void *arg, const char *name),
                         const void *arg);

/* Tokens that a header could not hold, and files without a login, are ERR_FORMAT with what to do.
 */
bool credentials_read(struct credentials *ret, const struct login_form *form, const json_t *file,
                      struct err *err) WARN_UNUSED;
/* The body of the request that renews it. */
void credentials_ask(struct buf *out, const struct login_form *form, const struct credentials *c);
/* Put what the issuer answered into file, and read it back. An answer that lacks something leaves
 * both untouched. */
bool credentials_renew(struct credentials *ret, json_t *file, const struct login_form *form,
                       const struct credentials *old, const json_t *answer, int64_t now_ms,
                       struct err *err) WARN_UNUSED;
/* Whether this answer of the issuer's (any JSON) says that the refresh token is of no use. */
bool credentials_is_spent(const struct login_form *form, int status, const json_t *answer);
/* As the program writes it. */
void credentials_dump(struct buf *out, const struct login_form *form, const json_t *file);

#endif
