/*
 * b64: terminal bytes inside JSON messages (RFC 4648, section 4). Pure.
 */
#ifndef BASE_B64_H
#define BASE_B64_H

#include "runner/base/buf.h"

/* Append the encoding with padding. */
void b64_encode(struct buf *out, const void *data, size_t len);
/* Append the decoded bytes; out is unchanged on failure. ERR_FORMAT for anything but whole, padded
 * groups. */
bool b64_decode(struct buf *out, const char *text, size_t len, struct err *err) WARN_UNUSED;

#endif
