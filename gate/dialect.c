#include "gate/dialect.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

enum { REST_BYTES = 240 };
enum event_kind { EVENT_CALL, EVENT_GREETING, EVENT_REST, EVENT_HARMLESS, EVENT_REFUSED };

struct streams {
    struct buf *out, *errout;
};

/* Append the answer; returns the exit code. */
typedef int (*answer_fn)(const struct streams *to, const char *event,
                         const struct dialect_answer *answer);

struct event {
    const char *name;
    enum event_kind kind;
    answer_fn answer; /* of a call */
};

struct dialect {
    const char *name;
    const struct event *events;
    size_t n_events;
    /* Make the gate message from the agent's object. */
    json_t *(*request)(const struct dialect *d, const json_t *in, const char *cwd);
};

static void dump_line(struct buf *out, json_t *value)
{
    jx_dump(out, value);
    buf_addch(out, '\n');
    json_decref(value);
}

/* The words of a denial. An empty one makes some agents run the tool, so there is always one. */
static json_t *reason_of(const struct dialect_answer *a)
{
    if (a->reason && json_string_length(a->reason) > 0)
        return json_incref(a->reason);
    AUTO_FREE char *text = xasprintf("denied by the gate without words%s%s%s",
                                     a->call[0] ? " (call " : "", a->call, a->call[0] ? ")" : "");
    return json_string(text);
}

static int answer_plain(const struct streams *to, const char *event, const struct dialect_answer *a)
{
    (void)event;
    json_t *obj = json_object();
    jx_set_str(obj, "decision", a->allow ? "allow" : "deny");
    if (!a->allow)
        jx_set(obj, "reason", reason_of(a));
    else
        jx_set(obj, "reason", a->reason ? json_incref(a->reason) : json_string(""));
    jx_set_str(obj, "call", a->call);
    dump_line(to->out, obj);
    return a->allow ? 0 : 2;
}

static void dump_specific(struct buf *out, json_t *specific)
{
    json_t *obj = json_object();
    jx_set(obj, "hookSpecificOutput", specific);
    dump_line(out, obj);
}

/* Claude Code and Qwen Code: PreToolUse. An allow needs no reason. */
static int answer_pre_tool(const struct streams *to, const char *event,
                           const struct dialect_answer *a)
{
    json_t *specific = json_object();
    jx_set_str(specific, "hookEventName", event);
    jx_set_str(specific, "permissionDecision", a->allow ? "allow" : "deny");
    if (!a->allow)
        jx_set(specific, "permissionDecisionReason", reason_of(a));
    dump_specific(to->out, specific);
    return 0;
}

/* Codex: silence allows; a bare "allow" is reported as an error. A denial is words and an exit
 * code, which every version takes, so that nothing but a yes of the gate ends with 0. */
static int answer_codex(const struct streams *to, const char *event, const struct dialect_answer *a)
{
    (void)event;
    if (a->allow)
        return 0;
    AUTO_JSON json_t *reason = reason_of(a);
    buf_add(to->errout, json_string_value(reason), json_string_length(reason));
    buf_addch(to->errout, '\n');
    return 2;
}

/* Nobody waits for words. */
static int answer_greeting(const struct streams *to, const char *event,
                           const struct dialect_answer *a)
{
    (void)to;
    (void)event;
    return a->allow ? 0 : 2;
}

/* News asks for nothing, and nothing follows from it, whatever became of it. */
static int answer_rest(const struct streams *to, const char *event, const struct dialect_answer *a)
{
    (void)to;
    (void)event;
    (void)a;
    return 0;
}

static int answer_permission(const struct streams *to, const char *event,
                             const struct dialect_answer *a)
{
    json_t *specific = json_object(), *decision = json_object();
    jx_set_str(decision, "behavior", a->allow ? "allow" : "deny");
    if (!a->allow)
        jx_set(decision, "message", reason_of(a));
    jx_set_str(specific, "hookEventName", event);
    jx_set(specific, "decision", decision);
    dump_specific(to->out, specific);
    return 0;
}

static int answer_gemini(const struct streams *to, const char *event,
                         const struct dialect_answer *a)
{
    (void)event;
    json_t *obj = json_object();
    jx_set_str(obj, "decision", a->allow ? "allow" : "deny");
    if (!a->allow)
        jx_set(obj, "reason", reason_of(a));
    dump_line(to->out, obj);
    return 0;
}

/* Set a member when the agent told it; a wrong type is found by call_request_from_json. */
static void copy_member(json_t *to, const char *to_key, const json_t *from, const char *from_key)
{
    json_t *value = json_object_get(from, from_key);
    if (value)
        jx_set(to, to_key, json_incref(value));
}

static json_t *new_request(const char *agent, const char *cwd)
{
    json_t *message = json_object();
    jx_set_int(message, "v", 1);
    jx_set_str(message, "source", "hook");
    jx_set_str(message, "agent", agent);
    jx_set_str(message, "cwd", cwd);
    return message;
}

static json_t *request_plain(const struct dialect *d, const json_t *in, const char *cwd)
{
    static const char *const members[] = {"agent",   "tool",    "args",    "cwd",
                                          "call_id", "session", "subagent"};
    (void)d;
    json_t *message = new_request("command", cwd);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        copy_member(message, members[i], in, members[i]);
    return message;
}

/* All others have taken after Claude Code. What an agent does not send stays absent: Gemini CLI
 * tells neither an id of the call nor of a subagent. */
static json_t *request_hook(const struct dialect *d, const json_t *in, const char *cwd)
{
    json_t *message = new_request(d->name, cwd);
    copy_member(message, "tool", in, "tool_name");
    copy_member(message, "args", in, "tool_input");
    copy_member(message, "cwd", in, "cwd");
    copy_member(message, "session", in, "session_id");
    copy_member(message, "call_id", in, "tool_use_id");
    if (json_object_get(in, "agent_id")) {
        json_t *sub = json_object();
        copy_member(sub, "id", in, "agent_id");
        copy_member(sub, "type", in, "agent_type");
        jx_set(message, "subagent", sub);
    }
    return message;
}

/* Events that Claude Code documents and that Codex and Qwen Code share or leave out. ConfigChange
 * tells that settings changed under a running session, and exit 2 keeps them out of force; a
 * worktree made by the agent would be outside of what this attempt owns. */
#define CLAUDE_HARMLESS                                                                      \
    {"SessionStart", EVENT_GREETING, answer_greeting}, {"SessionEnd", EVENT_HARMLESS, NULL}, \
        {"UserPromptSubmit", EVENT_HARMLESS, NULL}, {"PostToolUse", EVENT_HARMLESS, NULL},   \
        {"SubagentStart", EVENT_HARMLESS, NULL}, {"SubagentStop", EVENT_HARMLESS, NULL},     \
        {"Stop", EVENT_REST, answer_rest}, {"PreCompact", EVENT_HARMLESS, NULL},             \
        {"PostCompact", EVENT_HARMLESS, NULL}, {"Notification", EVENT_REST, answer_rest},    \
        {"PostToolUseFailure", EVENT_HARMLESS, NULL},                                        \
    {                                                                                        \
        "StopFailure", EVENT_HARMLESS, NULL                                                  \
    }

static const struct event claude_events[] = {
    {"PreToolUse", EVENT_CALL, answer_pre_tool},
    {"PermissionRequest", EVENT_CALL, answer_permission},
    CLAUDE_HARMLESS,
    {"Setup", EVENT_HARMLESS, NULL},
    {"UserPromptExpansion", EVENT_HARMLESS, NULL},
    {"PermissionDenied", EVENT_HARMLESS, NULL},
    {"PostToolBatch", EVENT_HARMLESS, NULL},
    {"MessageDisplay", EVENT_HARMLESS, NULL},
    {"TaskCreated", EVENT_HARMLESS, NULL},
    {"TaskCompleted", EVENT_HARMLESS, NULL},
    {"TeammateIdle", EVENT_HARMLESS, NULL},
    {"InstructionsLoaded", EVENT_HARMLESS, NULL},
    {"CwdChanged", EVENT_HARMLESS, NULL},
    {"DirectoryAdded", EVENT_HARMLESS, NULL},
    {"FileChanged", EVENT_HARMLESS, NULL},
    {"Elicitation", EVENT_HARMLESS, NULL},
    {"ElicitationResult", EVENT_HARMLESS, NULL},
    {"WorktreeRemove", EVENT_HARMLESS, NULL},
    {"ConfigChange", EVENT_REFUSED, NULL},
    {"WorktreeCreate", EVENT_REFUSED, NULL},
};

static const struct event codex_events[] = {
    {"PreToolUse", EVENT_CALL, answer_codex},
    {"PermissionRequest", EVENT_CALL, answer_permission},
    CLAUDE_HARMLESS,
    {"PreModelRequest", EVENT_HARMLESS, NULL},
    {"PostModelRequest", EVENT_HARMLESS, NULL},
    {"Interrupt", EVENT_HARMLESS, NULL},
};

static const struct event gemini_events[] = {
    {"BeforeTool", EVENT_CALL, answer_gemini},
    {"AfterTool", EVENT_HARMLESS, NULL},
    {"BeforeAgent", EVENT_HARMLESS, NULL},
    {"AfterAgent", EVENT_REST, answer_rest},
    {"BeforeModel", EVENT_HARMLESS, NULL},
    {"AfterModel", EVENT_HARMLESS, NULL},
    {"BeforeToolSelection", EVENT_HARMLESS, NULL},
    {"SessionStart", EVENT_GREETING, answer_greeting},
    {"SessionEnd", EVENT_HARMLESS, NULL},
    {"PreCompress", EVENT_HARMLESS, NULL},
    {"Notification", EVENT_REST, answer_rest},
};

static const struct event qwen_events[] = {
    {"PreToolUse", EVENT_CALL, answer_pre_tool},
    {"PermissionRequest", EVENT_CALL, answer_permission},
    CLAUDE_HARMLESS,
};

static const struct event plain_events[] = {{"call", EVENT_CALL, answer_plain}};

static const struct dialect dialects[] = {
    {"plain", plain_events, ARRAY_LEN(plain_events), request_plain},
    {"claude", claude_events, ARRAY_LEN(claude_events), request_hook},
    {"codex", codex_events, ARRAY_LEN(codex_events), request_hook},
    {"gemini", gemini_events, ARRAY_LEN(gemini_events), request_hook},
    {"qwen", qwen_events, ARRAY_LEN(qwen_events), request_hook},
};

const struct dialect *dialect_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(dialects); i++)
        if (strcmp(dialects[i].name, name) == 0)
            return &dialects[i];
    return NULL;
}

void dialect_names(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(dialects); i++)
        buf_addf(out, "%s%s", i > 0 ? ", " : "", dialects[i].name);
}

void dialect_input_release(struct dialect_input *in)
{
    json_decref(in->request);
    *in = (struct dialect_input)DIALECT_INPUT_INIT;
}

static const struct event *find_event(const struct dialect *d, const char *name)
{
    for (size_t i = 0; i < d->n_events; i++)
        if (strcmp(d->events[i].name, name) == 0)
            return &d->events[i];
    return NULL;
}

/* The event at hand; plain has but one and does not name it. */
static const struct event *event_of(const struct dialect *d, const json_t *in, struct err *err)
{
    const char *name = d->request == request_plain ? "call" : jx_str(in, "hook_event_name", "");
    const struct event *event = find_event(d, name);
    if (event && event->kind != EVENT_REFUSED)
        return event;
    if (event)
        err_set(err, ERR_REFUSED, "the event %s is not let through inside of a Headgate box", name);
    else
        err_set(err, ERR_REFUSED, "the event '%s' is not known for %s", name, d->name);
    return NULL;
}

/* Not every notification is one that a person is waited for; one that does not tell its kind is. */
static bool is_rest(const json_t *in)
{
    static const char *const kinds[] = {"agent_needs_input", "idle_prompt", "permission_prompt",
                                        "worker_permission_prompt", "ToolPermission"};
    const char *kind = jx_str(in, "notification_type", NULL);
    bool is_known = !kind;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && !is_known; i++)
        is_known = strcmp(kinds[i], kind) == 0;
    return is_known;
}

/* Why it rests, where it says so: the end of a turn has no words. */
static json_t *rest_of(const json_t *in)
{
    const char *message = jx_str(in, "message", "");
    return jx_bytes(message, strnlen(message, REST_BYTES));
}

bool dialect_read(struct dialect_input *ret, const struct dialect *d, const char *text, size_t len,
                  const char *cwd, struct err *err)
{
    AUTO_JSON json_t *in = NULL;
    if (!jx_parse(&in, text, len, err))
        return false;
    if (!json_is_object(in))
        return err_set(err, ERR_FORMAT, "the call is not a JSON object");
    const struct event *event = event_of(d, in, err);
    if (!event)
        return false;
    json_t *request = NULL;
    if (event->kind == EVENT_GREETING)
        request = json_pack("{s:i, s:b}", "v", 1, "hello", 1);
    if (event->kind == EVENT_REST && is_rest(in))
        request = json_pack("{s:i, s:o}", "v", 1, "rest", rest_of(in));
    if (event->kind == EVENT_CALL) {
        AUTO_JSON json_t *message = d->request(d, in, cwd);
        if (d->request == request_hook && !json_object_get(in, "tool_input"))
            return err_set(err, ERR_FORMAT,
                           "the call has no 'tool_input'; this version of %s tells its calls in "
                           "another way",
                           d->name);
        AUTO_CALL_REQUEST struct call_request checked = CALL_REQUEST_INIT;
        if (!call_request_from_json(&checked, message, err))
            return false;
        request = call_request_json(&checked);
    }
    *ret = (struct dialect_input){.request = request, .event = event->name};
    return true;
}

int dialect_write(struct buf *out, struct buf *errout, const struct dialect *d, const char *event,
                  const struct dialect_answer *answer)
{
    const struct event *found = find_event(d, event);
    if (!found || !found->answer)
        abort(); /* not an event that dialect_read gave: no answer is better than a wrong one */
    const struct streams to = {out, errout};
    return found->answer(&to, event, answer);
}
