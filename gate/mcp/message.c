#include "gate/mcp/message.h"

#include <string.h>

#include "runner/base/mem.h"

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    NO_METHOD = -32601,
    INVALID_PARAMS = -32602,
    UNSUPPORTED_VERSION = -32022,
    LIST_LASTS_MS = 3600 * 1000,
};

#define NEW_VERSION "2026-07-28"
#define META "io.modelcontextprotocol/"

static const char *const old_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] = "These tools work in the sandbox of one Headgate attempt. Each "
                                   "call is decided first; a denial tells why.";

void message_release(struct message *m)
{
    json_decref(m->answer);
    json_decref(m->id);
    json_decref(m->args);
    free(m->tool);
    *m = (struct message)MESSAGE_INIT;
}

static json_t *new_answer(const json_t *id, const char *member, json_t *value)
{
    json_t *answer = json_object();
    jx_set_str(answer, "jsonrpc", "2.0");
    jx_set(answer, "id", id ? json_incref((json_t *)(uintptr_t)id) : json_null());
    jx_set(answer, member, value);
    return answer;
}

json_t *message_error(const json_t *id, int code, const char *text)
{
    return new_answer(id, "error", json_pack("{s:i, s:s}", "code", code, "message", text));
}

static json_t *new_result(const json_t *id, bool is_new, json_t *result)
{
    if (is_new)
        jx_set_str(result, "resultType", "complete");
    return new_answer(id, "result", result);
}

json_t *message_result(const json_t *id, bool is_new, const char *text, size_t len, bool is_error)
{
    json_t *result = json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text",
                               jx_bytes(text, len), "isError", is_error);
    return new_result(id, is_new, result);
}

static json_t *server_info(void)
{
    return json_pack("{s:s, s:s}", "name", "headgate", "version", HEADGATE_VERSION);
}

/* ---- the methods ---- */

static void initialize(struct message *m, const json_t *params)
{
    const char *wanted = jx_str(params, "protocolVersion", "");
    const char *agreed = old_versions[0];
    for (size_t i = 0; i < ARRAY_LEN(old_versions); i++)
        if (strcmp(old_versions[i], wanted) == 0)
            agreed = old_versions[i];
    json_t *result =
        json_pack("{s:s, s:{s:{}}, s:o, s:s}", "protocolVersion", agreed, "capabilities", "tools",
                  "serverInfo", server_info(), "instructions", instructions);
    m->answer = new_result(m->id, false, result);
}

static void discover(struct message *m)
{
    json_t *result =
        json_pack("{s:[s], s:{s:{}}, s:{s:o}, s:s, s:i, s:s}", "supportedVersions", NEW_VERSION,
                  "capabilities", "tools", "_meta", META "serverInfo", server_info(),
                  "instructions", instructions, "ttlMs", LIST_LASTS_MS, "cacheScope", "public");
    m->answer = new_result(m->id, true, result);
}

static void list(struct message *m, json_t *tools)
{
    json_t *result = json_pack("{s:O}", "tools", tools);
    if (m->is_new) {
        jx_set_int(result, "ttlMs", LIST_LASTS_MS);
        jx_set_str(result, "cacheScope", "public");
    }
    m->answer = new_result(m->id, m->is_new, result);
}

static bool has_tool(const json_t *tools, const char *name)
{
    size_t i;
    const json_t *tool;
    json_array_foreach(tools, i, tool) if (strcmp(jx_str(tool, "name", ""), name) == 0) return true;
    return false;
}

static void call(struct message *m, const json_t *params, const json_t *tools)
{
    const char *name = jx_str(params, "name", "");
    json_t *args = json_object_get(params, "arguments");
    if (!has_tool(tools, name) || (args && !json_is_object(args))) {
        m->answer =
            message_error(m->id, INVALID_PARAMS, "no such tool, or arguments that are no object");
        return;
    }
    m->kind = MESSAGE_CALL;
    m->tool = xstrdup(name);
    m->args = args ? json_incref(args) : json_object();
}

static void request(struct message *m, const char *method, const json_t *params, json_t *tools)
{
    m->kind = MESSAGE_ANSWER;
    if (strcmp(method, "initialize") == 0)
        initialize(m, params);
    else if (strcmp(method, "server/discover") == 0)
        discover(m);
    else if (strcmp(method, "tools/list") == 0)
        list(m, tools);
    else if (strcmp(method, "tools/call") == 0)
        call(m, params, tools);
    else if (strcmp(method, "ping") == 0)
        m->answer = new_result(m->id, m->is_new, json_object());
    else
        m->answer = message_error(m->id, NO_METHOD, "this server has tools alone");
}

/* Which era a request is of. False: of one that we do not speak, and the answer says so. */
static bool take_version(struct message *m, const json_t *params)
{
    const char *version = jx_str(jx_obj(params, "_meta"), META "protocolVersion", NULL);
    m->is_new = version != NULL;
    if (!version || strcmp(version, NEW_VERSION) == 0)
        return true;
    m->kind = MESSAGE_ANSWER;
    m->answer = message_error(m->id, UNSUPPORTED_VERSION, "the protocol version is not supported");
    jx_set(jx_obj(m->answer, "error"), "data", json_pack("{s:[s]}", "supported", NEW_VERSION));
    return false;
}

static void notification(struct message *m, const char *method, const json_t *params)
{
    json_t *id = json_object_get(params, "requestId");
    if (strcmp(method, "notifications/cancelled") != 0 || !id)
        return;
    m->kind = MESSAGE_CANCEL;
    m->id = json_incref(id);
}

static void answer_error(struct message *m, int code, const char *text)
{
    m->kind = MESSAGE_ANSWER;
    m->answer = message_error(m->id, code, text);
}

void message_read(struct message *ret, const char *line, size_t len, json_t *tools)
{
    AUTO_JSON json_t *in = NULL;
    struct err err = ERR_INIT;
    *ret = (struct message)MESSAGE_INIT;
    if (!jx_parse(&in, line, len, &err)) {
        answer_error(ret, PARSE_ERROR, err.text);
        return;
    }
    const char *method = jx_str(in, "method", NULL);
    json_t *id = json_object_get(in, "id");
    const json_t *params = jx_obj(in, "params");
    bool is_id = json_is_string(id) || json_is_integer(id);
    if (!json_is_object(in) || (id && !is_id) ||
        (!method && !json_object_get(in, "result") && !json_object_get(in, "error"))) {
        answer_error(ret, INVALID_REQUEST, "a request is one JSON object with a method");
        return;
    }
    if (!method)
        return;
    if (!id) {
        notification(ret, method, params);
        return;
    }
    ret->id = json_incref(id);
    if (take_version(ret, params))
        request(ret, method, params, tools);
}
