#include "runner/cmd/template.h"

#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"

static void add_value(struct buf *out, const json_t *value);

static void add_list(struct buf *out, const json_t *list)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        const json_t *name = json_object_get(item, "name");
        if (i)
            buf_adds(out, ", ");
        add_value(out, name ? name : item);
    }
}

static void add_value(struct buf *out, const json_t *value)
{
    if (json_is_string(value))
        buf_add(out, json_string_value(value), json_string_length(value));
    else if (json_is_array(value))
        add_list(out, value);
    else if (!json_is_null(value))
        jx_dump(out, value);
}

/* "author.login" reaches into an object. */
static const json_t *find(const json_t *row, const char *field, size_t len)
{
    while (row) {
        const char *dot = memchr(field, '.', len);
        size_t part = dot ? (size_t)(dot - field) : len;
        AUTO_FREE char *key = xstrndup(field, part);
        row = json_object_get(row, key);
        if (!dot)
            break;
        field = dot + 1;
        len -= part + 1;
    }
    return row;
}

static bool no_field(const json_t *row, const char *field, size_t len, struct err *err)
{
    AUTO_BUF struct buf known = BUF_INIT;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)row, key, value)
    {
        buf_addf(&known, "%s%s", known.len ? ", " : "", key);
    }
    return err_set(err, ERR_USAGE, "no field '%.*s' for the template; there is %s", (int)len, field,
                   known.len ? known.ptr : "none");
}

bool template_fill(struct buf *out, const char *template, const json_t *row, struct err *err)
{
    for (;;) {
        const char *open = strstr(template, "{{");
        if (!open) {
            buf_adds(out, template);
            return true;
        }
        buf_add(out, template, (size_t)(open - template));
        const char *close = strstr(open, "}}");
        if (!close)
            return err_set(err, ERR_USAGE, "the template has a {{ without its }}");
        const char *field = open + 2 + strspn(open + 2, " \t");
        size_t len = field < close ? (size_t)(close - field) : 0;
        while (len && (field[len - 1] == ' ' || field[len - 1] == '\t'))
            len--;
        const json_t *value = find(row, field, len);
        if (!value)
            return no_field(row, field, len, err);
        add_value(out, value);
        if (out->len > LIMIT_PROMPT_BYTES)
            return err_set(err, ERR_USAGE, "the prompt is longer than %d bytes",
                           LIMIT_PROMPT_BYTES);
        template = close + 2;
    }
}
