/*
 * ops_trace: what an attempt did, as one tree (trace.h).
 */
#include <string.h>

#include "gate/ledger.h"
#include "runner/server/ops.h"
#include "runner/server/trace.h"
#include "runner/server/view.h"
#include "runner/store/attempt_row.h"

/* The newest so many; an answer has to fit into a line of the protocol. */
enum {
    TRACE_CALLS = 1000,
    TRACE_ROWS = 2000,
    TRACE_ARGS_BYTES = 1024, /* of one call */
    TRACE_TEXT_BYTES = 256,
    TRACE_MEMBERS = 4,
};

/* As much of a text as a line shows, cut between characters. */
static json_t *short_text(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (len > TRACE_TEXT_BYTES) {
        len = TRACE_TEXT_BYTES;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
    }
    return json_stringn(text, len);
}

/* A person looks for what was done; the exact arguments are one command away. */
static json_t *short_args(const json_t *args)
{
    const char *key;
    json_t *value, *cut = json_object();
    json_object_foreach((json_t *)args, key, value)
    {
        if (json_object_size(cut) == TRACE_MEMBERS)
            break;
        if (json_is_string(value))
            jx_set(cut, key, short_text(value));
        else if (strcmp(key, "parents") == 0)
            json_object_set(cut, key, value);
    }
    return cut;
}

static void cut_args(json_t *calls)
{
    size_t i;
    json_t *call;
    json_array_foreach(calls, i, call)
    {
        AUTO_BUF struct buf text = BUF_INIT;
        const json_t *args = json_object_get(call, "args");
        jx_dump(&text, args);
        if (text.len > TRACE_ARGS_BYTES)
            jx_set(call, "args", short_args(args));
    }
}

void op_attempt_trace(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    AUTO_JSON json_t *attempt = NULL, *calls = NULL, *rows = NULL;
    struct server *s = r->server;
    bool ok = view_resolve(&ids, s, r->body, ATTEMPTS_ALL, &err);
    if (ok && ids.n != 1)
        ok =
            err_set(&err, ERR_USAGE, "a trace is of one attempt, not of %zu; name it RUN.N", ids.n);
    if (!ok || !view_attempt(&attempt, s, ids.v[0], VIEW_SHORT, &err) ||
        !ledger_list(&calls, s->db, 0, ids.v[0], TRACE_CALLS, &err) ||
        !ledger_log_told(&rows, s->db, ids.v[0], TRACE_ROWS, &err)) {
        request_fail(r, &err);
        return;
    }
    bool is_cut = json_array_size(calls) == TRACE_CALLS || json_array_size(rows) == TRACE_ROWS;
    cut_args(calls);
    request_answer(
        r, json_pack("{s:o, s:b}", "trace", trace_tree(attempt, calls, rows), "cut", (int)is_cut));
}
