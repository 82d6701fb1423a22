#include "runner/base/digest.h"

#include <sha256.h>
#include <stdint.h>
#include <string.h>

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

bool digest_is_hex(const char *s)
{
    return strlen(s) == DIGEST_HEX_SIZE - 1 && strspn(s, "0123456789abcdef") == DIGEST_HEX_SIZE - 1;
}
