#include "runner/model/upstream.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"

static const char account_header[] = "chatgpt-account-id";

void upstream_release(struct upstream *u)
{
    for (size_t i = 0; i < u->n_keys; i++) {
        free_secret(&u->keys[i].secret);
        free(u->keys[i].placeholder);
        free(u->keys[i].header);
        free(u->keys[i].prefix);
    }
    for (size_t i = 0; i < u->n_paths; i++)
        free(u->paths[i]);
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

/* "authorization: Bearer", or a name alone. */
static struct upstream_key form_of(const char *header)
{
    size_t len = strcspn(header, ":");
    const char *word = header[len] ? header + len + 1 : "";
    word += strspn(word, " ");
    return (struct upstream_key){.header = xstrndup(header, len),
                                 .prefix = xasprintf("%s%s", word, word[0] ? " " : "")};
}

static bool load_keys(struct upstream *u, const json_t *keys, const json_t *secrets,
                      struct err *err)
{
    size_t i;
    const json_t *key;
    json_array_foreach(keys, i, key)
    {
        const char *placeholder = jx_str(key, "placeholder", ""),
                   *header = jx_str(key, "header", ""),
                   *secret =
                       jx_str(u->has_login ? NULL : secrets, placeholder, u->has_login ? NULL : "");
        if (u->n_keys == UPSTREAM_KEYS_MAX)
            return err_set(err, ERR_LIMIT, "more than %d keys for one model", UPSTREAM_KEYS_MAX);
        if ((secret && !is_header_text(secret)) || !is_header_text(placeholder))
            return err_set(err, ERR_FORMAT,
                           "the key behind %.40s is empty or holds characters that no header can",
                           placeholder);
        if (!is_header_text(header) || header[0] == ':')
            return err_set(err, ERR_FORMAT, "the key behind %.40s has no header to travel in",
                           placeholder);
        struct upstream_key *k = &u->keys[u->n_keys++];
        *k = form_of(header);
        k->placeholder = xstrdup(placeholder);
        k->secret = secret ? xstrdup(secret) : NULL;
    }
    return true;
}

static void load_paths(struct upstream *u, const json_t *paths)
{
    size_t i;
    const json_t *path;
    json_array_foreach(paths, i, path)
    {
        if (json_is_string(path) && u->n_paths < UPSTREAM_PATHS_MAX)
            u->paths[u->n_paths++] = xstrdup(json_string_value(path));
    }
}

bool upstream_load(struct upstream *ret, const json_t *config, const json_t *secrets,
                   struct err *err)
{
    const char *host = jx_str(config, "host", ""), *ca = jx_str(config, "ca", NULL);
    int64_t port = jx_int(config, "port", 0);
    if (!is_header_text(host) || port < 1 || port > UINT16_MAX)
        return err_set(err, ERR_FORMAT, "the model relay was given no host and port");
    struct upstream u = {.host = xstrdup(host),
                         .port = (uint16_t)port,
                         .ca_file = ca ? xstrdup(ca) : NULL,
                         .has_login = jx_str(config, "login", NULL) != NULL};
    load_paths(&u, jx_arr(config, "paths"));
    if (!load_keys(&u, jx_arr(config, "keys"), secrets, err)) {
        upstream_release(&u);
        return false;
    }
    *ret = u;
    return true;
}

/* The key whose placeholder is all that this header holds; NULL: none. */
static const struct upstream_key *key_in(const struct upstream *u, const struct http_header *h)
{
    for (size_t i = 0; i < u->n_keys; i++) {
        const struct upstream_key *k = &u->keys[i];
        size_t len = strlen(k->prefix);
        if (http_text_is_nocase(h->name, k->header) && h->value.len >= len &&
            strncasecmp(h->value.ptr, k->prefix, len) == 0 &&
            http_text_is((struct http_text){h->value.ptr + len, h->value.len - len},
                         k->placeholder))
            return k;
    }
    return NULL;
}

/* A method that is not of these may have the server give a request back, key and all (TRACE, which
 * some answer unless they are told not to). */
static bool is_usual(struct http_text method)
{
    static const char *const usual[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (http_text_is(method, usual[i]))
            return true;
    return false;
}

static bool is_own_target(const struct http_head *head)
{
    return head->target.len > 0 && head->target.ptr[0] == '/';
}

static bool is_below(struct http_text target, const char *path)
{
    size_t len = strlen(path);
    return target.len >= len && memcmp(target.ptr, path, len) == 0 &&
           (target.len == len || target.ptr[len] == '/' || target.ptr[len] == '?');
}

/* Written in one way only, since a server may take another one for the same. */
static bool may_be_asked(const struct upstream *u, struct http_text target)
{
    const char *query = memchr(target.ptr, '?', target.len);
    size_t len = query ? (size_t)(query - target.ptr) : target.len;
    if (u->n_paths == 0)
        return true;
    if (memmem(target.ptr, len, "..", 2) || memmem(target.ptr, len, "//", 2) ||
        memchr(target.ptr, '%', len) || memchr(target.ptr, '\\', len) ||
        memchr(target.ptr, ';', len))
        return false;
    for (size_t i = 0; i < u->n_paths; i++)
        if (is_below(target, u->paths[i]))
            return true;
    return false;
}

/* What the login says of itself in headers, the agent does not; and answers must be such that a
 * refusal is seen in them: the first of all, and in plain text. */
static bool is_of_login(const struct token *token, struct http_text name)
{
    return token &&
           ((token->account && http_text_is_nocase(name, account_header)) ||
            http_text_is_nocase(name, "expect") || http_text_is_nocase(name, "accept-encoding"));
}

bool upstream_head(struct buf *out, const struct upstream *u, const struct token *token,
                   const struct http_head *head, struct err *err)
{
    struct http_head kept = *head;
    if (!is_usual(head->method))
        return err_set(err, ERR_REFUSED,
                       "no request of the kind %.*s is sent to %s: it has no use for a model, and "
                       "could have the person's key sent back",
                       (int)(head->method.len < 40 ? head->method.len : 40), head->method.ptr,
                       u->host);
    if (head->minor != 1 || !is_own_target(head))
        return err_set(err, ERR_REFUSED,
                       "this port leads to %s alone; ask it for a path, with HTTP/1.1", u->host);
    if (!may_be_asked(u, head->target))
        return err_set(
            err, ERR_REFUSED,
            "the person's login is for the model of %s alone; this is another part of it", u->host);
    kept.n_headers = 0;
    buf_add(out, head->line.ptr, head->line.len);
    buf_addf(out, "\r\nHost: %s", u->host);
    if (u->port != 443)
        buf_addf(out, ":%u", u->port);
    buf_adds(out, "\r\n");
    for (size_t i = 0; i < head->n_headers; i++) {
        const struct http_header *h = &head->headers[i];
        if (http_text_is_nocase(h->name, "host") || is_of_login(token, h->name))
            continue;
        const struct upstream_key *key = key_in(u, h);
        if (key)
            buf_addf(out, "%s: %s%s\r\n", key->header, key->prefix,
                     key->secret ? key->secret : token->text);
        else
            kept.headers[kept.n_headers++] = *h;
    }
    if (token && token->account)
        buf_addf(out, "%s: %s\r\n", account_header, token->account);
    http_add_end_to_end(out, &kept);
    return true;
}
