#include "runner/keep/http_head.h"

#include <string.h>
#include <strings.h>
#include "runner/base/mem.h"

enum { LENGTH_DIGITS_MAX = 18 };

bool http_text_is(struct http_text text, const char *word)
{
    return text.ptr && text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0;
}

bool http_text_is_nocase(struct http_text text, const char *word)
{
    return text.ptr && text.len == strlen(word) && strncasecmp(text.ptr, word, text.len) == 0;
}

static bool is_token(struct http_text text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_alnum && !memchr(others, c, sizeof(others) - 1))
            return false;
    }
    return text.len > 0;
}

static bool is_plain(struct http_text text, bool takes_space)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == 0x7f || c < 0x20 ? !(takes_space && c == '\t') : c == ' ' && !takes_space)
            return false;
    }
    return true;
}

static struct http_text trimmed(const char *ptr, size_t len)
{
    while (len > 0 && (*ptr == ' ' || *ptr == '\t'))
        ptr++, len--;
    while (len > 0 && (ptr[len - 1] == ' ' || ptr[len - 1] == '\t'))
        len--;
    return (struct http_text){ptr, len};
}

/* The next line of *at, without its CR LF. */
static enum http_result take_line(struct http_text *ret, const char **at, const char *end,
                                  struct err *err)
{
    size_t room = (size_t)(end - *at);
    const char *lf = memchr(*at, '\n', room);
    size_t len = lf ? (size_t)(lf - *at) : room;
    const char *cr = memchr(*at, '\r', len);
    if (cr && cr + 1 < *at + len)
        return err_set(err, ERR_FORMAT, "a line holds a bare carriage return"), HTTP_BAD;
    if (!lf)
        return HTTP_MORE;
    if (!cr)
        return err_set(err, ERR_FORMAT, "a line ends without a carriage return"), HTTP_BAD;
    *ret = (struct http_text){*at, len - 1};
    *at = lf + 1;
    return HTTP_DONE;
}

static bool take_length(struct http_head *h, struct http_text value, bool *has_length,
                        struct err *err)
{
    if (*has_length)
        return err_set(err, ERR_FORMAT, "Content-Length stands there twice");
    *has_length = true;
    h->length = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return err_set(err, ERR_FORMAT, "Content-Length is no number");
        h->length = h->length * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    if (value.len == 0 || value.len > LENGTH_DIGITS_MAX)
        return err_set(err, ERR_FORMAT, "Content-Length is no number");
    return true;
}

static bool take_framing(struct http_head *h, struct err *err)
{
    bool has_length = false, is_chunked = false;
    for (size_t i = 0; i < h->n_headers; i++) {
        struct http_text name = h->headers[i].name, value = h->headers[i].value;
        if (http_text_is_nocase(name, "Content-Length") && !take_length(h, value, &has_length, err))
            return false;
        if (http_text_is_nocase(name, "Transfer-Encoding")) {
            if (is_chunked || !http_text_is_nocase(value, "chunked") || h->minor == 0)
                return err_set(err, ERR_FORMAT, "Transfer-Encoding is not 'chunked' alone");
            is_chunked = true;
        }
        if (http_text_is_nocase(name, "Host")) {
            if (h->host.ptr)
                return err_set(err, ERR_FORMAT, "Host stands there twice");
            h->host = value;
        }
    }
    if (has_length && is_chunked)
        return err_set(err, ERR_FORMAT, "Content-Length and Transfer-Encoding exclude each other");
    h->framing = is_chunked ? HTTP_CHUNKED : has_length && h->length ? HTTP_LENGTH : HTTP_NO_BODY;
    return true;
}

static bool take_header(struct http_head *h, struct http_text line, struct err *err)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
        return err_set(err, ERR_FORMAT, "a header goes on in a second line");
    if (!colon || h->n_headers == HTTP_HEADERS_MAX)
        return err_set(err, ERR_FORMAT,
                       colon ? "there are too many headers" : "a line is no header");
    size_t name_len = (size_t)(colon - line.ptr);
    struct http_header header = {{line.ptr, name_len}, trimmed(colon + 1, line.len - name_len - 1)};
    if (!is_token(header.name) || !is_plain(header.value, true))
        return err_set(err, ERR_FORMAT, "a header holds bytes that none may hold");
    h->headers[h->n_headers++] = header;
    return true;
}

/* Whatever follows the first line, which *at is behind. */
static enum http_result take_headers(struct http_head *h, const char *bytes, const char **at,
                                     const char *end, struct err *err)
{
    for (;;) {
        struct http_text line;
        enum http_result result = take_line(&line, at, end, err);
        if (result != HTTP_DONE)
            return result;
        if (line.len == 0)
            break;
        if (!take_header(h, line, err))
            return HTTP_BAD;
    }
    h->len = (size_t)(*at - bytes);
    return take_framing(h, err) ? HTTP_DONE : HTTP_BAD;
}

static bool take_version(int *ret_minor, struct http_text text)
{
    *ret_minor = text.len == 8 ? text.ptr[7] - '0' : -1;
    return text.len == 8 && memcmp(text.ptr, "HTTP/1.", 7) == 0 &&
           (*ret_minor == 0 || *ret_minor == 1);
}

static bool take_request_line(struct http_head *h, struct err *err)
{
    const char *space = memchr(h->line.ptr, ' ', h->line.len);
    const char *last = memrchr(h->line.ptr, ' ', h->line.len);
    if (!space || space == last)
        return err_set(err, ERR_FORMAT, "the first line is no request");
    const char *end = h->line.ptr + h->line.len;
    h->method = (struct http_text){h->line.ptr, (size_t)(space - h->line.ptr)};
    h->target = (struct http_text){space + 1, (size_t)(last - space - 1)};
    const struct http_text version = {last + 1, (size_t)(end - last - 1)};
    if (!take_version(&h->minor, version))
        return err_set(err, ERR_FORMAT, "the request is not HTTP/1.0 or HTTP/1.1");
    if (!is_token(h->method) || h->target.len == 0 || !is_plain(h->target, false))
        return err_set(err, ERR_FORMAT, "the first line is no request");
    return true;
}

static bool take_status_line(struct http_head *h, struct err *err)
{
    const char *line = h->line.ptr;
    bool is_long = h->line.len >= 12 && line[8] == ' ' && (h->line.len == 12 || line[12] == ' ');
    const struct http_text version = {line, 8};
    if (!is_long || !take_version(&h->minor, version) || !is_plain(h->line, true))
        return err_set(err, ERR_FORMAT, "the first line is no answer of HTTP/1");
    for (size_t i = 9; i < 12; i++) {
        if (line[i] < '0' || line[i] > '9')
            return err_set(err, ERR_FORMAT, "the status is no number");
        h->status = h->status * 10 + (line[i] - '0');
    }
    return true;
}

static enum http_result take_head(struct http_head *ret, const char *bytes, size_t len,
                                  bool (*first)(struct http_head *, struct err *), struct err *err)
{
    const char *at = bytes, *end = bytes + (len < HTTP_HEAD_BYTES ? len : HTTP_HEAD_BYTES);
    *ret = (struct http_head){0};
    enum http_result result = take_line(&ret->line, &at, end, err);
    if (result == HTTP_DONE && !first(ret, err))
        result = HTTP_BAD;
    if (result == HTTP_DONE)
        result = take_headers(ret, bytes, &at, end, err);
    if (result == HTTP_MORE && len >= HTTP_HEAD_BYTES)
        return err_set(err, ERR_LIMIT, "the head is longer than %d bytes", HTTP_HEAD_BYTES),
               HTTP_BAD;
    return result;
}

enum http_result http_request(struct http_head *ret, const char *bytes, size_t len, struct err *err)
{
    return take_head(ret, bytes, len, take_request_line, err);
}

enum http_result http_response(struct http_head *ret, const char *bytes, size_t len,
                               struct err *err)
{
    return take_head(ret, bytes, len, take_status_line, err);
}

void http_add_end_to_end(struct buf *out, const struct http_head *head)
{
    static const char *const of_hop[] = {
        "Connection",     "Proxy-Connection",    "Keep-Alive",         "Upgrade", "TE",
        "HTTP2-Settings", "Proxy-Authorization", "Proxy-Authenticate", "Trailer",
    };
    for (size_t i = 0; i < head->n_headers; i++) {
        const struct http_header *h = &head->headers[i];
        bool is_of_hop = false;
        for (size_t k = 0; k < ARRAY_LEN(of_hop) && !is_of_hop; k++)
            is_of_hop = http_text_is_nocase(h->name, of_hop[k]);
        if (is_of_hop)
            continue;
        buf_add(out, h->name.ptr, h->name.len);
        buf_adds(out, ": ");
        buf_add(out, h->value.ptr, h->value.len);
        buf_adds(out, "\r\n");
    }
    buf_adds(out, "Connection: close\r\n\r\n");
}
