#include "gate/tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gate/broker.h"
#include "gate/tool_table.h"
#include "runner/base/mem.h"

/* Names under which agents give a path, a shell text, a patch, a URL. */
static const char *const path_keys[] = {
    "file_path", "filePath", "path",      "absolute_path", "notebook_path", "dir_path",
    "file",      "filename", "directory", "target",        "dest",          "destination",
    "source",    "new_path", "old_path",  "output_path",   "paths",         "files",
};
static const char *const command_keys[] = {"command", "cmd", "script", "chars"};
static const char *const patch_keys[] = {"patch", "patchText", "patch_text", "diff", "input"};
static const char *const url_keys[] = {"url", "uri", "href"};

void tool_use_release(struct tool_use *u)
{
    strv_release(&u->paths);
    free(u->command);
    shellwords_release(&u->shell);
    free(u->host);
    *u = (struct tool_use)TOOL_USE_INIT;
}

/* A string, an array of strings, or objects with a path of their own. */
static void add_paths(struct strv *out, const json_t *value)
{
    const char *text = json_string_value(value);
    if (text && text[0])
        strv_push(out, text);
    size_t i;
    json_t *item;
    json_array_foreach(value, i, item)
    {
        const char *own = json_is_object(item) ? jx_str(item, "path", "") : json_string_value(item);
        if (own && own[0])
            strv_push(out, own);
    }
}

/* A pattern of names may lead out of the folder that is searched, and so is a path itself. */
static void add_pattern(struct strv *out, const char *pattern)
{
    if (pattern && (pattern[0] == '/' || pattern[0] == '~' || strstr(pattern, "..")))
        strv_push(out, pattern);
}

/* What is read, without a path of its own: a list (of read_many_files) names files, in a search it
 * filters. */
static void take_patterns(struct tool_use *u, const struct call_request *call)
{
    static const char *const keys[] = {"include", "glob"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const json_t *value = json_object_get(call->args, keys[i]);
        if (json_is_array(value))
            add_paths(&u->paths, value);
        else
            add_pattern(&u->paths, json_string_value(value));
    }
    /* What a search in texts looks for may look like a path, and is none. */
    if (!strcasestr(call->tool, "grep") && !strcasestr(call->tool, "search"))
        add_pattern(&u->paths, jx_str(call->args, "pattern", NULL));
}

static void take_paths(struct tool_use *u, const struct call_request *call)
{
    for (size_t i = 0; i < ARRAY_LEN(path_keys); i++)
        add_paths(&u->paths, json_object_get(call->args, path_keys[i]));
    if (u->kind == TOOL_READ)
        take_patterns(u, call);
}

static void take_patch(struct tool_use *u, const struct call_request *call)
{
    bool is_command = strcmp(call->tool, "apply_patch") == 0;
    for (size_t i = 0; i < ARRAY_LEN(patch_keys) + is_command; i++) {
        const char *key = i < ARRAY_LEN(patch_keys) ? patch_keys[i] : "command";
        const char *patch = jx_str(call->args, key, NULL);
        if (patch && !tool_patch_paths(&u->paths, patch, strlen(patch)))
            u->has_unknown_path = true;
    }
}

/* ["bash", "-lc", TEXT], as some agents start a shell, is TEXT. */
static const char *unwrapped(const struct strv *argv)
{
    static const char *const shells[] = {"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash"};
    bool is_text =
        argv->n == 3 && (strcmp(argv->v[1], "-c") == 0 || strcmp(argv->v[1], "-lc") == 0);
    for (size_t i = 0; i < ARRAY_LEN(shells) && is_text; i++)
        if (strcmp(argv->v[0], shells[i]) == 0)
            return argv->v[2];
    return NULL;
}

/* A NUL would end the copy early and hide what is behind it; the splitter sees the original. */
static void set_text(struct tool_use *u, const char *text, size_t len)
{
    u->command = xmalloc(len + 1);
    for (size_t i = 0; i < len; i++)
        u->command[i] = text[i] ? text[i] : '\n';
    u->command[len] = '\0';
    shellwords_split(&u->shell, text, len);
}

static void set_vector(struct tool_use *u, const json_t *args, const char *key)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    jx_strv(&argv, args, key);
    const char *text = unwrapped(&argv);
    if (text) {
        set_text(u, text, strlen(text));
        return;
    }
    AUTO_BUF struct buf joined = BUF_INIT;
    for (size_t i = 0; i < argv.n; i++)
        buf_addf(&joined, "%s%s", i > 0 ? " " : "", argv.v[i]);
    u->command = buf_steal(&joined);
    if (argv.n == json_array_size(json_object_get(args, key)))
        shellwords_of_argv(&u->shell, &argv);
    else
        u->shell.opaque = "a word that is not text";
}

/* Take the command under this name; false: there is none. */
static bool take_command_of(struct tool_use *u, const json_t *args, const char *key)
{
    const json_t *value = json_object_get(args, key);
    /* The length tells of a NUL, which the splitter refuses. */
    if (json_is_string(value))
        set_text(u, json_string_value(value), json_string_length(value));
    else if (json_is_array(value))
        set_vector(u, args, key);
    else
        return false;
    return true;
}

/* Of several under different names the tool runs one, and which is its own to know: all of them
 * count, and none is understood. */
static void take_command(struct tool_use *u, const json_t *args)
{
    size_t n = 0;
    AUTO_BUF struct buf all = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(command_keys); i++) {
        struct tool_use one = TOOL_USE_INIT;
        if (!take_command_of(&one, args, command_keys[i]))
            continue;
        buf_addf(&all, "%s%s", n > 0 ? "\n" : "", one.command);
        if (n++ == 0) {
            u->command = steal_ptr(&one.command);
            u->shell = one.shell;
            one.shell = (struct shellwords)SHELLWORDS_INIT;
        }
        tool_use_release(&one);
    }
    if (n > 1) {
        free(u->command);
        u->command = buf_steal(&all);
        shellwords_release(&u->shell);
        u->shell.opaque = "several commands under different names";
    }
    if (u->kind == TOOL_SHELL && !u->command)
        u->shell.opaque = "no command";
}

/* The host of scheme://user@host:port/path, lower case, brackets of IPv6 gone; NULL: none. */
static char *host_of(const char *url)
{
    const char *start = strstr(url, "://");
    start = start ? start + 3 : url;
    size_t len = strcspn(start, "/?#\\");
    const char *at = memrchr(start, '@', len);
    if (at) {
        len -= (size_t)(at + 1 - start);
        start = at + 1;
    }
    bool is_bracketed = len > 0 && start[0] == '[';
    start += is_bracketed;
    len -= is_bracketed;
    const char *end = memchr(start, is_bracketed ? ']' : ':', len);
    len = end ? (size_t)(end - start) : len;
    if (len == 0)
        return NULL;
    char *host = xstrndup(start, len);
    for (char *p = host; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return host;
}

static void take_host(struct tool_use *u, const struct call_request *call)
{
    for (size_t i = 0; i < ARRAY_LEN(url_keys) && !u->host; i++) {
        const char *url = jx_str(call->args, url_keys[i], NULL);
        if (url && (u->kind == TOOL_NETWORK || strstr(url, "://")))
            u->host = host_of(url);
    }
}

static void take_connection(struct tool_use *u, const json_t *args)
{
    int64_t port = jx_int(args, "port", 0);
    u->kind = TOOL_NETWORK;
    u->host = xstrdup(jx_str(args, "host", ""));
    u->port = port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

void tool_use_of(struct tool_use *ret, const struct call_request *call)
{
    struct tool_use u = TOOL_USE_INIT;
    if (call_is_connection(call)) {
        take_connection(&u, call->args);
        *ret = u;
        return;
    }
    if (broker_is_call(call)) {
        u.kind = TOOL_SHELL;
        set_vector(&u, call->args, "argv");
        *ret = u;
        return;
    }
    u.kind = tool_kind_of(call->agent, call->tool);
    bool is_unknown = u.kind == TOOL_OTHER;
    if (u.kind == TOOL_READ || u.kind == TOOL_EDIT || is_unknown)
        take_paths(&u, call);
    if (u.kind == TOOL_EDIT && strstr(call->tool, "patch"))
        take_patch(&u, call);
    if (u.kind == TOOL_EDIT && u.paths.n == 0)
        u.has_unknown_path = true;
    if (u.kind == TOOL_SHELL || is_unknown)
        take_command(&u, call->args);
    if (u.kind == TOOL_NETWORK || is_unknown)
        take_host(&u, call);
    *ret = u;
}
