#include "runner/base/trace_lines.h"

#include <inttypes.h>
#include <string.h>

#include "runner/base/broker_line.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

enum { OID_SHORT = 10, DETAIL_COLUMNS = 300, TREE_BYTES_MAX = 512 };

/* A line under way. */
struct parts {
    struct buf subject, outcome, detail;
    enum trace_mood mood;
};

static void add_clean(struct buf *out, const char *text)
{
    text_sanitise(out, text, strlen(text), 0);
}

static void add_number(struct buf *out, int64_t n, const char *one, const char *many)
{
    buf_addf(out, "%s%" PRId64 " %s", out->len ? ", " : "", n, n == 1 ? one : many);
}

/* "ada" of "ada (shell, pid 4711)" */
static void add_who(struct buf *out, const char *by)
{
    const char *detail = strstr(by, " (");
    buf_adds(out, " by ");
    text_sanitise(out, by, detail ? (size_t)(detail - by) : strlen(by), 0);
}

/* ---- calls ---- */

/* The wire says "consumed" of an approval that was used. */
static void add_decision(struct parts *p, const json_t *call)
{
    const char *state = jx_str(call, "state", "?"), *by = jx_str(call, "decided_by", "");
    const char *why = jx_str(call, "why", "");
    bool is_good = strcmp(state, "approved") == 0 || strcmp(state, "consumed") == 0;
    bool is_open = strcmp(state, "pending") == 0;
    p->mood = is_open ? TRACE_WAITS : is_good ? TRACE_GOOD : TRACE_BAD;
    add_clean(&p->outcome, is_open ? "asks" : is_good ? "approved" : state);
    if (*by && strcmp(by, "policy") != 0) {
        add_who(&p->outcome, by);
    } else if (*why) {
        buf_adds(&p->outcome, " (");
        add_clean(&p->outcome, why);
        buf_addch(&p->outcome, ')');
    }
}

static void add_words(struct buf *out, const json_t *argv)
{
    size_t i;
    const json_t *word;
    json_array_foreach(argv, i, word)
    {
        if (i)
            buf_addch(out, ' ');
        if (json_is_string(word))
            buf_add(out, json_string_value(word), json_string_length(word));
    }
}

/* What a call would do: the words of an exec, else the member that says most, else all of it. */
static void add_arguments(struct buf *out, const json_t *call)
{
    static const char *const keys[] = {"command", "file_path", "path",   "url",
                                       "host",    "pattern",   "prompt", "description"};
    const json_t *args = jx_obj(call, "args");
    const char *text = "";
    for (size_t i = 0; i < ARRAY_LEN(keys) && !*text; i++)
        text = jx_str(args, keys[i], "");
    if (strcmp(jx_str(call, "source", ""), "exec") == 0)
        add_words(out, jx_arr(args, "argv"));
    else if (strcmp(jx_str(call, "source", ""), "broker") == 0)
        broker_line(out, args);
    else if (*text)
        text_add_relative(out, text, strlen(text), jx_str(call, "worktree", ""));
    else if (json_object_size(args) > 0)
        jx_dump(out, args);
}

static void add_reason(struct buf *out, const json_t *call)
{
    const char *reason = jx_str(call, "reason", "");
    if (!*reason || strcmp(jx_str(call, "why", ""), "ladder") == 0)
        return; /* that of the ladder tells nothing of this call */
    buf_adds(out, out->len ? " (" : "(");
    add_clean(out, reason);
    buf_addch(out, ')');
}

static void describe_call(struct parts *p, const json_t *node)
{
    const json_t *call = jx_obj(node, "call");
    AUTO_BUF struct buf what = BUF_INIT, clean = BUF_INIT;
    add_clean(&p->subject, jx_str(call, "id", "?"));
    add_decision(p, call);
    bool is_broker = strcmp(jx_str(call, "source", ""), "broker") == 0; /* its words say the tool */
    if (!is_broker)
        add_clean(&p->detail, jx_str(call, "tool", "?"));
    add_arguments(&what, call);
    if (what.len && !is_broker)
        buf_adds(&p->detail, ": ");
    text_sanitise(&clean, what.ptr, what.len, 0);
    text_add_brief(&p->detail, clean.ptr, DETAIL_COLUMNS);
    add_reason(&p->detail, call);
}

/* ---- the others ---- */

static void describe_attempt(struct parts *p, const json_t *node)
{
    const json_t *a = jx_obj(node, "attempt");
    const char *outcome = jx_str(a, "outcome", ""), *title = jx_str(a, "title", "");
    add_clean(&p->subject, jx_str(a, "id", "?"));
    add_clean(&p->outcome, *outcome ? outcome : jx_str(a, "state", ""));
    add_clean(&p->detail, jx_str(a, "agent", ""));
    buf_adds(&p->detail, ": ");
    add_clean(&p->detail, *title ? title : jx_str(a, "task", ""));
    p->mood = TRACE_HEAD;
}

static void describe_subagent(struct parts *p, const json_t *node)
{
    const json_t *sub = jx_obj(node, "subagent");
    add_clean(&p->subject, jx_str(sub, "type", "subagent"));
    add_clean(&p->detail, jx_str(sub, "id", ""));
    buf_addf(&p->detail, ", subagent of depth %" PRId64, jx_int(sub, "depth", 1));
    p->mood = TRACE_HEAD;
}

static void describe_program(struct parts *p, const json_t *node)
{
    int64_t n = jx_int(node, "n", 0);
    add_clean(&p->subject, jx_str(node, "path", "?"));
    if (n > 1)
        add_number(&p->detail, n, "time", "times");
}

static void describe_net(struct parts *p, const json_t *node)
{
    const json_t *call = jx_obj(node, "call");
    const char *host = jx_str(node, "host", "?"), *why = jx_str(node, "refused_why", "");
    int64_t made = jx_int(node, "connections", 0), denied = jx_int(node, "denied", 0);
    int64_t refused = jx_int(node, "refused", 0);
    bool is_v6 = strchr(host, ':') != NULL, is_rest = strcmp(host, "*") == 0;
    buf_adds(&p->subject, is_rest ? "further hosts" : is_v6 ? "[" : "");
    if (!is_rest) {
        add_clean(&p->subject, host);
        buf_addf(&p->subject, "%s:%" PRId64, is_v6 ? "]" : "", jx_int(node, "port", 0));
    }
    if (call)
        add_decision(p, call);
    if (made) {
        add_number(&p->detail, made, "connection", "connections");
        buf_adds(&p->detail, ", ");
        text_add_size(&p->detail, jx_int(node, "up", 0));
        buf_adds(&p->detail, " up, ");
        text_add_size(&p->detail, jx_int(node, "down", 0));
        buf_adds(&p->detail, " down");
    }
    if (denied)
        add_number(&p->detail, denied, "denied", "denied");
    if (refused)
        add_number(&p->detail, refused, "refused", "refused");
    if (*why) {
        buf_adds(&p->detail, ": ");
        add_clean(&p->detail, why);
    } else if (call) {
        add_reason(&p->detail, call);
    }
    if (refused)
        p->mood = TRACE_BAD;
}

static void describe_refs(struct parts *p, const json_t *node)
{
    static const char heads[] = "refs/heads/";
    const char *ref = jx_str(node, "ref", "?");
    AUTO_FREE char *oid = text_clean(jx_str(node, "to", "?"));
    add_clean(&p->subject, strncmp(ref, heads, strlen(heads)) == 0 ? ref + strlen(heads) : ref);
    buf_addf(&p->outcome, "moved to %.*s", OID_SHORT, oid);
    p->mood = TRACE_GOOD;
    if (*jx_str(node, "by", ""))
        add_who(&p->outcome, jx_str(node, "by", ""));
    if (!json_object_get(node, "commits"))
        return;
    add_number(&p->detail, jx_int(node, "commits", 0), "commit", "commits");
    add_number(&p->detail, jx_int(node, "files", 0), "file", "files");
}

static const struct describer {
    const char *kind;
    void (*describe)(struct parts *p, const json_t *node);
} describers[] = {
    {"attempt", describe_attempt}, {"subagent", describe_subagent}, {"call", describe_call},
    {"program", describe_program}, {"net", describe_net},           {"refs", describe_refs},
};

/* ---- the tree ---- */

struct walk {
    trace_line_fn fn;
    void *arg;
    struct buf tree;
};

static void tell(struct walk *w, const json_t *node)
{
    struct parts p = {.subject = BUF_INIT, .outcome = BUF_INIT, .detail = BUF_INIT};
    for (size_t i = 0; i < ARRAY_LEN(describers); i++)
        if (strcmp(describers[i].kind, jx_str(node, "kind", "")) == 0)
            describers[i].describe(&p, node);
    const struct trace_line line = {.at_ms = jx_int(node, "at_ms", 0),
                                    .tree = w->tree.ptr,
                                    .subject = p.subject.ptr,
                                    .outcome = p.outcome.ptr,
                                    .detail = p.detail.ptr,
                                    .mood = p.mood};
    w->fn(w->arg, &line);
    buf_release(&p.subject);
    buf_release(&p.outcome);
    buf_release(&p.detail);
}

static void walk_children(struct walk *w, const json_t *node)
{
    const json_t *children = jx_arr(node, "children");
    size_t n = json_array_size(children), outside = w->tree.len;
    if (outside > TREE_BYTES_MAX)
        return;
    for (size_t i = 0; i < n; i++) {
        const json_t *child = json_array_get(children, i);
        bool is_last = i + 1 == n;
        buf_adds(&w->tree, is_last ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ");
        tell(w, child);
        buf_truncate(&w->tree, outside);
        buf_adds(&w->tree, is_last ? "   " : "\xe2\x94\x82  ");
        walk_children(w, child);
        buf_truncate(&w->tree, outside);
    }
}

void trace_lines(const json_t *tree, trace_line_fn fn, void *arg)
{
    struct walk w = {.fn = fn, .arg = arg, .tree = BUF_INIT};
    tell(&w, tree);
    walk_children(&w, tree);
    buf_release(&w.tree);
}
