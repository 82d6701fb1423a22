/*
 * Whatever a client sends: a head that is taken ends with an empty line, holds no bare line end,
 * and means the same however its bytes were cut; a body takes no byte that is not there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/keep/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_head(const struct http_head *head, const char *bytes, size_t size)
{
    if (head->len > size || memcmp(bytes + head->len - 4, "\r\n\r\n", 4) != 0)
        abort();
    for (size_t i = 0; i < head->len; i++)
        if ((bytes[i] == '\n') != (i > 0 && bytes[i - 1] == '\r'))
            abort();
}

static void check_body(const struct http_head *head, const char *bytes, size_t size)
{
    struct http_body whole, cut;
    size_t n = 0, taken = 0;
    http_body_init(&whole, head);
    cut = whole;
    bool is_good = http_body_take(&whole, &n, bytes, size);
    for (size_t i = 0; i < size; i++) {
        size_t one = 0;
        if (!http_body_take(&cut, &one, bytes + i, 1)) {
            if (is_good)
                abort();
            return;
        }
        taken += one;
    }
    if (!is_good || taken != n || n > size || whole.is_done != cut.is_done)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct http_head head, again;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    if (http_response(&head, bytes, size, &err) == HTTP_DONE)
        check_head(&head, bytes, size);
    if (http_request(&head, bytes, size, &err) != HTTP_DONE)
        return 0;
    check_head(&head, bytes, size);
    if (http_request(&again, bytes, head.len, &err) != HTTP_DONE ||
        http_request(&again, bytes, head.len - 1, &err) != HTTP_MORE)
        abort();
    http_add_end_to_end(&out, &head);
    check_body(&head, bytes + head.len, size - head.len);
    return 0;
}
