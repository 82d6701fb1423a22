#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/log_file.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_gate.h"

enum {
    LOG_ROWS = 50,
    LOG_ROWS_MAX = 5000,
    EXPORT_ROWS = 1000,
    EXPORT_BYTES = 1024 * 1024 * 1024,
};

struct log_options {
    bool json;
    int64_t after, limit, since_ms, until_ms;
    const char *agent, *tool, *state, *text, *export;
};

static json_t *log_request(const struct log_options *o, const struct cmd_args *args)
{
    json_t *request = json_object();
    const struct {
        const char *key, *value;
    } members[] = {{"agent", o->agent},
                   {"tool", o->tool},
                   {"state", o->state},
                   {"text", o->text},
                   {"attempt", args->operands.n ? args->operands.v[0] : NULL}};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (members[i].value)
            jx_set_str(request, members[i].key, members[i].value);
    if (o->since_ms > 0)
        jx_set_int(request, "since_ms", clock_unix_ms() - o->since_ms);
    if (o->until_ms > 0)
        jx_set_int(request, "until_ms", clock_unix_ms() - o->until_ms);
    jx_set_int(request, "after", o->after > 0 ? o->after : 0);
    jx_set_bool(request, "newest", o->after < 0);
    jx_set_int(request, "limit", o->limit);
    return request;
}

static void add_line(struct buf *out, json_t *line)
{
    AUTO_JSON json_t *owned = line;
    jx_dump(out, owned);
    buf_addch(out, '\n');
}

/* Append what was asked in each call, page by page: what the digests of the rows are of. */
static bool export_calls(struct buf *out, struct client *c, int64_t run, struct err *err)
{
    for (int64_t after = 0;;) {
        AUTO_JSON json_t *result = NULL;
        json_t *request = json_object();
        jx_set_int(request, "run", run);
        jx_set_int(request, "after", after);
        if (!client_call(&result, c, "gate.export_calls", request, err))
            return false;
        const json_t *calls = jx_arr(result, "calls");
        size_t i;
        json_t *call;
        json_array_foreach(calls, i, call)
        {
            add_line(out, json_incref(call));
        }
        if (json_array_size(calls) == 0)
            return true;
        after = jx_int(result, "last", INT64_MAX);
    }
}

/* Rows of other runs have no kind; those of rules are of all. */
static size_t count_own(const json_t *rows)
{
    size_t i, n = 0;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *kind = jx_str(row, "kind", NULL);
        n += kind && strncmp(kind, "rule.", 5) != 0;
    }
    return n;
}

/* Append all rows, page by page, the calls and the end. */
static bool export_rows(struct buf *out, int64_t run, struct err *err)
{
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_FREE char *tail = xstrdup("");
    int64_t after = 0;
    size_t n = LOG_ROWS_MAX, n_own = 0;
    if (!client_open(&c, err))
        return false;
    add_line(out, json_pack("{s:s, s:i, s:I}", "log", "headgate", "v", 2, "run", (json_int_t)run));
    while (n > 0) {
        AUTO_JSON json_t *result = NULL;
        json_t *request = json_object();
        jx_set_int(request, "run", run);
        jx_set_int(request, "after", after);
        jx_set_int(request, "limit", EXPORT_ROWS);
        if (!client_call(&result, &c, "gate.export", request, err))
            return false;
        const json_t *rows = jx_arr(result, "rows");
        n = json_array_size(rows);
        n_own += count_own(rows);
        for (size_t i = 0; i < n; i++)
            add_line(out, json_incref(json_array_get(rows, i)));
        if (n == 0)
            break;
        const json_t *last = json_array_get(rows, n - 1);
        after = jx_int(last, "seq", 0);
        free(tail);
        tail = xstrdup(jx_str(last, "hash", ""));
    }
    if (run > 0 && n_own == 0)
        return err_set(err, ERR_NOT_FOUND, "the log has nothing of run %" PRId64, run);
    if (!export_calls(out, &c, run, err))
        return false;
    add_line(out, json_pack("{s:b, s:I, s:s}", "end", 1, "rows", (json_int_t)after, "tail", tail));
    return true;
}

static bool export_log(const char *path, const struct cmd_args *args, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    const char *word = args->operands.n ? args->operands.v[0] : "0";
    char *end;
    long long run = strtoll(word, &end, 10);
    if (*word < '0' || *word > '9' || *end)
        return err_set(err, ERR_USAGE, "the log of a whole run is exported, such as 3, not '%s'",
                       word);
    if (!export_rows(&out, run, err))
        return false;
    return strcmp(path, "-") == 0 ? out_buf(&out, err)
                                  : fs_write_atomic(AT_FDCWD, path, out.ptr, out.len, 0600, err);
}

static bool print_log(char **argv, struct err *err)
{
    struct log_options o = {.after = -1, .limit = LOG_ROWS};
    const struct opt table[] = {
        {0, "after", OPT_INT, &o.after, "SEQ", "rows behind this one (the newest)", 0, INT64_MAX},
        {'n', "limit", OPT_INT, &o.limit, "N", "at most N rows (50)", 1, LOG_ROWS_MAX},
        {0, "agent", OPT_STRING, &o.agent, "NAME", "calls of this kind of agent", 0, 0},
        {0, "tool", OPT_STRING, &o.tool, "NAME", "calls of this tool", 0, 0},
        {0, "state", OPT_STRING, &o.state, "S",
         "pending, approved, denied, expired, orphaned or consumed", 0, 0},
        {0, "since", OPT_DURATION, &o.since_ms, "TIME", "no older than, like 2h", 0, 0},
        {0, "until", OPT_DURATION, &o.until_ms, "TIME", "no younger than, like 10m", 0, 0},
        {0, "text", OPT_STRING, &o.text, "TEXT",
         "rows that hold this text, in their call's arguments too", 0, 0},
        {0, "export", OPT_STRING, &o.export, "FILE|-",
         "write all rows (of a run: those of others as hashes alone) as a file that verifies", 0,
         0},
        {0, "json", OPT_FLAG, &o.json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 1, err))
        return false;
    if (o.export)
        return export_log(o.export, &args, err);
    if (!client_ask(&result, "gate.log", log_request(&o, &args), err))
        return false;
    if (o.json)
        return out_json(result, err);
    out_print(&p);
    print_gate_log(&text, &p, jx_arr(result, "rows"));
    return out_buf(&text, err);
}

int cmd_gate_log(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(print_log(argv, &err), &err);
}

static bool stats(char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err) ||
        !client_ask(&result, "gate.stats", NULL, err))
        return false;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_gate_stats(&text, &p, result);
    return out_buf(&text, err);
}

int cmd_gate_stats(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(stats(argv, &err), &err);
}

/* The file alone, no server: it may come from another machine. */
static bool verify_file(json_t **ret, const char *path, struct err *err)
{
    __attribute__((cleanup(log_check_release))) struct log_check check;
    AUTO_BUF struct buf bytes = BUF_INIT;
    log_check_init(&check);
    if (!fs_read_file(&bytes, AT_FDCWD, path, EXPORT_BYTES, err)) {
        err->code = ERR_USAGE;
        return err_prefix(err, "cannot read the exported log");
    }
    bool ok = log_check_text(&check, bytes.ptr, bytes.len);
    json_t *result = json_object();
    jx_set_bool(result, "ok", ok);
    jx_set_int(result, "rows", check.rows);
    jx_set_int(result, "calls", check.calls);
    if (check.dropped > 0)
        jx_set(result, "dropped", json_pack("{s:I}", "calls", (json_int_t)check.dropped));
    jx_set_str(result, "tail", check.tail);
    if (!ok)
        jx_set(result, "bad",
               json_pack("{s:I, s:I, s:s}", "seq", (json_int_t)check.rows + 1, "line",
                         (json_int_t)check.bad_line, "why", check.why.ptr));
    *ret = result;
    return true;
}

static bool verify(int *ret_status, char **argv, struct err *err)
{
    bool json = false;
    const char *file = NULL;
    const struct opt table[] = {
        {0, "file", OPT_STRING, &file, "FILE", "the same as FILE", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 1, err))
        return false;
    if (args.operands.n && file)
        return cmd_usage(argv[0], "one file at a time", err);
    if (args.operands.n)
        file = args.operands.v[0];
    if (!(file ? verify_file(&result, file, err) : client_ask(&result, "gate.verify", NULL, err)))
        return false;
    *ret_status = jx_bool(result, "ok", false) ? 0 : 1;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_gate_verify(&text, &p, result);
    return out_buf(&text, err);
}

int cmd_gate_verify(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    bool ok = verify(&status, argv, &err);
    return ok ? status : cmd_exit(false, &err);
}
