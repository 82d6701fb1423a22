#include "runner/keep/exec_who.h"

#include <string.h>
#include "runner/base/mem.h"

/* The nearest; a box can make lines of any length. */
enum { WHO_PARENTS = 16, WHO_BYTES = 2048 };

/* Text of a request, which is never encoded again. */
static void add_text(json_t *object, const char *key, const char *text)
{
    if (text && text[0])
        jx_set(object, key, json_string(text));
}

static void add_call(json_t *who, const struct exec_call *call)
{
    if (!call)
        return;
    add_text(who, "call_id", call->who.call_id);
    add_text(who, "session", call->who.session);
    if (call->who.sub_depth == 0)
        return;
    json_t *subagent = json_object();
    add_text(subagent, "id", call->who.sub_id);
    add_text(subagent, "type", call->who.sub_type);
    jx_set_int(subagent, "depth", call->who.sub_depth);
    jx_set(who, "subagent", subagent);
}

json_t *exec_who(const struct exec_gate *g, pid_t init_pid, pid_t pid)
{
    json_t *who = json_object(), *list = json_array();
    AUTO_STRV struct strv parents = STRV_INIT;
    struct exec_family family = g->family; /* only read */
    struct exec_origin origin;
    family.init_pid = init_pid;
    exec_origin_parents(&parents, &family, pid);
    for (size_t i = 0, bytes = 0; i < parents.n; i++) {
        bytes += strlen(parents.v[i]);
        if (i == WHO_PARENTS || bytes > WHO_BYTES)
            break;
        json_array_append_new(list, jx_bytes(parents.v[i], strlen(parents.v[i])));
    }
    jx_set(who, "parents", list);
    if (family.agent_pid == 0)
        return who;
    exec_origin_of(&origin, &family, pid);
    add_call(who, exec_calls_find(&g->calls, origin.call));
    return who;
}
