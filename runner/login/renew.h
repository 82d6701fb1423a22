/*
 * renew: an access token of a login that is good for a while, renewed where it is not.
 *
 * The file is read again under the program's lock, since somebody may have renewed meanwhile; then
 * it is taken. The refresh token is sent once: whoever comes with the token that was refused finds
 * another in the file. Nothing is written but a whole answer.
 */
#ifndef LOGIN_RENEW_H
#define LOGIN_RENEW_H

#include "runner/login/credentials.h"

struct login_want {
    const struct login_form *form;
    const char *file;
    const char *issuer;  /* URL; NULL: the form's */
    const char *ca;      /* NULL: the system's certificates */
    const char *refused; /* digest of an access token that the provider did not take; NULL: none */
    const char *spent;   /* digest of a refresh token that the issuer did not take: not sent again;
                            NULL: none */
    const char *fresh;   /* digest of an access token that was renewed so lately that another one
                            would help nobody; NULL: none */
    int64_t margin_ms;   /* a token that lives no longer is renewed */
};

struct login_token {
    struct credentials credentials;
    bool is_renewed;
    char spent[65]; /* digest of the refresh token, where the issuer said that it is of no use; else
                       "" */
    /* The token is good, but could not be renewed in time; ERR_NONE: it could, or had not to be. */
    struct err trouble;
};
#define LOGIN_TOKEN_INIT                                                  \
    {                                                                     \
        .credentials = CREDENTIALS_INIT, .spent = "", .trouble = ERR_INIT \
    }

/* False: there is no token that would be taken. ret->spent is set in both cases. Blocks, for a
 * minute and a half at most. */
bool login_renew(struct login_token *ret, const struct login_want *want,
                 struct err *err) WARN_UNUSED;
void login_token_release(struct login_token *t);

#endif
