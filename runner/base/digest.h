/*
 * digest: SHA-256 (libmd) as lower-case hexadecimal.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include "runner/base/err.h"

#define DIGEST_HEX_SIZE 65 /* 64 digits and NUL */

void digest_bytes(char ret_hex[DIGEST_HEX_SIZE], const void *data, size_t len);
/* Over several parts: each part is preceded by its length (8 bytes, big endian), so that parts
 * cannot be shifted into each other. */
struct digest_part {
    const void *data;
    size_t len;
};
void digest_parts(char ret_hex[DIGEST_HEX_SIZE], const struct digest_part *parts, size_t n);
/* Of what a descriptor holds from its position on, at most max_bytes. ERR_LIMIT for more. Blocks.
 */
bool digest_fd(char ret_hex[DIGEST_HEX_SIZE], int fd, int64_t max_bytes,
               struct err *err) WARN_UNUSED;
bool digest_is_hex(const char *s);

#endif
