#include "runner/keep/last_line.h"

#include <string.h>

enum {
    LAST_LINE_PARTIAL_BYTES = 1024 * 1024, /* JSON lines of agents carry whole files */
};

void last_line_init(struct last_line *l, const char *kind)
{
    *l = (struct last_line){.output = {.kind = kind}, .partial = BUF_INIT, .line = BUF_INIT};
}

void last_line_release(struct last_line *l)
{
    buf_release(&l->partial);
    buf_release(&l->line);
}

/* Cut at the first newline and at the bound, not inside a UTF-8 character. */
static size_t last_line_cut(const char *text, size_t len)
{
    const char *newline = memchr(text, '\n', len);
    if (newline)
        len = (size_t)(newline - text);
    if (len <= LAST_LINE_BYTES)
        return len;
    len = LAST_LINE_BYTES;
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
        len--;
    return len;
}

static bool last_line_complete(struct last_line *l)
{
    AUTO_BUF struct buf shown = BUF_INIT;
    bool has_text = false;
    if (l->whole && l->partial.len > 0)
        l->whole(l->arg, l->partial.ptr, l->partial.len);
    if (agent_output_line(&shown, &l->output, l->partial.ptr, l->partial.len)) {
        buf_rtrim(&shown);
        size_t blank = strspn(shown.ptr, " \n");
        buf_consume(&shown, blank);
        has_text = shown.len > 0;
    }
    if (has_text) {
        buf_clear(&l->line);
        buf_add(&l->line, shown.ptr, last_line_cut(shown.ptr, shown.len));
    }
    buf_clear(&l->partial);
    l->has_return = false;
    return has_text;
}

/* True when c belongs to an escape sequence (ECMA-48) and is no text. */
static bool last_line_escaped(struct last_line *l, unsigned char c)
{
    switch (l->escape) {
    case LAST_LINE_TEXT:
        if (c == 0x1B)
            l->escape = LAST_LINE_ESC;
        return c == 0x1B;
    case LAST_LINE_ESC:
        if (c == '[')
            l->escape = LAST_LINE_CSI;
        else if (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X')
            l->escape = LAST_LINE_STRING;
        else if (c < 0x20 || c > 0x2F)
            l->escape = LAST_LINE_TEXT;
        return true;
    case LAST_LINE_CSI:
        if (c >= 0x40 && c <= 0x7E)
            l->escape = LAST_LINE_TEXT;
        return true;
    case LAST_LINE_STRING:
        if (c == 0x07)
            l->escape = LAST_LINE_TEXT;
        else if (c == 0x1B)
            l->escape = LAST_LINE_ESC; /* its backslash ends the string */
        return true;
    }
    return false;
}

static void last_line_text(struct last_line *l, char c)
{
    if (l->has_return)
        buf_clear(&l->partial);
    l->has_return = false;
    if (l->partial.len >= LAST_LINE_PARTIAL_BYTES)
        return;
    if (c == '\t')
        buf_addch(&l->partial, ' ');
    else if ((unsigned char)c >= 0x20 && c != 0x7F)
        buf_addch(&l->partial, c);
}

bool last_line_feed(struct last_line *l, const char *bytes, size_t len)
{
    bool has_changed = false;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n') {
            l->escape = LAST_LINE_TEXT; /* an escape that was cut off must not eat the rest */
            has_changed = last_line_complete(l) || has_changed;
        } else if (!last_line_escaped(l, (unsigned char)bytes[i])) {
            if (bytes[i] == '\r')
                l->has_return = true;
            else
                last_line_text(l, bytes[i]);
        }
    }
    return has_changed;
}

bool last_line_finish(struct last_line *l)
{
    return l->partial.len > 0 && last_line_complete(l);
}
