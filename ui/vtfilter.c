#include "ui/vtfilter.h"

#include <string.h>

#include "runner/base/mem.h"

enum { ESC = 0x1b, CAN = 0x18, SUB = 0x1a, BEL = 0x07, DEL = 0x7f };

/* ---- what may pass ---- */

static const struct {
    char leader, intermediate;
    const char *finals;
} csi_table[] = {
    {0, 0, "@ABCDEFGHIJKLMPSTXZ`acdefghlmnr"},
    {'?', 0, "hlJKn"},
    {'>', 0, "c"},
    {0, '!', "p"}, /* soft reset */
    {0, ' ', "q"}, /* shape of the cursor */
};

/* Modes of CSI h and l: insert, newline; of CSI ? h and l: cursor keys, reverse, origin, wrap,
 * cursor, alternate screen, paste. Not here: mouse and focus reports, which are not sent, and left
 * and right margins. */
static const unsigned plain_modes[] = {4, 20};
static const unsigned private_modes[] = {1, 5, 6, 7, 12, 25, 47, 1047, 1048, 1049, 2004};

static bool is_control(unsigned char c)
{
    return c == BEL || (c >= '\b' && c <= 0x0f); /* BS HT LF VT FF CR SO SI */
}

/* The byte after an escape that ends a sequence of two: save, restore, index, next line, tab stop,
 * reverse index, reset, keypad. */
static bool is_escape_final(unsigned char c)
{
    return c != 0 && strchr("78DEHMc=>", c) != NULL;
}

/* ESC ( B and ESC ( 0: the character sets of ASCII and of line drawing. */
static bool is_charset(char intermediate, unsigned char final)
{
    return intermediate != 0 && strchr("()", intermediate) != NULL &&
           (final == 'B' || final == '0');
}

static bool is_known_mode(const struct vtfilter *f, unsigned mode)
{
    const unsigned *modes = f->leader == '?' ? private_modes : plain_modes;
    size_t n = f->leader == '?' ? ARRAY_LEN(private_modes) : ARRAY_LEN(plain_modes);
    for (size_t i = 0; i < n; i++)
        if (modes[i] == mode)
            return true;
    return false;
}

static bool is_csi(const struct vtfilter *f, char final)
{
    for (size_t i = 0; i < ARRAY_LEN(csi_table); i++)
        if (csi_table[i].leader == f->leader && csi_table[i].intermediate == f->intermediate &&
            strchr(csi_table[i].finals, final))
            return true;
    return false;
}

/* ---- text ---- */

static void put_text(struct vtfilter *f, struct buf *out, const char *bytes, size_t len)
{
    buf_add(out, bytes, len);
    memcpy(f->last, bytes, len);
    f->last_len = len;
}

static void put_replacement(struct vtfilter *f, struct buf *out)
{
    put_text(f, out, "\xef\xbf\xbd", 3);
}

/* The character is whole: not too long a form, no surrogate, nothing above the last plane, no C1
 * control. */
static bool is_scalar(const char *text, size_t len)
{
    static const unsigned least[] = {0, 0, 0xa0, 0x800, 0x10000};
    unsigned code = (unsigned char)text[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    return code >= least[len] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

/* Returns true when c belonged to the unfinished character. */
static bool continue_text(struct vtfilter *f, struct buf *out, unsigned char c)
{
    if ((c & 0xc0) != 0x80) {
        f->text_len = 0;
        put_replacement(f, out);
        return false;
    }
    f->text[f->text_len++] = (char)c;
    if (f->text_len < f->text_need)
        return true;
    if (is_scalar(f->text, f->text_len))
        put_text(f, out, f->text, f->text_len);
    else
        put_replacement(f, out);
    f->text_len = 0;
    return true;
}

static void ground(struct vtfilter *f, struct buf *out, unsigned char c)
{
    if (c == ESC) {
        f->state = VTF_ESCAPE;
        f->leader = f->intermediate = 0;
        f->is_bad = false;
    } else if (c < ' ' || c == DEL) {
        if (is_control(c))
            buf_addch(out, (char)c);
    } else if (c < 0x80) {
        put_text(f, out, (const char *)&c, 1);
    } else if (c >= 0xc2 && c <= 0xf4) {
        f->text[0] = (char)c;
        f->text_len = 1;
        f->text_need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    } else {
        put_replacement(f, out);
    }
}

/* ---- sequences ---- */

/* A cursor that was saved before the screen shrank is restored outside of it, unchecked. Any CSI
 * makes libvterm bring it back in; a status report of 0 asks for nothing else. */
static void mend_cursor(struct buf *out)
{
    buf_adds(out, "\x1b[0n");
}

static void put_escape(struct buf *out, char final)
{
    buf_addch(out, ESC);
    buf_addch(out, final);
    if (final == '8')
        mend_cursor(out);
}

static void begin_csi(struct vtfilter *f)
{
    f->state = VTF_CSI;
    f->n_params = 0;
    f->has_digits = false;
    memset(f->params, 0, sizeof(f->params));
    memset(f->separators, 0, sizeof(f->separators));
}

static void escape(struct vtfilter *f, struct buf *out, unsigned char c)
{
    f->state = VTF_GROUND;
    if (c == '[' && !f->intermediate) {
        begin_csi(f);
    } else if (c != 0 && strchr("]P_^X", c) && !f->intermediate) {
        f->state = VTF_STRING;
    } else if (c >= 0x20 && c <= 0x2f) {
        f->is_bad = f->is_bad || f->intermediate;
        f->intermediate = (char)c;
        f->state = VTF_ESCAPE;
    } else if (f->is_bad) {
        return;
    } else if (!f->intermediate && is_escape_final(c)) {
        put_escape(out, (char)c);
    } else if (is_charset(f->intermediate, c)) {
        const char sequence[] = {ESC, f->intermediate, (char)c};
        buf_add(out, sequence, sizeof(sequence));
    }
}

static void add_digit(struct vtfilter *f, unsigned char c)
{
    if (f->n_params == 0)
        f->n_params = 1;
    unsigned *param = &f->params[f->n_params - 1];
    *param = *param * 10 + (c - '0');
    if (*param > VTFILTER_PARAM_MAX)
        *param = VTFILTER_PARAM_MAX;
    f->has_digits = true;
}

static void next_param(struct vtfilter *f, unsigned char separator)
{
    if (f->n_params == 0)
        f->n_params = 1;
    if (f->n_params == VTFILTER_PARAMS) {
        f->is_bad = true;
        return;
    }
    f->separators[f->n_params++] = (char)separator;
}

/* A mode that is unknown is left out and the others of its sequence stay: programs set several at
 * once. */
static void put_modes(const struct vtfilter *f, struct buf *out, char final)
{
    for (size_t i = 0; i < f->n_params; i++) {
        if (!is_known_mode(f, f->params[i]))
            continue;
        buf_addf(out, "\x1b[%s%u%c", f->leader ? "?" : "", f->params[i], final);
        if (f->leader && (f->params[i] == 1048 || f->params[i] == 1049))
            mend_cursor(out);
    }
}

static void put_csi(const struct vtfilter *f, struct buf *out, char final)
{
    buf_adds(out, "\x1b[");
    if (f->leader)
        buf_addch(out, f->leader);
    for (size_t i = 0; f->has_digits && i < f->n_params; i++) {
        if (i > 0)
            buf_addch(out, f->separators[i]);
        buf_addf(out, "%u", f->params[i]);
    }
    if (f->intermediate)
        buf_addch(out, f->intermediate);
    buf_addch(out, final);
}

static void repeat_last(const struct vtfilter *f, struct buf *out)
{
    unsigned times = f->params[0] > 0 ? f->params[0] : 1;
    if (times > VTFILTER_REPEAT_MAX)
        times = VTFILTER_REPEAT_MAX;
    for (unsigned i = 0; i < times; i++)
        buf_add(out, f->last, f->last_len);
}

static void end_csi(struct vtfilter *f, struct buf *out, char final)
{
    bool is_bare = !f->leader && !f->intermediate;
    f->state = VTF_GROUND;
    if (f->is_bad)
        return;
    if (is_bare && final == 'b')
        repeat_last(f, out);
    else if (is_bare && final == 's' && f->n_params == 0)
        put_escape(out, '7');
    else if (is_bare && final == 'u' && f->n_params == 0)
        put_escape(out, '8');
    else if (!is_csi(f, final))
        return;
    else if (final == 'h' || final == 'l')
        put_modes(f, out, final);
    else
        put_csi(f, out, final);
}

static void csi(struct vtfilter *f, struct buf *out, unsigned char c)
{
    if (c >= 0x40 && c <= 0x7e) {
        end_csi(f, out, (char)c);
    } else if (c >= '0' && c <= '9' && !f->intermediate) {
        add_digit(f, c);
    } else if ((c == ';' || c == ':') && !f->intermediate) {
        next_param(f, c);
    } else if (c >= '<' && c <= '?') {
        f->is_bad = f->is_bad || f->leader || f->n_params > 0 || f->intermediate;
        f->leader = (char)c;
    } else if (c >= 0x20 && c <= 0x2f) {
        f->is_bad = f->is_bad || f->intermediate;
        f->intermediate = (char)c;
    } else if (is_control(c)) {
        buf_addch(out, (char)c); /* carried out in the middle of a sequence, as terminals do */
    } else {
        f->is_bad = true;
    }
}

static void feed_byte(struct vtfilter *f, struct buf *out, unsigned char c)
{
    if (f->text_len > 0 && continue_text(f, out, c))
        return;
    if (c == CAN || c == SUB) {
        f->state = VTF_GROUND;
        return;
    }
    if (c == ESC && (f->state == VTF_ESCAPE || f->state == VTF_CSI))
        f->state = VTF_GROUND;
    switch (f->state) {
    case VTF_GROUND:
        ground(f, out, c);
        return;
    case VTF_ESCAPE:
        escape(f, out, c);
        return;
    case VTF_CSI:
        csi(f, out, c);
        return;
    case VTF_STRING:
        if (c == ESC)
            f->state = VTF_STRING_ESCAPE;
        else if (c == BEL)
            f->state = VTF_GROUND;
        return;
    case VTF_STRING_ESCAPE: /* ESC \ ends it; another sequence ends it as well and begins */
        f->state = VTF_GROUND;
        ground(f, out, ESC);
        if (c == '\\')
            f->state = VTF_GROUND;
        else
            feed_byte(f, out, c);
        return;
    }
}

void vtfilter_feed(struct vtfilter *f, struct buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        feed_byte(f, out, (unsigned char)bytes[i]);
}
