#include "gate/call.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"

static const char *const state_names[CALL_STATE_COUNT] = {
    [CALL_PENDING] = "pending", [CALL_APPROVED] = "approved", [CALL_DENIED] = "denied",
    [CALL_EXPIRED] = "expired", [CALL_ORPHANED] = "orphaned", [CALL_CONSUMED] = "consumed",
};

/* The next state plus one, so that an absent entry (0) means "not possible". */
static const unsigned char transitions[CALL_STATE_COUNT][CALL_EVENT_COUNT] = {
    [CALL_PENDING] =
        {
            [CALL_EV_APPROVE] = CALL_APPROVED + 1,
            [CALL_EV_DENY] = CALL_DENIED + 1,
            [CALL_EV_EXPIRE] = CALL_EXPIRED + 1,
            [CALL_EV_ORPHAN] = CALL_ORPHANED + 1,
        },
    [CALL_APPROVED] =
        {
            [CALL_EV_EXPIRE] = CALL_EXPIRED + 1,
            [CALL_EV_ORPHAN] = CALL_ORPHANED + 1,
            [CALL_EV_CONSUME] = CALL_CONSUMED + 1,
        },
};

const char *call_state_name(enum call_state state)
{
    return state_names[state];
}

bool call_state_parse(enum call_state *ret, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(state_names); i++)
        if (strcmp(name, state_names[i]) == 0) {
            *ret = (enum call_state)i;
            return true;
        }
    return false;
}

bool call_next(enum call_state *ret, enum call_state state, enum call_event event)
{
    unsigned char next = transitions[state][event];
    if (next == 0)
        return false;
    *ret = (enum call_state)(next - 1);
    return true;
}

void call_request_release(struct call_request *r)
{
    free(r->source);
    free(r->agent);
    free(r->tool);
    json_decref(r->args);
    free(r->cwd);
    free(r->worktree);
    free(r->call_id);
    free(r->session);
    free(r->sub_id);
    free(r->sub_type);
    *r = (struct call_request)CALL_REQUEST_INIT;
}

bool call_is_connection(const struct call_request *r)
{
    return strcmp(r->source, "net") == 0;
}

/* Copy a string member. Absent and null count as "". */
static bool take_text(char **ret, const json_t *obj, const char *key, size_t max_bytes,
                      struct err *err)
{
    const json_t *value = json_object_get(obj, key);
    if (!value || json_is_null(value)) {
        *ret = xstrdup("");
        return true;
    }
    const char *text = json_string_value(value);
    if (!text)
        return err_set(err, ERR_FORMAT, "the call's '%s' is not a string", key);
    size_t len = json_string_length(value);
    if (len > max_bytes)
        return err_set(err, ERR_LIMIT, "the call's '%s' is longer than %zu bytes", key, max_bytes);
    if (strlen(text) != len)
        return err_set(err, ERR_FORMAT, "the call's '%s' holds a NUL", key);
    *ret = xstrdup(text);
    return true;
}

static bool take_name(char **ret, const json_t *obj, const char *key, struct err *err)
{
    if (!take_text(ret, obj, key, CALL_NAME_BYTES, err))
        return false;
    return **ret || err_set(err, ERR_FORMAT, "the call has no '%s'", key);
}

static bool take_args(json_t **ret, const json_t *message, struct err *err)
{
    json_t *args = json_object_get(message, "args");
    if (args && !json_is_object(args))
        return err_set(err, ERR_FORMAT, "the call's 'args' is not an object");
    if (jx_depth(args) > LIMIT_CALL_DEPTH)
        return err_set(err, ERR_LIMIT, "the call's 'args' is nested deeper than %d levels",
                       LIMIT_CALL_DEPTH);
    *ret = args ? json_incref(args) : json_object();
    return true;
}

static bool take_subagent(struct call_request *r, const json_t *message, struct err *err)
{
    const json_t *sub = json_object_get(message, "subagent");
    if (sub && !json_is_null(sub) && !json_is_object(sub))
        return err_set(err, ERR_FORMAT, "the call's 'subagent' is not an object");
    if (!take_text(&r->sub_id, sub, "id", CALL_NAME_BYTES, err) ||
        !take_text(&r->sub_type, sub, "type", CALL_NAME_BYTES, err))
        return false;
    bool is_sub = r->sub_id[0] || r->sub_type[0];
    const json_t *depth = json_object_get(sub, "depth");
    if (depth && !json_is_integer(depth))
        return err_set(err, ERR_FORMAT, "the subagent's 'depth' is not a number");
    r->sub_depth = jx_int(sub, "depth", is_sub ? 1 : 0);
    if (r->sub_depth < (is_sub ? 1 : 0) || r->sub_depth > CALL_DEPTH_MAX)
        return err_set(err, ERR_FORMAT, "the subagent's 'depth' is out of range");
    return true;
}

static bool fill(struct call_request *r, const json_t *message, struct err *err)
{
    if (!json_is_object(message))
        return err_set(err, ERR_FORMAT, "the call is not a JSON object");
    if (jx_int(message, "v", 0) != 1)
        return err_set(err, ERR_FORMAT, "the call does not speak version 1 of the gate protocol");
    if (!take_name(&r->source, message, "source", err) ||
        !take_name(&r->agent, message, "agent", err) ||
        !take_name(&r->tool, message, "tool", err) || !take_args(&r->args, message, err) ||
        !take_text(&r->cwd, message, "cwd", LIMIT_PATH_BYTES, err) ||
        !take_text(&r->worktree, message, "worktree", LIMIT_PATH_BYTES, err) ||
        !take_text(&r->call_id, message, "call_id", CALL_NAME_BYTES, err) ||
        !take_text(&r->session, message, "session", CALL_NAME_BYTES, err) ||
        !take_subagent(r, message, err))
        return false;
    if (r->cwd[0] && r->cwd[0] != '/')
        return err_set(err, ERR_FORMAT, "the call's 'cwd' is not an absolute path");
    return true;
}

bool call_request_from_json(struct call_request *ret, const json_t *message, struct err *err)
{
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    if (!fill(&r, message, err))
        return false;
    *ret = r;
    r = (struct call_request)CALL_REQUEST_INIT;
    return true;
}

bool call_request_parse(struct call_request *ret, const char *line, size_t len, struct err *err)
{
    if (len > LIMIT_CALL_BYTES)
        return err_set(err, ERR_LIMIT, "the call is longer than %d bytes", LIMIT_CALL_BYTES);
    AUTO_JSON json_t *message = NULL;
    return jx_parse(&message, line, len, err) && call_request_from_json(ret, message, err);
}

/* Not jx_set_str: what was decoded from JSON is text already and must not be encoded twice. */
static void set_text(json_t *obj, const char *key, const char *text)
{
    json_t *value = json_string(text);
    if (!value)
        abort();
    jx_set(obj, key, value);
}

json_t *call_request_json(const struct call_request *r)
{
    json_t *message = json_object();
    jx_set_int(message, "v", 1);
    set_text(message, "source", r->source);
    set_text(message, "agent", r->agent);
    set_text(message, "tool", r->tool);
    jx_set(message, "args", json_incref(r->args));
    set_text(message, "cwd", r->cwd);
    if (r->worktree[0])
        set_text(message, "worktree", r->worktree);
    set_text(message, "call_id", r->call_id);
    set_text(message, "session", r->session);
    if (r->sub_depth > 0) {
        json_t *sub = json_object();
        set_text(sub, "id", r->sub_id);
        set_text(sub, "type", r->sub_type);
        jx_set_int(sub, "depth", r->sub_depth);
        jx_set(message, "subagent", sub);
    }
    return message;
}
