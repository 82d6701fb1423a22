#include "runner/cmd/log_text.h"

#include <string.h>

#include "runner/base/text.h"

enum { LINE_BYTES_MAX = 1024 * 1024, ESC = 0x1b, BEL = 0x07 };

void log_text_init(struct log_text *t, const char *output_kind)
{
    *t = (struct log_text){.partial = BUF_INIT, .output = {.kind = output_kind}};
}

void log_text_release(struct log_text *t)
{
    buf_release(&t->partial);
}

/* Bytes of the escape sequence at s (ECMA-48: CSI, OSC, or two characters); 0: s starts none that
 * is whole. */
static size_t sequence_len(const char *s, size_t len)
{
    if (len < 2 || s[0] != ESC)
        return 0;
    if (s[1] == '[') {
        for (size_t i = 2; i < len; i++)
            if (s[i] >= 0x40 && s[i] <= 0x7e)
                return i + 1;
        return 0;
    }
    if (s[1] == ']') {
        for (size_t i = 2; i < len; i++) {
            if (s[i] == BEL)
                return i + 1;
            if (s[i] == ESC && i + 1 < len && s[i + 1] == '\\')
                return i + 2;
        }
        return 0;
    }
    bool takes_one_more = s[1] == '(' || s[1] == ')';
    return takes_one_more ? (len > 2 ? 3 : 0) : 2;
}

static void strip_sequences(struct buf *out, const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t skip = sequence_len(s + i, len - i);
        if (skip == 0)
            buf_addch(out, s[i]);
        i += skip ? skip : 1;
    }
}

/* What a terminal would show of "10%\r20%\r": the last part that holds anything. */
static const char *last_drawn(const char *line, size_t *len)
{
    while (*len && line[*len - 1] == '\r')
        (*len)--;
    const char *cr = memrchr(line, '\r', *len);
    if (!cr)
        return line;
    *len -= (size_t)(cr + 1 - line);
    return cr + 1;
}

static void add_line(struct buf *out, struct log_text *t, const char *line, size_t len)
{
    AUTO_BUF struct buf plain = BUF_INIT, shown = BUF_INIT;
    line = last_drawn(line, &len);
    bool is_json = len && line[0] == '{';
    bool is_lines = strcmp(t->output.kind, "lines") == 0;
    /* What an agent that speaks JSON says besides it are its errors. */
    if (is_lines || !is_json)
        buf_add(&plain, line, len);
    else if (!agent_output_line(&plain, &t->output, line, len))
        return;
    strip_sequences(&shown, plain.ptr, plain.len);
    text_sanitise(out, shown.ptr, shown.len, TEXT_KEEP_TAB | TEXT_KEEP_NEWLINE);
    buf_addch(out, '\n');
}

void log_text_feed(struct buf *out, struct log_text *t, const char *data, size_t len)
{
    buf_add(&t->partial, data, len);
    size_t from = 0;
    for (const char *newline;
         (newline = memchr(t->partial.ptr + from, '\n', t->partial.len - from));) {
        size_t line_len = (size_t)(newline - t->partial.ptr) - from;
        add_line(out, t, t->partial.ptr + from, line_len);
        from += line_len + 1;
    }
    buf_consume(&t->partial, from);
    if (t->partial.len > LINE_BYTES_MAX)
        log_text_end(out, t);
}

void log_text_end(struct buf *out, struct log_text *t)
{
    if (t->partial.len)
        add_line(out, t, t->partial.ptr, t->partial.len);
    buf_clear(&t->partial);
}
