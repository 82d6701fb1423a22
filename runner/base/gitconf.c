#include "runner/base/gitconf.h"

#include <string.h>

#include "runner/base/buf.h"
#include "runner/base/mem.h"

/* The text and where the reader is. The end of the text reads as a newline, again and again. */
struct reader {
    const char *at, *end;
    size_t line;
    bool is_over;
    struct buf key, value;
};

static int next(struct reader *r)
{
    if (r->at == r->end) {
        r->is_over = true;
        return '\n';
    }
    unsigned char c = (unsigned char)*r->at++;
    if (c == '\r' && r->at < r->end && *r->at == '\n')
        c = (unsigned char)*r->at++;
    r->line += c == '\n';
    return c;
}

static bool is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_key_char(int c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static void add_lower(struct buf *out, int c)
{
    buf_addch(out, (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
}

/* From the white space after the section's name to the closing bracket: "text" with \ before " and
 * \. */
static bool read_subsection(struct reader *r, int c)
{
    while (is_space(c)) {
        if (c == '\n')
            return false;
        c = next(r);
    }
    if (c != '"')
        return false;
    buf_addch(&r->key, '.');
    while ((c = next(r)) != '"') {
        if (c == '\\')
            c = next(r);
        if (c == '\n')
            return false;
        buf_addch(&r->key, (char)c);
    }
    return next(r) == ']';
}

/* After the opening bracket. The key begins with what stands in it. */
static bool read_section(struct reader *r)
{
    buf_clear(&r->key);
    for (;;) {
        int c = next(r);
        if (r->is_over)
            return false;
        if (c == ']')
            return r->key.len > 0;
        if (is_space(c))
            return read_subsection(r, c);
        if (!is_key_char(c) && c != '.')
            return false;
        add_lower(&r->key, c);
    }
}

/* What stands for itself after a backslash, or 0. */
static char unescape(int c)
{
    switch (c) {
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case '\\':
    case '"':
        return (char)c;
    default:
        return 0;
    }
}

/* To the end of the line. White space around a value goes away, but where it is quoted. */
static bool read_value(struct reader *r)
{
    bool is_quoted = false, is_comment = false;
    size_t keep = 0; /* of the value, when only white space follows */
    buf_clear(&r->value);
    for (int c; (c = next(r)) != '\n';) {
        if (is_comment)
            continue;
        if (!is_quoted && (c == '#' || c == ';')) {
            is_comment = true;
            continue;
        }
        if (!is_quoted && is_space(c)) {
            if (keep > 0)
                buf_addch(&r->value, (char)c);
            continue;
        }
        if (c == '"') {
            is_quoted = !is_quoted;
            keep = r->value.len;
            continue;
        }
        if (c == '\\') {
            c = next(r);
            if (c == '\n') {
                keep = r->value.len;
                continue;
            }
            c = unescape(c);
            if (!c)
                return false;
        }
        buf_addch(&r->value, (char)c);
        keep = r->value.len;
    }
    buf_truncate(&r->value, keep);
    return !is_quoted;
}

/* A name, whose first letter is c, and its value. */
static bool read_setting(struct reader *r, int c, bool *ret_has_value)
{
    do {
        add_lower(&r->key, c);
        c = next(r);
    } while (!r->is_over && is_key_char(c));
    while (c == ' ' || c == '\t')
        c = next(r);
    *ret_has_value = c != '\n';
    return c == '\n' || (c == '=' && read_value(r));
}

static void reader_release(struct reader *r)
{
    buf_release(&r->key);
    buf_release(&r->value);
}

static bool read_all(struct reader *r, gitconf_visit_fn visit, void *arg, struct err *err)
{
    size_t stem = 0; /* of the key, up to and with the dot before the name */
    bool is_comment = false, has_value, is_read;
    for (;;) {
        int c = next(r);
        size_t line = r->line + (c != '\n');
        if (c == '\n' && r->is_over)
            return true;
        is_comment = c != '\n' && (is_comment || c == '#' || c == ';');
        if (is_comment || is_space(c))
            continue;
        if (c == '[') {
            is_read = read_section(r);
            buf_addch(&r->key, '.');
            stem = r->key.len;
        } else {
            buf_truncate(&r->key, stem);
            is_read = is_letter(c) && read_setting(r, c, &has_value);
            if (is_read && !visit(r->key.ptr, has_value ? r->value.ptr : NULL, arg, err))
                return false;
        }
        if (!is_read)
            return err_set(err, ERR_FORMAT, "line %zu cannot be read", line);
    }
}

bool gitconf_each(const char *bytes, size_t len, gitconf_visit_fn visit, void *arg, struct err *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin a file with it */
    if (len > 0 && memchr(bytes, '\0', len))
        return err_set(err, ERR_FORMAT, "it holds a NUL byte");
    bool is_marked = len >= 3 && memcmp(bytes, mark, 3) == 0;
    __attribute__((cleanup(reader_release))) struct reader r = {
        .at = bytes + (is_marked ? 3 : 0), .end = bytes + len, .key = BUF_INIT, .value = BUF_INIT};
    return read_all(&r, visit, arg, err);
}
