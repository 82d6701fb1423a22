#include "runner/server/trace.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

enum { PARENTS_MAX = 64 };

static json_t *add_node(json_t *parent, const char *kind, int64_t at_ms)
{
    json_t *node = json_object();
    jx_set_str(node, "kind", kind);
    jx_set_int(node, "at_ms", at_ms);
    jx_set(node, "children", json_array());
    if (parent)
        json_array_append_new(jx_arr(parent, "children"), node);
    return node;
}

static bool is_kind(const json_t *node, const char *kind)
{
    return strcmp(jx_str(node, "kind", ""), kind) == 0;
}

/* ---- programs ---- */

static json_t *program_below(json_t *parent, const char *path, int64_t at_ms)
{
    size_t i;
    json_t *child;
    json_array_foreach(jx_arr(parent, "children"), i, child)
    {
        if (is_kind(child, "program") && strcmp(jx_str(child, "path", ""), path) == 0)
            return child;
    }
    child = add_node(parent, "program", at_ms);
    jx_set_str(child, "path", path);
    return child;
}

/* The last of a line of programs below a node; the list begins with the last. */
static json_t *line_below(json_t *node, const json_t *parents, int64_t at_ms)
{
    size_t n = json_array_size(parents);
    for (size_t i = n < PARENTS_MAX ? n : PARENTS_MAX; i > 0; i--) {
        const char *path = json_string_value(json_array_get(parents, i - 1));
        bool is_same =
            path && is_kind(node, "program") && strcmp(jx_str(node, "path", ""), path) == 0;
        if (path && !is_same) /* a process that has forked runs the same */
            node = program_below(node, path, at_ms);
    }
    return node;
}

/* Any program of this path, whoever started it; NULL: none. */
static json_t *find_program(const json_t *node, const char *path)
{
    size_t i;
    json_t *child;
    json_array_foreach(jx_arr(node, "children"), i, child)
    {
        if (is_kind(child, "program") && strcmp(jx_str(child, "path", ""), path) == 0)
            return child;
        json_t *below = find_program(child, path);
        if (below)
            return below;
    }
    return NULL;
}

/* The node itself where it is that program: a shell that starts a shell is told once. */
static json_t *program_in(json_t *node, const char *path, int64_t at_ms)
{
    bool is_it = is_kind(node, "program") && strcmp(jx_str(node, "path", ""), path) == 0;
    return is_it ? node : program_below(node, path, at_ms);
}

/* ---- calls ---- */

static json_t *subagent_below(json_t *root, const json_t *subagent, int64_t at_ms)
{
    size_t i;
    json_t *child;
    const char *id = jx_str(subagent, "id", "");
    if (!subagent)
        return root;
    json_array_foreach(jx_arr(root, "children"), i, child)
    {
        if (is_kind(child, "subagent") &&
            strcmp(jx_str(jx_obj(child, "subagent"), "id", ""), id) == 0)
            return child;
    }
    child = add_node(root, "subagent", at_ms);
    jx_set(child, "subagent", json_deep_copy(subagent));
    return child;
}

/* The agent's call that another one carries out; NULL: none is known. */
static json_t *find_carried(const json_t *node, const json_t *who)
{
    size_t i;
    json_t *child;
    const char *call_id = jx_str(who, "call_id", ""), *session = jx_str(who, "session", "");
    if (!*call_id)
        return NULL;
    json_array_foreach(jx_arr(node, "children"), i, child)
    {
        const json_t *call = jx_obj(child, "call");
        if (is_kind(child, "call") && strcmp(jx_str(call, "source", ""), "exec") != 0 &&
            strcmp(jx_str(call, "call_id", ""), call_id) == 0 &&
            strcmp(jx_str(call, "session", ""), session) == 0)
            return child;
        json_t *below = is_kind(child, "subagent") ? find_carried(child, who) : NULL;
        if (below)
            return below;
    }
    return NULL;
}

/* Where the work of whoever is named stands: below the call, else its subagent, else the attempt.
 */
static json_t *place_of(json_t *root, const json_t *who, int64_t at_ms)
{
    json_t *call = find_carried(root, who);
    return call ? call : subagent_below(root, jx_obj(who, "subagent"), at_ms);
}

/* ---- connections ---- */

static bool is_target(const json_t *node, const char *host, int64_t port)
{
    return is_kind(node, "net") && jx_int(node, "port", 0) == port &&
           strcmp(jx_str(node, "host", ""), host) == 0;
}

/* The one of this host and port, anywhere. */
static json_t *find_net(const json_t *node, const char *host, int64_t port)
{
    size_t i;
    json_t *child;
    json_array_foreach(jx_arr(node, "children"), i, child)
    {
        json_t *found = is_target(child, host, port) ? child : find_net(child, host, port);
        if (found)
            return found;
    }
    return NULL;
}

static json_t *net_below(json_t *parent, const json_t *target, int64_t at_ms)
{
    size_t i;
    json_t *child;
    const char *host = jx_str(target, "host", "");
    int64_t port = jx_int(target, "port", 0);
    json_array_foreach(jx_arr(parent, "children"), i, child)
    {
        if (is_target(child, host, port))
            return child;
    }
    child = add_node(parent, "net", at_ms);
    jx_set_str(child, "host", host);
    jx_set_int(child, "port", port);
    jx_set_str(child, "via", jx_str(target, "via", ""));
    return child;
}

static void add_sums(json_t *node, const json_t *body)
{
    static const char *const sums[] = {"connections", "up", "down", "denied", "refused"};
    for (size_t i = 0; i < ARRAY_LEN(sums); i++)
        jx_set_int(node, sums[i], jx_int(node, sums[i], 0) + jx_int(body, sums[i], 0));
    const char *why = jx_str(body, "refused_why", NULL);
    if (why)
        jx_set_str(node, "refused_why", why);
}

static void take_net(json_t *root, const json_t *body, int64_t at_ms)
{
    json_t *parent = line_below(place_of(root, body, at_ms), jx_arr(body, "parents"), at_ms);
    add_sums(net_below(parent, body, at_ms), body);
}

/* ---- rows ---- */

/* {path, parents?, n?} */
static void take_program(json_t *root, const json_t *program, int64_t at_ms)
{
    const char *path = jx_str(program, "path", "");
    int64_t n = jx_int(program, "n", 0);
    json_t *node = n ? find_program(root, path) : NULL;
    if (!node)
        node = program_in(
            line_below(place_of(root, program, at_ms), jx_arr(program, "parents"), at_ms), path,
            at_ms);
    if (n)
        jx_set_int(node, "n", jx_int(node, "n", 0) + n);
}

static void take_execs(json_t *root, const json_t *body, int64_t at_ms)
{
    static const char *const lists[] = {"new", "programs"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        size_t k;
        json_t *program;
        json_array_foreach(jx_arr(body, lists[i]), k, program)
        {
            take_program(root, program, jx_int(program, "at_ms", at_ms));
        }
    }
}

/* One that is told twice stands there once. */
static void take_refs(json_t *root, const json_t *body, int64_t at_ms)
{
    static const char *const texts[] = {"ref", "from", "to", "by"};
    size_t i;
    json_t *child;
    json_array_foreach(jx_arr(root, "children"), i, child)
    {
        if (is_kind(child, "refs") &&
            strcmp(jx_str(child, "to", ""), jx_str(body, "to", "")) == 0 &&
            strcmp(jx_str(child, "ref", ""), jx_str(body, "ref", "")) == 0)
            return;
    }
    child = add_node(root, "refs", at_ms);
    for (i = 0; i < ARRAY_LEN(texts); i++)
        if (jx_str(body, texts[i], NULL))
            jx_set_str(child, texts[i], jx_str(body, texts[i], ""));
    if (!json_object_get(body, "commits"))
        return;
    jx_set_int(child, "commits", jx_int(body, "commits", 0));
    jx_set_int(child, "files", jx_int(body, "files", 0));
}

static void take_rows(json_t *root, const json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *kind = jx_str(row, "kind", "");
        const json_t *body = jx_obj(row, "body");
        int64_t at_ms = jx_int(row, "at_ms", 0);
        if (strcmp(kind, "net") == 0)
            take_net(root, body, at_ms);
        else if (strcmp(kind, "execs") == 0)
            take_execs(root, body, at_ms);
        else if (strcmp(kind, "refs") == 0)
            take_refs(root, body, at_ms);
    }
}

/* What was decided stands with the connections; further decisions of the same host below. */
static json_t *node_of_connect(json_t *root, const json_t *args, int64_t at_ms)
{
    json_t *node = find_net(root, jx_str(args, "host", ""), jx_int(args, "port", 0));
    if (!node)
        return net_below(root, args, at_ms);
    if (jx_obj(node, "call"))
        return add_node(node, "call", at_ms);
    if (at_ms < jx_int(node, "at_ms", 0))
        jx_set_int(node, "at_ms", at_ms);
    return node;
}

/* Those of hooks stand where their subagent is; the others need all of these, and all programs. */
static void take_call(json_t *root, const json_t *call)
{
    const json_t *args = jx_obj(call, "args");
    int64_t at_ms = jx_int(call, "asked_ms", 0);
    const char *source = jx_str(call, "source", "");
    json_t *node;
    if (strcmp(source, "net") == 0)
        node = node_of_connect(root, args, at_ms);
    else if (strcmp(source, "exec") == 0)
        node = add_node(line_below(place_of(root, call, at_ms), jx_arr(args, "parents"), at_ms),
                        "call", at_ms);
    else
        node = add_node(subagent_below(root, jx_obj(call, "subagent"), at_ms), "call", at_ms);
    jx_set(node, "call", json_deep_copy(call));
}

static void take_calls(json_t *root, const json_t *calls, bool of_hooks)
{
    size_t i;
    json_t *call;
    json_array_foreach(calls, i, call)
    {
        const char *source = jx_str(call, "source", "");
        bool is_effect = strcmp(source, "exec") == 0 || strcmp(source, "net") == 0;
        if (is_effect != of_hooks)
            take_call(root, call);
    }
}

/* ---- order ---- */

struct place {
    json_t *node;
    size_t index;
};

static int by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int64_t dx = jx_int(x->node, "at_ms", 0), dy = jx_int(y->node, "at_ms", 0);
    if (dx != dy)
        return dx < dy ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Whoever stands above began no later; where only what it did is known, that tells when. */
static void sort(json_t *node)
{
    json_t *children = jx_arr(node, "children"), *sorted = json_array();
    size_t n = json_array_size(children);
    AUTO_FREE struct place *places = xcalloc(n + 1, sizeof(*places));
    int64_t first_ms = jx_int(node, "at_ms", 0);
    for (size_t i = 0; i < n; i++) {
        places[i] = (struct place){json_array_get(children, i), i};
        sort(places[i].node);
        int64_t at_ms = jx_int(places[i].node, "at_ms", 0);
        if (at_ms < first_ms && !is_kind(node, "call"))
            first_ms = at_ms;
    }
    qsort(places, n, sizeof(*places), by_time);
    for (size_t i = 0; i < n; i++)
        json_array_append(sorted, places[i].node);
    jx_set_int(node, "at_ms", first_ms);
    jx_set(node, "children", sorted);
}

json_t *trace_tree(const json_t *attempt, const json_t *calls, const json_t *rows)
{
    json_t *root = add_node(NULL, "attempt", jx_int(attempt, "started_ms", INT64_MAX));
    jx_set(root, "attempt", json_deep_copy(attempt));
    take_calls(root, calls, true);
    take_rows(root, rows);
    take_calls(root, calls, false);
    sort(root);
    return root;
}

static int by_bytes(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int64_t dx = jx_int(x->node, "up", 0) + jx_int(x->node, "down", 0);
    int64_t dy = jx_int(y->node, "up", 0) + jx_int(y->node, "down", 0);
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

json_t *trace_hosts(const json_t *rows)
{
    AUTO_JSON json_t *root = add_node(NULL, "attempt", 0);
    json_t *hosts = json_array();
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const json_t *body = jx_obj(row, "body");
        if (strcmp(jx_str(row, "kind", ""), "net") == 0)
            add_sums(net_below(root, body, 0), body);
    }
    size_t n = json_array_size(jx_arr(root, "children"));
    AUTO_FREE struct place *places = xcalloc(n + 1, sizeof(*places));
    for (i = 0; i < n; i++)
        places[i] = (struct place){json_array_get(jx_arr(root, "children"), i), i};
    qsort(places, n, sizeof(*places), by_bytes);
    for (i = 0; i < n; i++) {
        json_object_del(places[i].node, "kind");
        json_object_del(places[i].node, "at_ms");
        json_object_del(places[i].node, "children");
        json_array_append(hosts, places[i].node);
    }
    return hosts;
}
