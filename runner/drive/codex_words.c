#include "runner/drive/codex_words.h"

#include <string.h>

#include "runner/base/mem.h"

/* One word of a POSIX shell line from *p on, quotes taken away. False: a quote is open. */
static bool read_word(struct buf *out, const char **p)
{
    const char *c = *p;
    while (*c && *c != ' ') {
        char quote = *c == '\'' || *c == '"' ? *c++ : '\0';
        while (*c && (quote ? *c != quote : *c != ' ' && *c != '\'' && *c != '"')) {
            if (*c == '\\' && quote != '\'' && c[1] && (!quote || strchr("\\\"$`", c[1])))
                c++;
            buf_addch(out, *c++);
        }
        if (quote && !*c)
            return false;
        if (quote)
            c++;
    }
    *p = *c ? c + 1 : c;
    return true;
}

void codex_shell_text(struct buf *out, const char *command)
{
    AUTO_BUF struct buf shell = BUF_INIT, option = BUF_INIT, text = BUF_INIT;
    const char *p = command;
    bool is_form =
        read_word(&shell, &p) && read_word(&option, &p) && *p && read_word(&text, &p) && !*p;
    bool is_shell = is_form && (strcmp(option.ptr, "-lc") == 0 || strcmp(option.ptr, "-c") == 0);
    buf_adds(out, is_shell ? text.ptr : command);
}

/* What both questions share. */
static json_t *new_request(const json_t *params, const char *tool, json_t *args, const char *cwd,
                           const char *main_thread)
{
    const char *thread = jx_str(params, "threadId", "");
    json_t *request = json_object();
    jx_set_str(request, "source", "confirm");
    jx_set_str(request, "agent", "codex");
    jx_set_str(request, "tool", tool);
    jx_set(request, "args", args);
    jx_set_str(request, "cwd", cwd);
    jx_set_str(request, "session", main_thread);
    jx_set_str(request, "call_id", jx_str(params, "itemId", ""));
    if (strcmp(thread, main_thread) != 0) {
        json_t *sub = json_object();
        jx_set_str(sub, "id", thread);
        jx_set(request, "subagent", sub);
    }
    return request;
}

json_t *codex_command_request(const json_t *params, const char *main_thread)
{
    AUTO_BUF struct buf text = BUF_INIT;
    json_t *args = json_object();
    codex_shell_text(&text, jx_str(params, "command", ""));
    jx_set_str(args, "command", text.ptr ? text.ptr : "");
    return new_request(params, "Bash", args, jx_str(params, "cwd", ""), main_thread);
}

static const char *heading_of(const char *kind)
{
    if (strcmp(kind, "add") == 0)
        return "Add";
    return strcmp(kind, "delete") == 0 ? "Delete" : "Update";
}

/* For a person who is asked because the hook was not: the changes in the form of a patch, which
 * names the files. */
json_t *codex_change_request(const json_t *params, const json_t *item, const char *main_thread,
                             const char *cwd)
{
    AUTO_BUF struct buf patch = BUF_INIT;
    json_t *args = json_object();
    json_t *changes = jx_arr(item, "changes");
    size_t i;
    const json_t *change;
    buf_adds(&patch, "*** Begin Patch\n");
    json_array_foreach(changes, i, change) buf_addf(
        &patch, "*** %s File: %s\n%s", heading_of(jx_str(jx_obj(change, "kind"), "type", "")),
        jx_str(change, "path", ""), jx_str(change, "diff", ""));
    buf_adds(&patch, "*** End Patch\n");
    jx_set_str(args, "command", patch.ptr);
    jx_set(args, "changes", changes ? json_incref(changes) : json_array());
    return new_request(params, "apply_patch", args, cwd, main_thread);
}

static bool is_ours(const json_t *hook, const char *path)
{
    return strcmp(jx_str(hook, "eventName", ""), "preToolUse") == 0 &&
           jx_bool(hook, "enabled", false) && jx_bool(hook, "isManaged", false) &&
           strcmp(jx_str(hook, "matcher", ""), ".*") == 0 &&
           strncmp(jx_str(hook, "command", ""), path, strlen(path)) == 0;
}

bool codex_hook_is_active(const json_t *answer, const char *hook, struct err *err)
{
    size_t i, k;
    const json_t *place, *found;
    json_array_foreach(jx_arr(jx_obj(answer, "result"), "data"), i, place)
        json_array_foreach(jx_arr(place, "hooks"), k, found) if (is_ours(found, hook)) return true;
    return err_set(err, ERR_REFUSED,
                   "Codex would not ask the gate before a tool call: its hook is not in force, so "
                   "nothing was begun "
                   "('headgate agent check codex' tells which version was tested)");
}

bool codex_is_told(const char *method)
{
    static const char *const told[] = {
        "error",
        "warning",
        "item/started",
        "item/completed",
        "turn/started",
        "turn/completed",
        "hook/completed",
        "thread/tokenUsage/updated",
        "account/rateLimits/updated",
    };
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        if (strcmp(told[i], method) == 0)
            return true;
    return false;
}
