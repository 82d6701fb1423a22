#include "ui/argtext.h"

#include <string.h>

#include "runner/base/broker_line.h"
#include "runner/base/gist.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

enum { NAME_COLUMNS = 24 };

static void add_pad(struct buf *out, int columns)
{
    for (int i = 0; i < columns; i++)
        buf_addch(out, ' ');
}

static void add_string(struct buf *out, const char *text, size_t len, int indent)
{
    for (size_t at = 0;;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        buf_adds(out, " | ");
        text_sanitise(out, text + at, n, TEXT_EXACT);
        buf_addch(out, '\n');
        if (!end)
            return;
        at += n + 1;
        add_pad(out, indent);
    }
}

static void add_value(struct buf *out, const json_t *value, int indent)
{
    if (json_is_string(value)) {
        add_string(out, json_string_value(value), json_string_length(value), indent);
        return;
    }
    AUTO_BUF struct buf json = BUF_INIT;
    jx_canonical(&json, value);
    buf_adds(out, " = ");
    /* JSON escapes its own backslashes; what is escaped here on top, \u{...}, is no JSON. */
    text_sanitise(out, json.ptr, json.len, 0);
    buf_addch(out, '\n');
}

static bool is_simple(const char *key)
{
    return key[0] && key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-.")] == '\0';
}

/* A name that is more than letters and digits is quoted, else it could look like a name with a
 * value. */
static void add_name(struct buf *out, const char *key)
{
    if (is_simple(key)) {
        buf_adds(out, key);
        return;
    }
    AUTO_BUF struct buf clean = BUF_INIT;
    text_sanitise(&clean, key, strlen(key), TEXT_EXACT);
    buf_addch(out, '"');
    for (size_t i = 0; i < clean.len; i++) {
        if (clean.ptr[i] == '"')
            buf_addch(out, '\\');
        buf_addch(out, clean.ptr[i]);
    }
    buf_addch(out, '"');
}

static int name_width(const char *key)
{
    AUTO_BUF struct buf name = BUF_INIT;
    add_name(&name, key);
    return text_width(name.ptr, name.len);
}

void argtext(struct buf *out, const json_t *args)
{
    if (!json_is_object(args)) {
        add_value(out, args, 0);
        return;
    }
    int widest = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)args, key, value)
    {
        int width = name_width(key);
        if (width > widest && width <= NAME_COLUMNS)
            widest = width;
    }
    json_object_foreach((json_t *)args, key, value)
    {
        int width = name_width(key);
        add_name(out, key);
        if (width > widest) { /* a long name has a line of its own */
            buf_addch(out, '\n');
            width = 0;
        }
        add_pad(out, widest - width);
        add_value(out, value, widest);
    }
    if (json_object_size(args) == 0)
        buf_adds(out, "(no arguments)\n");
}

static void add_brief(struct buf *out, const char *text, size_t len, const char *worktree,
                      unsigned flags, int columns)
{
    AUTO_BUF struct buf relative = BUF_INIT, line = BUF_INIT;
    text_add_relative(&relative, text, len, worktree);
    text_sanitise(&line, relative.ptr, relative.len, flags);
    text_add_brief(out, line.ptr, columns);
}

void argtext_brief(struct buf *out, const char *source, const json_t *args, const char *worktree,
                   int columns)
{
    AUTO_BUF struct buf gist = BUF_INIT;
    bool is_text = true;
    if (strcmp(source, "broker") == 0) /* where it leads, too */
        broker_line(&gist, args);
    else
        is_text = gist_add(&gist, args);
    /* JSON escapes its own backslashes. */
    add_brief(out, gist.ptr, gist.len, worktree, is_text ? TEXT_EXACT : 0, columns);
}
