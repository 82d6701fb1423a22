#include "runner/model/upstream.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"

/* Headers in which a key travels. A placeholder anywhere else stays what it is. */
static const char *const key_headers[] = {"authorization", "x-api-key", "api-key",
                                          "x-goog-api-key"};

static void wipe(char **secret)
{
    if (*secret)
        explicit_bzero(*secret, strlen(*secret));
    auto_free_(secret);
    *secret = NULL;
}

void upstream_release(struct upstream *u)
{
    for (size_t i = 0; i < u->n_keys; i++) {
        wipe(&u->keys[i].secret);
        free(u->keys[i].placeholder);
    }
    free(u->host);
    free(u->ca_file);
    *u = (struct upstream){0};
}

static bool is_header_text(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return len > 0 && len <= UPSTREAM_KEY_BYTES;
}

static bool load_keys(struct upstream *u, const json_t *keys, struct err *err)
{
    const char *placeholder;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)keys, placeholder, value)
    {
        const char *secret = json_string_value(value);
        if (u->n_keys == UPSTREAM_KEYS_MAX)
            return err_set(err, ERR_LIMIT, "more than %d keys for one model", UPSTREAM_KEYS_MAX);
        if (!secret || !is_header_text(secret) || !is_header_text(placeholder))
            return err_set(err, ERR_FORMAT,
                           "the key behind %.40s is empty or holds characters that no header can",
                           placeholder);
        u->keys[u->n_keys++] =
            (struct upstream_key){.placeholder = xstrdup(placeholder), .secret = xstrdup(secret)};
    }
    return true;
}

bool upstream_load(struct upstream *ret, const json_t *config, struct err *err)
{
    const char *host = jx_str(config, "host", ""), *ca = jx_str(config, "ca", NULL);
    int64_t port = jx_int(config, "port", 0);
    if (!is_header_text(host) || port < 1 || port > UINT16_MAX)
        return err_set(err, ERR_FORMAT, "the model relay was given no host and port");
    struct upstream u = {
        .host = xstrdup(host), .port = (uint16_t)port, .ca_file = ca ? xstrdup(ca) : NULL};
    if (!load_keys(&u, jx_obj(config, "keys"), err)) {
        upstream_release(&u);
        return false;
    }
    *ret = u;
    return true;
}

static bool carries_key(struct http_text name)
{
    for (size_t i = 0; i < ARRAY_LEN(key_headers); i++)
        if (http_text_is_nocase(name, key_headers[i]))
            return true;
    return false;
}

static void add_exchanged(struct buf *out, const struct upstream *u, struct http_text value)
{
    for (size_t i = 0; i < u->n_keys; i++) {
        const char *placeholder = u->keys[i].placeholder;
        size_t len = strlen(placeholder);
        const char *at = memmem(value.ptr, value.len, placeholder, len);
        if (!at)
            continue;
        buf_add(out, value.ptr, (size_t)(at - value.ptr));
        buf_adds(out, u->keys[i].secret);
        buf_add(out, at + len, value.len - (size_t)(at - value.ptr) - len);
        return;
    }
    buf_add(out, value.ptr, value.len);
}

static bool is_own_target(const struct http_head *head)
{
    return head->target.len > 0 && head->target.ptr[0] == '/' &&
           !http_text_is(head->method, "CONNECT");
}

bool upstream_head(struct buf *out, const struct upstream *u, const struct http_head *head,
                   struct err *err)
{
    struct http_head kept = *head;
    if (head->minor != 1 || !is_own_target(head))
        return err_set(err, ERR_REFUSED,
                       "this port leads to %s alone; ask it for a path, with HTTP/1.1", u->host);
    kept.n_headers = 0;
    buf_add(out, head->line.ptr, head->line.len);
    buf_addf(out, "\r\nHost: %s", u->host);
    if (u->port != 443)
        buf_addf(out, ":%u", u->port);
    buf_adds(out, "\r\n");
    for (size_t i = 0; i < head->n_headers; i++) {
        const struct http_header *h = &head->headers[i];
        if (http_text_is_nocase(h->name, "host"))
            continue;
        if (!carries_key(h->name)) {
            kept.headers[kept.n_headers++] = *h;
            continue;
        }
        buf_add(out, h->name.ptr, h->name.len);
        buf_adds(out, ": ");
        add_exchanged(out, u, h->value);
        buf_adds(out, "\r\n");
    }
    http_add_end_to_end(out, &kept);
    return true;
}
