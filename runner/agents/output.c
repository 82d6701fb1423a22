/*
 * output: what a person wants to see of one line of an agent's output.
 */
#include <string.h>

#include "runner/agents/agent.h"
#include "runner/base/jx.h"

/* The most telling argument of a tool call, by the names that agents use. */
static const char *main_argument(const json_t *input)
{
    static const char *const names[] = {"command", "file_path", "filePath",   "path",
                                        "pattern", "url",       "description"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = jx_str(input, names[i], NULL);
        if (value)
            return value;
    }
    return "";
}

static bool add_content(struct buf *out, struct agent_output *o, const json_t *content)
{
    size_t i;
    json_t *part;
    json_array_foreach(content, i, part)
    {
        const char *type = jx_str(part, "type", "");
        if (strcmp(type, "text") == 0) {
            const char *text = jx_str(part, "text", "");
            digest_bytes(o->answer, text, strlen(text));
            buf_adds(out, text);
            return true;
        }
        if (strcmp(type, "tool_use") == 0) {
            buf_addf(out, "%s %s", jx_str(part, "name", "tool"),
                     main_argument(jx_obj(part, "input")));
            return true;
        }
    }
    return false;
}

/* The end of a turn: an answer that was not told yet, or the kind of a failure. */
static bool add_result(struct buf *out, struct agent_output *o, const json_t *msg)
{
    const char *text = jx_str(msg, "result", jx_str(msg, "subtype", "done"));
    char digest[DIGEST_HEX_SIZE];
    digest_bytes(digest, text, strlen(text));
    bool was_told = strcmp(digest, o->answer) == 0;
    o->answer[0] = '\0';
    if (!was_told)
        buf_adds(out, text);
    return !was_told;
}

/* One line of `--output-format stream-json`. */
static bool claude_line(struct buf *out, struct agent_output *o, const char *line, size_t len)
{
    AUTO_JSON json_t *msg = NULL;
    struct err ignored;
    if (!jx_parse(&msg, line, len, &ignored))
        return false;
    const char *type = jx_str(msg, "type", "");
    if (strcmp(type, "assistant") == 0)
        return add_content(out, o, jx_arr(jx_obj(msg, "message"), "content"));
    if (strcmp(type, "result") == 0)
        return add_result(out, o, msg);
    if (strcmp(jx_str(msg, "subtype", ""), "api_retry") == 0) {
        buf_addf(out, "the model's server: %s, tried again in %lld s",
                 jx_str(msg, "error", "no connection"),
                 (long long)(jx_int(msg, "retry_delay_ms", 0) + 999) / 1000);
        return true;
    }
    return false;
}

/* A command or a change that begins. */
static bool codex_begins(struct buf *out, const json_t *item)
{
    const char *type = jx_str(item, "type", "");
    if (strcmp(type, "commandExecution") == 0) {
        const json_t *action = json_array_get(jx_arr(item, "commandActions"), 0);
        buf_addf(out, "$ %s", jx_str(action, "command", jx_str(item, "command", "")));
        return true;
    }
    if (strcmp(type, "fileChange") == 0) {
        const json_t *change = json_array_get(jx_arr(item, "changes"), 0);
        buf_addf(out, "edit %s", jx_str(change, "path", ""));
        return true;
    }
    if (strcmp(type, "collabAgentToolCall") == 0) {
        buf_addf(out, "%s %s", jx_str(item, "tool", "subagent"), jx_str(item, "prompt", ""));
        return true;
    }
    return false;
}

/* One notification of Codex's app-server. */
static bool codex_line(struct buf *out, const char *line, size_t len)
{
    AUTO_JSON json_t *msg = NULL;
    struct err ignored;
    if (!jx_parse(&msg, line, len, &ignored))
        return false;
    const char *method = jx_str(msg, "method", "");
    const json_t *params = jx_obj(msg, "params");
    const json_t *item = jx_obj(params, "item");
    if (strcmp(method, "item/started") == 0)
        return codex_begins(out, item);
    if (strcmp(method, "item/completed") == 0 &&
        strcmp(jx_str(item, "type", ""), "agentMessage") == 0) {
        buf_adds(out, jx_str(item, "text", ""));
        return true;
    }
    if (strcmp(method, "error") == 0) {
        buf_adds(out, jx_str(jx_obj(params, "error"), "message", "error"));
        return true;
    }
    return false;
}

/* One line of `opencode run --format json`. */
static bool opencode_line(struct buf *out, const char *line, size_t len)
{
    AUTO_JSON json_t *msg = NULL;
    struct err ignored;
    if (!jx_parse(&msg, line, len, &ignored))
        return false;
    const char *type = jx_str(msg, "type", "");
    const json_t *part = jx_obj(msg, "part");
    if (strcmp(type, "text") == 0)
        buf_adds(out, jx_str(part, "text", ""));
    else if (strcmp(type, "tool_use") == 0)
        buf_addf(out, "%s %s", jx_str(part, "tool", "tool"),
                 main_argument(jx_obj(jx_obj(part, "state"), "input")));
    else if (strcmp(type, "headgate_retry") == 0)
        buf_addf(out, "the model's server: %s, tried again",
                 jx_str(jx_obj(msg, "status"), "message", "no connection"));
    else if (strcmp(type, "error") == 0)
        buf_adds(out, jx_str(jx_obj(jx_obj(msg, "error"), "data"), "message", "error"));
    else
        return false;
    return true;
}

/* One line of Gemini CLI's `--output-format stream-json`. */
static bool gemini_line(struct buf *out, const char *line, size_t len)
{
    AUTO_JSON json_t *msg = NULL;
    struct err ignored;
    if (!jx_parse(&msg, line, len, &ignored))
        return false;
    const char *type = jx_str(msg, "type", "");
    if (strcmp(type, "message") == 0 && strcmp(jx_str(msg, "role", ""), "assistant") == 0)
        buf_adds(out, jx_str(msg, "content", ""));
    else if (strcmp(type, "tool_use") == 0)
        buf_addf(out, "%s %s", jx_str(msg, "tool_name", "tool"),
                 main_argument(jx_obj(msg, "parameters")));
    else if (strcmp(type, "error") == 0)
        buf_adds(out, jx_str(msg, "message", "error"));
    else
        return false;
    return true;
}

bool agent_output_line(struct buf *out, struct agent_output *o, const char *line, size_t len)
{
    const char *kind = o->kind;
    if (strcmp(kind, "claude") == 0)
        return claude_line(out, o, line, len);
    if (strcmp(kind, "codex") == 0)
        return codex_line(out, line, len);
    if (strcmp(kind, "gemini") == 0)
        return gemini_line(out, line, len);
    if (strcmp(kind, "opencode") == 0)
        return opencode_line(out, line, len);
    if (len == 0)
        return false;
    buf_add(out, line, len);
    return true;
}
