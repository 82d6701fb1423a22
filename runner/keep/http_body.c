#include <string.h>
#include "runner/keep/http_head.h"

/* SIZE [;extension] CR LF data CR LF ... 0 CR LF CR LF. Extensions are read by some programs and
 * not by others, so they are refused. */
enum {
    PART_SIZE,
    PART_SIZE_LF,
    PART_DATA,
    PART_DATA_CR,
    PART_DATA_LF,
    PART_LAST_CR,
    PART_LAST_LF,
};
enum { SIZE_DIGITS_MAX = 15 };

void http_body_init(struct http_body *b, const struct http_head *head)
{
    *b = (struct http_body){.framing = head->framing, .left = head->length};
    if (head->framing == HTTP_CHUNKED)
        b->left = 0;
    b->is_done = head->framing == HTTP_NO_BODY;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool take_size(struct http_body *b, char c)
{
    int value = hex_value(c);
    if (c == '\r') {
        b->part = PART_SIZE_LF;
        return b->digits > 0;
    }
    b->left = b->left * 16 + (uint64_t)(value < 0 ? 0 : value);
    return value >= 0 && ++b->digits <= SIZE_DIGITS_MAX;
}

/* One byte of the syntax between the data. */
static bool take_syntax(struct http_body *b, char c)
{
    switch (b->part) {
    case PART_SIZE:
        return take_size(b, c);
    case PART_SIZE_LF:
        b->part = b->left ? PART_DATA : PART_LAST_CR;
        return c == '\n';
    case PART_DATA_CR:
        b->part = PART_DATA_LF;
        return c == '\r';
    case PART_DATA_LF:
        b->part = PART_SIZE;
        b->digits = 0;
        return c == '\n';
    case PART_LAST_CR:
        b->part = PART_LAST_LF;
        return c == '\r';
    default:
        b->is_done = true;
        return c == '\n';
    }
}

static size_t take_data(struct http_body *b, size_t len)
{
    size_t n = b->left < len ? (size_t)b->left : len;
    b->left -= n;
    return n;
}

bool http_body_take(struct http_body *b, size_t *ret, const char *bytes, size_t len)
{
    size_t at = 0;
    if (b->framing == HTTP_LENGTH) {
        at = take_data(b, len);
        b->is_done = b->left == 0;
    }
    while (b->framing == HTTP_CHUNKED && at < len && !b->is_done) {
        if (b->part == PART_DATA) {
            at += take_data(b, len - at);
            b->part = b->left ? PART_DATA : PART_DATA_CR;
        } else if (!take_syntax(b, bytes[at++])) {
            return false;
        }
    }
    *ret = at;
    return true;
}
