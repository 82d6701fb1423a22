/*
 * http_head: heads of HTTP/1 messages, read strictly: what two programs could read in two ways is
 * refused (RFC 9112; request smuggling lives on such differences).
 *
 * Refused: a bare CR or LF, obs-fold, white space before a colon, control bytes, header names that
 * are no tokens, Transfer-Encoding other than `chunked` alone, Transfer-Encoding together with
 * Content-Length, several or odd Content-Lengths, several Hosts, more than HTTP_HEADERS_MAX
 * headers. A head borrows the bytes that it was parsed from. Pure.
 */
#ifndef KEEP_HTTP_HEAD_H
#define KEEP_HTTP_HEAD_H

#include <stdint.h>
#include "runner/base/buf.h"

enum { HTTP_HEAD_BYTES = 32 * 1024, HTTP_HEADERS_MAX = 128 };

struct http_text {
    const char *ptr; /* not terminated; NULL: absent */
    size_t len;
};

struct http_header {
    struct http_text name, value; /* value without white space around it */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_head {
    size_t len;                /* bytes of the head, the empty line included */
    int minor;                 /* HTTP/1.minor */
    struct http_text method;   /* of a request */
    struct http_text target;   /* of a request */
    int status;                /* of a response */
    struct http_text line;     /* the whole first line */
    struct http_text host;     /* the Host header; ptr NULL: none */
    enum http_framing framing; /* of the body as the headers tell it */
    uint64_t length;           /* HTTP_LENGTH */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t n_headers;
};

enum http_result { HTTP_MORE, HTTP_DONE, HTTP_BAD };
/* Parse the head at the start of bytes. HTTP_MORE: it is not whole yet. HTTP_BAD: err says why. */
enum http_result http_request(struct http_head *ret, const char *bytes, size_t len,
                              struct err *err);
enum http_result http_response(struct http_head *ret, const char *bytes, size_t len,
                               struct err *err);

bool http_text_is(struct http_text text, const char *word);        /* exact */
bool http_text_is_nocase(struct http_text text, const char *word); /* ASCII */
/* Append the headers that are not of this hop alone (Connection, Upgrade, Proxy-*, ...), then
 * `Connection: close` and the empty line: after this message comes no other. */
void http_add_end_to_end(struct buf *out, const struct http_head *head);

/* Where in a body a stream of bytes is. */
struct http_body {
    enum http_framing framing;
    uint64_t left; /* of the length, or of the chunk */
    int part;      /* of the chunk syntax */
    unsigned digits;
    bool is_done;
};
void http_body_init(struct http_body *b, const struct http_head *head);
/* How many of these bytes belong to the body; fewer than len only when the body ends there. False:
 * the chunks are malformed. Trailers are refused. */
bool http_body_take(struct http_body *b, size_t *ret, const char *bytes, size_t len) WARN_UNUSED;

#endif
