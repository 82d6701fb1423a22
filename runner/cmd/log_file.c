#include "runner/cmd/log_file.h"

#include <inttypes.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/base/mem.h"

void log_check_init(struct log_check *c)
{
    *c = (struct log_check){.digests = json_object(), .gone = json_object(), .why = BUF_INIT};
}

void log_check_release(struct log_check *c)
{
    json_decref(c->digests);
    json_decref(c->gone);
    buf_release(&c->why);
}

static bool bad(struct log_check *c, const char *why)
{
    buf_adds(&c->why, why);
    return false;
}

static char *gone_key(const char *attempt, int64_t at_ms)
{
    return xasprintf("%s %" PRId64, attempt, at_ms);
}

/* Keep the digest that the row names for its call, or how many lost their arguments. */
static void keep_told(struct log_check *c, const json_t *row, const char *text)
{
    AUTO_JSON json_t *body = NULL;
    struct err ignored = ERR_INIT;
    if (!jx_parse(&body, text, strlen(text), &ignored))
        return;
    if (strcmp(jx_str(row, "kind", ""), LEDGER_DROPPED) == 0) {
        AUTO_FREE char *key = gone_key(jx_str(body, "attempt", ""), jx_int(row, "at_ms", 0));
        jx_set_int(c->gone, key, jx_int(body, "calls", 0));
        return;
    }
    const char *call = jx_str(body, "call", NULL), *digest = jx_str(body, "digest", NULL);
    if (call && digest)
        jx_set_str(c->digests, call, digest);
}

static bool check_row(struct log_check *c, const json_t *row)
{
    const char *prev = jx_str(row, "prev", "?"), *hash = jx_str(row, "hash", "?");
    const char *body = jx_str(row, "body", NULL);
    char own[DIGEST_HEX_SIZE];
    int64_t seq = jx_int(row, "seq", 0);
    if (seq != c->rows + 1)
        return bad(c, "a row is missing or out of order");
    if (strcmp(prev, c->tail) != 0)
        return bad(c, "it does not follow the row before it");
    if (strlen(hash) != DIGEST_HEX_SIZE - 1)
        return bad(c, "it has no hash");
    if (body) {
        ledger_log_hash(own, prev, seq, jx_int(row, "at_ms", 0), jx_str(row, "kind", ""), body);
        if (strcmp(own, hash) != 0)
            return bad(c, "it was changed");
        keep_told(c, row, body);
    }
    memcpy(c->tail, hash, DIGEST_HEX_SIZE);
    c->rows++;
    return true;
}

/* No more than a row says; what is not told of is missing. */
static bool check_dropped(struct log_check *c, const json_t *line)
{
    AUTO_FREE char *key = gone_key(jx_str(line, "attempt", ""), jx_int(line, "dropped_ms", 0));
    int64_t left = jx_int(c->gone, key, 0);
    if (left <= 0)
        return bad(c, "no row says that the call's arguments are gone");
    jx_set_int(c->gone, key, left - 1);
    json_object_del(c->digests, jx_str(line, "call", ""));
    c->dropped++;
    return true;
}

/* A call's request must be what its rows have the digest of. */
static bool check_call(struct log_check *c, const json_t *line)
{
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    char own[DIGEST_HEX_SIZE];
    const char *name = jx_str(line, "call", "");
    const char *digest = jx_str(c->digests, name, NULL);
    if (!digest)
        return bad(c, "no row is of this call, or it comes twice");
    if (json_object_get(line, "dropped_ms"))
        return check_dropped(c, line);
    if (!call_request_from_json(&request, jx_obj(line, "request"), &err))
        return bad(c, "the call's request cannot be read");
    call_digest(own, jx_str(line, "attempt", ""), jx_int(line, "local", 0), &request);
    if (strcmp(own, digest) != 0)
        return bad(c, "the call's request is not the one that the log names");
    json_object_del(c->digests, name);
    c->calls++;
    return true;
}

static bool check_line(struct log_check *c, const json_t *line, bool is_first)
{
    if (is_first)
        return strcmp(jx_str(line, "log", ""), "headgate") == 0 && jx_int(line, "v", 0) == 2
                   ? true
                   : bad(c, "this is no exported log");
    if (c->has_end)
        return bad(c, "there is something behind the end");
    if (json_object_get(line, "call"))
        return check_call(c, line);
    if (!jx_bool(line, "end", false))
        return check_row(c, line);
    c->has_end = true;
    if (jx_int(line, "rows", -1) != c->rows || strcmp(jx_str(line, "tail", ""), c->tail) != 0)
        return bad(c, "rows are missing before the end");
    if (json_object_size(c->digests) > 0)
        return bad(c, "calls are missing before the end");
    return true;
}

bool log_check_text(struct log_check *c, const char *text, size_t len)
{
    const char *at = text, *end = text + len;
    for (int64_t number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((stop ? stop : end) - at);
        AUTO_JSON json_t *line = NULL;
        struct err err = ERR_INIT;
        bool ok = jx_parse(&line, at, size, &err) ? check_line(c, line, number == 1)
                                                  : bad(c, "it is no JSON");
        if (!ok) {
            c->bad_line = number;
            return false;
        }
        at += size + 1;
    }
    return c->has_end || bad(c, "its end is missing");
}
