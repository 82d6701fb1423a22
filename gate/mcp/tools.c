#include "gate/mcp/tools.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/hook/exchange.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum {
    OUTPUT_BYTES = 256 * 1024,
    CAPTURE_BYTES = 16 * 1024 * 1024,
    FILE_BYTES = 16 * 1024 * 1024,
    DEFAULT_TIMEOUT_MS = 10 * 60 * 1000,
    FETCH_TIMEOUT_MS = 5 * 60 * 1000,
};

typedef bool (*do_fn)(struct buf *out, const json_t *args);

static bool say_error(struct buf *out, const struct err *err)
{
    buf_adds(out, err->text);
    return false;
}

/* The output of a program, its end kept where it is too long. */
static void add_output(struct buf *out, const struct buf *text)
{
    size_t skipped = text->len > OUTPUT_BYTES ? text->len - OUTPUT_BYTES : 0;
    if (skipped)
        buf_addf(out, "[%zu bytes left out]\n", skipped);
    buf_add(out, text->ptr + skipped, text->len - skipped);
}

static bool run_program(struct buf *out, const struct proc_cmd *cmd)
{
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;
    if (!proc_run(&result, cmd, &err))
        return say_error(out, &err);
    add_output(out, &result.out);
    add_output(out, &result.errout);
    if (result.status != 0)
        buf_addf(out, "%s[exit code %d]", out->len && out->ptr[out->len - 1] != '\n' ? "\n" : "",
                 result.status);
    return result.status == 0;
}

static bool run_words(struct buf *out, const char *const *words, const char *input,
                      int64_t timeout_ms)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    for (size_t i = 0; words[i]; i++)
        strv_push(&argv, words[i]);
    const struct proc_cmd cmd = {.argv = &argv,
                                 .input = input,
                                 .input_len = input ? strlen(input) : 0,
                                 .max_output_bytes = CAPTURE_BYTES,
                                 .timeout_ms = timeout_ms};
    return run_program(out, &cmd);
}

static bool do_shell(struct buf *out, const json_t *args)
{
    const char *const words[] = {"/bin/sh", "-c", jx_str(args, "command", ""), NULL};
    return run_words(out, words, NULL, jx_int(args, "timeout_ms", DEFAULT_TIMEOUT_MS));
}

static bool do_read(struct buf *out, const json_t *args)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    if (!fs_read_file(&text, AT_FDCWD, jx_str(args, "file_path", ""), FILE_BYTES, &err))
        return say_error(out, &err);
    add_output(out, &text);
    return true;
}

static bool do_write(struct buf *out, const json_t *args)
{
    const char *path = jx_str(args, "file_path", "");
    const char *content = jx_str(args, "content", "");
    struct err err = ERR_INIT;
    AUTO_FREE char *folder = fs_dirname(path);
    if (!fs_mkdirs(folder, 0777, &err) ||
        !fs_write_plain(AT_FDCWD, path, content, strlen(content), 0666, &err))
        return say_error(out, &err);
    buf_addf(out, "%zu bytes written", strlen(content));
    return true;
}

/* Names are of the working folder, as the gate reads them: below the top of a repository git would
 * take some for names from there. */
static bool do_patch(struct buf *out, const json_t *args)
{
    static const char *const words[] = {"git", "apply", "--verbose", "-", NULL};
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    AUTO_FREE char *above = cwd ? fs_dirname(cwd) : NULL;
    setenv("GIT_CEILING_DIRECTORIES", above ? above : "/", 1); /* this process does nothing else */
    return run_words(out, words, jx_str(args, "patch", ""), DEFAULT_TIMEOUT_MS);
}

static bool do_fetch(struct buf *out, const json_t *args)
{
    const char *const words[] = {"curl", "-sSL", "--fail-with-body", "--", jx_str(args, "url", ""),
                                 NULL};
    return run_words(out, words, NULL, FETCH_TIMEOUT_MS);
}

static const struct member {
    const char *name, *type, *about;
    bool is_needed;
} shell_members[] = {{"command", "string", "what /bin/sh is to run", true},
                     {"timeout_ms", "integer", "it is killed after this time (default 600000)",
                      false}},
  read_members[] = {{"file_path", "string", "absolute, or from the working folder", true}},
  write_members[] = {{"file_path", "string",
                      "absolute, or from the working folder; folders are made", true},
                     {"content", "string", "the whole file", true}},
  patch_members[] = {{"patch", "string", "a unified diff, as git apply takes it", true}},
  fetch_members[] = {
      {"url", "string", "http or https; a host that no rule lists is asked about", true}};

static const struct tool {
    const char *name, *about;
    const struct member *members;
    size_t n_members;
    bool is_reading;
    do_fn run;
} table[] = {
    {"shell", "Run a shell command in the working folder.", shell_members, ARRAY_LEN(shell_members),
     false, do_shell},
    {"read", "Read a text file.", read_members, ARRAY_LEN(read_members), true, do_read},
    {"write", "Write a file.", write_members, ARRAY_LEN(write_members), false, do_write},
    {"patch", "Change files by a patch.", patch_members, ARRAY_LEN(patch_members), false, do_patch},
    {"fetch", "Get what is at a URL.", fetch_members, ARRAY_LEN(fetch_members), false, do_fetch},
};

static json_t *schema_of(const struct tool *tool)
{
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < tool->n_members; i++) {
        const struct member *m = &tool->members[i];
        jx_set(properties, m->name,
               json_pack("{s:s, s:s}", "type", m->type, "description", m->about));
        if (m->is_needed)
            json_array_append_new(required, json_string(m->name));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

json_t *tools_list(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:{s:b}}", "name", table[i].name,
                                              "description", table[i].about, "inputSchema",
                                              schema_of(&table[i]), "annotations", "readOnlyHint",
                                              table[i].is_reading));
    return list;
}

static bool has_type(const json_t *value, const char *type)
{
    return strcmp(type, "string") == 0 ? json_is_string(value) : json_is_integer(value);
}

/* The gate is asked about exactly what is then done, so what is not understood is refused before.
 */
static bool check_args(const struct tool *tool, const json_t *args, struct err *err)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; i < tool->n_members; i++)
        if (tool->members[i].is_needed && !json_object_get(args, tool->members[i].name))
            return err_set(err, ERR_USAGE, "the argument '%s' is missing", tool->members[i].name);
    json_object_foreach((json_t *)(uintptr_t)args, key, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < tool->n_members; i++)
            is_known = is_known || (strcmp(key, tool->members[i].name) == 0 &&
                                    has_type(value, tool->members[i].type));
        if (!is_known || (json_is_string(value) && !jx_str(args, key, NULL)))
            return err_set(err, ERR_USAGE, "the argument '%s' is not one of %s, or of another type",
                           key, tool->name);
    }
    return true;
}

static bool ask(struct buf *out, const char *socket, const char *tool, const json_t *args,
                const char *call_id)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    AUTO_JSON json_t *request = json_pack("{s:i, s:s, s:s, s:s, s:O}", "v", 1, "source", "mcp",
                                          "agent", "command", "tool", tool, "args", args);
    struct exchange_answer answer;
    struct err err = ERR_INIT;
    jx_set_str(request, "cwd", cwd ? cwd : "");
    jx_set_str(request, "call_id", call_id);
    if (!exchange(&answer, socket, request, &err)) {
        buf_addf(out, "denied: %s", err.text);
        return false;
    }
    if (!answer.allow) {
        const char *reason = json_string_value(answer.reason);
        buf_addf(out, "denied: %s", reason && reason[0] ? reason : "without words");
    }
    json_decref(answer.reason);
    free(answer.call);
    return answer.allow;
}

bool tools_call(struct buf *out, const char *socket, const char *tool, const json_t *args,
                const char *call_id)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct err err = ERR_INIT;
        if (strcmp(table[i].name, tool) != 0)
            continue;
        if (!check_args(&table[i], args, &err))
            return say_error(out, &err);
        return ask(out, socket, tool, args, call_id) && table[i].run(out, args);
    }
    buf_addf(out, "there is no tool '%s'", tool);
    return false;
}
