#include "runner/base/digest.h"

#include <errno.h>
#include <sha256.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { DIGEST_CHUNK_BYTES = 64 * 1024 };

static void finish(char ret_hex[DIGEST_HEX_SIZE], SHA256_CTX *ctx)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SHA256_DIGEST_LENGTH];
    SHA256Final(bytes, ctx);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        ret_hex[2 * i] = digits[bytes[i] >> 4];
        ret_hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret_hex[2 * sizeof(bytes)] = '\0';
}

void digest_bytes(char ret_hex[DIGEST_HEX_SIZE], const void *data, size_t len)
{
    SHA256_CTX ctx;
    SHA256Init(&ctx);
    SHA256Update(&ctx, data, len);
    finish(ret_hex, &ctx);
}

void digest_parts(char ret_hex[DIGEST_HEX_SIZE], const struct digest_part *parts, size_t n)
{
    SHA256_CTX ctx;
    SHA256Init(&ctx);
    for (size_t i = 0; i < n; i++) {
        uint8_t length[8];
        for (size_t k = 0; k < sizeof(length); k++)
            length[k] = (uint8_t)((uint64_t)parts[i].len >> (56 - 8 * k));
        SHA256Update(&ctx, length, sizeof(length));
        SHA256Update(&ctx, parts[i].data, parts[i].len);
    }
    finish(ret_hex, &ctx);
}

bool digest_fd(char ret_hex[DIGEST_HEX_SIZE], int fd, int64_t max_bytes, struct err *err)
{
    SHA256_CTX ctx;
    uint8_t chunk[DIGEST_CHUNK_BYTES];
    SHA256Init(&ctx);
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "cannot read what is to be identified");
        if (n == 0)
            break;
        max_bytes -= n;
        if (max_bytes < 0)
            return err_set(err, ERR_LIMIT, "it is too large to be identified");
        SHA256Update(&ctx, chunk, (size_t)n);
    }
    finish(ret_hex, &ctx);
    return true;
}

bool digest_is_hex(const char *s)
{
    return strlen(s) == DIGEST_HEX_SIZE - 1 && strspn(s, "0123456789abcdef") == DIGEST_HEX_SIZE - 1;
}
