/*
 * post: one request to an issuer of tokens, over TLS.
 */
#ifndef LOGIN_POST_H
#define LOGIN_POST_H

#include "runner/base/buf.h"

/* POST a JSON body to an https URL; the answer's status and body, which is bounded. ca:
 * certificates to trust instead of the system's, NULL: those. Redirects are not followed. Blocks
 * for at most limit_ms after the connection stands. */
bool post_json(int *ret_status, struct buf *answer, const char *url, const char *ca,
               const struct buf *body, int limit_ms, struct err *err) WARN_UNUSED;

/* The body of a whole HTTP/1.1 answer, appended. Pure. */
bool post_answer(int *ret_status, struct buf *out, const char *bytes, size_t len,
                 struct err *err) WARN_UNUSED;

#endif
