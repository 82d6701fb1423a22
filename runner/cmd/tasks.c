#include "runner/cmd/tasks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gate/policy.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/template.h"

enum { TITLE_COLUMNS = 72 };

static const char white[] = " \t\r\n";

void tasks_release(struct tasks *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->v[i].text);
        free(t->v[i].title);
        free(t->v[i].ladder);
    }
    free(t->v);
    *t = (struct tasks)TASKS_INIT;
}

/* The first line that holds anything, cut to a title's length. */
static char *title_of(const char *text)
{
    AUTO_BUF struct buf line = BUF_INIT, title = BUF_INIT;
    text += strspn(text, white);
    text_sanitise(&line, text, strcspn(text, "\r\n"), TEXT_KEEP_TAB);
    text_add_clipped(&title, line.ptr, TITLE_COLUMNS);
    return buf_steal(&title);
}

bool tasks_add(struct tasks *t, const char *text, const char *title, struct err *err)
{
    size_t len = strlen(text);
    if (text[strspn(text, white)] == '\0')
        return err_set(err, ERR_USAGE, "the prompt is empty");
    if (!text_is_utf8(text, len))
        return err_set(err, ERR_USAGE, "the prompt is not UTF-8");
    if (len > LIMIT_PROMPT_BYTES)
        return err_set(err, ERR_USAGE, "the prompt is %zu bytes long, at most %d are allowed", len,
                       LIMIT_PROMPT_BYTES);
    if (t->n >= LIMIT_TASKS)
        return err_set(err, ERR_LIMIT, "there are more than %d tasks; split them", LIMIT_TASKS);
    t->v = xreallocarray(t->v, t->n + 1, sizeof(*t->v));
    t->v[t->n++] = (struct task){.text = xstrdup(text), .title = title_of(title ? title : text)};
    return true;
}

/* A string member that holds anything. */
static const char *member(const json_t *row, const char *key)
{
    const char *text = jx_str(row, key, "");
    return *text ? text : NULL;
}

static void number_in_front(struct buf *out, const json_t *row)
{
    int64_t number = jx_int(row, "number", 0);
    if (number > 0)
        buf_addf(out, "#%" PRId64 " ", number);
}

static bool text_of_object(struct buf *out, const json_t *row, struct err *err)
{
    static const char *const whole[] = {"prompt", "task", "text"};
    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        const char *text = member(row, whole[i]);
        if (text) {
            buf_adds(out, text);
            return true;
        }
    }
    const char *title = member(row, "title"), *body = member(row, "body");
    if (!title)
        return err_set(err, ERR_USAGE,
                       "it has no prompt, task, text or title; name the fields with --template");
    number_in_front(out, row);
    buf_adds(out, title);
    if (body)
        buf_addf(out, "\n\n%s", body);
    return true;
}

/* The rung that the row names for the task that was added last. */
static bool take_ladder(struct tasks *t, const json_t *row, struct err *err)
{
    const json_t *named = json_object_get(row, "ladder");
    enum ladder ladder;
    if (!named || json_is_null(named))
        return true;
    if (!json_is_string(named))
        return err_set(err, ERR_USAGE, "its ladder is no text; write confirm, edits or auto");
    if (!ladder_parse(&ladder, json_string_value(named), err))
        return false;
    t->v[t->n - 1].ladder = xstrdup(ladder_name(ladder));
    return true;
}

static bool add_object(struct tasks *t, const json_t *row, const char *template, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT, title = BUF_INIT;
    bool ok = template ? template_fill(&text, template, row, err) : text_of_object(&text, row, err);
    if (!ok)
        return false;
    if (memchr(text.ptr, '\0', text.len))
        return err_set(err, ERR_USAGE, "the prompt holds a NUL character");
    const char *named = member(row, "title");
    if (named) {
        number_in_front(&title, row);
        buf_adds(&title, named);
    }
    return tasks_add(t, text.ptr, named ? title.ptr : NULL, err) && take_ladder(t, row, err);
}

static bool add_line(struct tasks *t, const char *line, size_t len, const char *template,
                     struct err *err)
{
    AUTO_FREE char *text = xstrndup(line, len);
    AUTO_BUF struct buf filled = BUF_INIT;
    if (strlen(text) != len)
        return err_set(err, ERR_USAGE, "it holds a NUL character");
    if (!text_is_utf8(text, len))
        return err_set(err, ERR_USAGE, "it is not UTF-8");
    if (!template)
        return tasks_add(t, text, NULL, err);
    AUTO_JSON json_t *row = json_object();
    jx_set_str(row, "line", text);
    return template_fill(&filled, template, row, err) && tasks_add(t, filled.ptr, text, err);
}

static bool add_value(struct tasks *t, const json_t *value, const char *template, struct err *err)
{
    if (json_is_object(value))
        return add_object(t, value, template, err);
    if (json_is_string(value))
        return add_line(t, json_string_value(value), json_string_length(value), template, err);
    return err_set(err, ERR_USAGE, "it is neither a string nor an object");
}

static bool bad_row(size_t row, struct err *err)
{
    err->code = ERR_USAGE;
    return err_prefix(err, "row %zu", row);
}

static bool add_array(struct tasks *t, const json_t *array, const char *template, struct err *err)
{
    size_t i;
    const json_t *value;
    json_array_foreach(array, i, value)
    {
        if (!add_value(t, value, template, err))
            return bad_row(i + 1, err);
    }
    return true;
}

static bool add_json_line(struct tasks *t, const char *line, size_t len, const char *template,
                          struct err *err)
{
    AUTO_JSON json_t *value = NULL;
    return jx_parse(&value, line, len, err) && add_value(t, value, template, err);
}

typedef bool (*line_fn)(struct tasks *t, const char *line, size_t len, const char *template,
                        struct err *err);

static bool add_lines(struct tasks *t, const char *bytes, size_t len, const char *template,
                      line_fn add, struct err *err)
{
    const char *end = bytes + len;
    for (size_t row = 1; bytes < end; row++) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const char *next = newline ? newline + 1 : end, *stop = newline ? newline : end;
        while (bytes < stop && strchr(white, *bytes) && *bytes)
            bytes++;
        while (stop > bytes && strchr(white, stop[-1]) && stop[-1])
            stop--;
        if (stop > bytes && !add(t, bytes, (size_t)(stop - bytes), template, err))
            return bad_row(row, err);
        bytes = next;
    }
    return true;
}

/* "[BUG] crash" is a line; "[{" , "[\"" and "[]" mean JSON, and then a mistake in it is an error.
 */
static bool looks_like_array(const char *bytes, size_t len)
{
    size_t i = 1;
    while (i < len && strchr(white, bytes[i]) && bytes[i])
        i++;
    return bytes[0] == '[' && (i == len || bytes[i] == '{' || bytes[i] == '"' || bytes[i] == ']');
}

static bool parse_into(struct tasks *t, const char *bytes, size_t len, const char *template,
                       struct err *err)
{
    static const char bom[] = "\xef\xbb\xbf";
    if (len >= 3 && memcmp(bytes, bom, 3) == 0) {
        bytes += 3;
        len -= 3;
    }
    size_t skip = 0;
    while (skip < len && strchr(white, bytes[skip]) && bytes[skip])
        skip++;
    if (skip < len && bytes[skip] == '{')
        return add_lines(t, bytes, len, template, add_json_line, err);
    if (skip == len || !looks_like_array(bytes + skip, len - skip))
        return add_lines(t, bytes, len, template, add_line, err);
    AUTO_JSON json_t *array = NULL;
    if (!jx_parse(&array, bytes, len, err)) {
        err->code = ERR_USAGE;
        return false;
    }
    return add_array(t, array, template, err);
}

bool tasks_parse(struct tasks *t, const char *bytes, size_t len, const char *template,
                 struct err *err)
{
    AUTO_TASKS struct tasks parsed = TASKS_INIT;
    if (!parse_into(&parsed, bytes, len, template, err))
        return false;
    if (parsed.n == 0)
        return err_set(err, ERR_USAGE, "there are no tasks in it");
    if (t->n + parsed.n > LIMIT_TASKS)
        return err_set(err, ERR_LIMIT, "there are more than %d tasks; split them", LIMIT_TASKS);
    t->v = xreallocarray(t->v, t->n + parsed.n, sizeof(*t->v));
    memcpy(t->v + t->n, parsed.v, parsed.n * sizeof(*t->v));
    t->n += parsed.n;
    free(parsed.v);
    parsed = (struct tasks)TASKS_INIT;
    return true;
}

json_t *tasks_json(const struct tasks *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->n; i++) {
        json_t *task = json_object();
        jx_set_str(task, "text", t->v[i].text);
        jx_set_str(task, "title", t->v[i].title);
        if (t->v[i].ladder)
            jx_set_str(task, "ladder", t->v[i].ladder);
        json_array_append_new(list, task);
    }
    return list;
}
