#include "runner/cmd/log_file.h"

#include <inttypes.h>
#include <string.h>

#include "gate/ledger.h"

void log_check_init(struct log_check *c)
{
    *c = (struct log_check){.why = BUF_INIT};
}

void log_check_release(struct log_check *c)
{
    buf_release(&c->why);
}

static bool bad(struct log_check *c, const char *why)
{
    buf_adds(&c->why, why);
    return false;
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
    }
    memcpy(c->tail, hash, DIGEST_HEX_SIZE);
    c->rows++;
    return true;
}

static bool check_line(struct log_check *c, const json_t *line, bool is_first)
{
    if (is_first)
        return strcmp(jx_str(line, "log", ""), "headgate") == 0 && jx_int(line, "v", 0) == 1
                   ? true
                   : bad(c, "this is no exported log");
    if (c->has_end)
        return bad(c, "there is something behind the end");
    if (!jx_bool(line, "end", false))
        return check_row(c, line);
    c->has_end = true;
    if (jx_int(line, "rows", -1) != c->rows || strcmp(jx_str(line, "tail", ""), c->tail) != 0)
        return bad(c, "rows are missing before the end");
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
