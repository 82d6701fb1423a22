#include "ui/vt.h"

#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "ui/utf8.h"
#include "ui/vtfilter.h"

/* A REP makes many bytes of few: what is filtered at once is bounded. */
enum { CUBE_FIRST = 16, CUBE_STEPS = 6, FEED_BYTES = 4096 };

/* A line that left the screen at its top. */
struct history_line {
    int cols;
    struct cell *cells;
};

struct vt {
    VTerm *term;
    VTermScreen *screen;
    struct vtfilter filter;
    vt_out_fn out;
    void *arg;
    bool is_answering;
    bool is_keying; /* the bytes that come out are of a key, not an answer */
    bool cursor_hidden;
    bool has_rung;
    struct history_line
        history[VT_HISTORY_LINES]; /* a ring: the newest is at (n_history - 1) % VT_HISTORY_LINES */
    size_t n_history;
};

/* ---- cells ---- */

static bool is_printable(const char *bytes, size_t len)
{
    if (len == 1)
        return *bytes >= ' ' && *bytes <= '~';
    AUTO_BUF struct buf clean = BUF_INIT;
    text_sanitise(&clean, bytes, len, 0);
    return clean.len == len && memcmp(clean.ptr, bytes, len) == 0;
}

/* A space that is not the ASCII one: on a screen only its room is left of it. */
static bool is_space(uint32_t code)
{
    enum { NO_BREAK = 0xa0, EN_QUAD = 0x2000, HAIR = 0x200a, NARROW = 0x202f, MATH = 0x205f };
    enum { IDEOGRAPHIC = 0x3000 };
    return code == NO_BREAK || (code >= EN_QUAD && code <= HAIR) || code == NARROW ||
           code == MATH || code == IDEOGRAPHIC;
}

/* The code points of a cell: the first always gives a glyph, a combining one only if it is
 * printable. */
static void set_text(struct cell *cell, const uint32_t *chars)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t used = 0;
    for (size_t i = 0; i <= CELL_MARKS && i < VTERM_MAX_CHARS_PER_CELL && chars[i]; i++) {
        char bytes[4];
        uint32_t code = is_space(chars[i]) ? ' ' : chars[i];
        size_t n = code <= 0x10ffff ? utf8_put(bytes, code) : 0;
        if (n > 0 && is_printable(bytes, n)) {
            memcpy(cell->text + used, bytes, n);
            used += n;
        } else if (i == 0) {
            memcpy(cell->text, replacement, sizeof(replacement) - 1);
            used = sizeof(replacement) - 1;
        }
    }
    if (used == 0)
        cell->text[used++] = ' ';
    cell->text[used] = '\0';
}

static int16_t cube_level(uint8_t value)
{
    return (int16_t)(value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40);
}

/* The nearest of xterm's 256 colours. */
static int16_t palette_color(const VTermColor *color)
{
    if (VTERM_COLOR_IS_DEFAULT_FG(color) || VTERM_COLOR_IS_DEFAULT_BG(color))
        return COLOR_NONE;
    if (VTERM_COLOR_IS_INDEXED(color))
        return color->indexed.idx;
    return (int16_t)(CUBE_FIRST +
                     (cube_level(color->rgb.red) * CUBE_STEPS + cube_level(color->rgb.green)) *
                         CUBE_STEPS +
                     cube_level(color->rgb.blue));
}

static struct cell convert(const VTermScreenCell *from)
{
    struct cell cell = {.width = (uint8_t)(from->width == 2 ? 2 : 1)};
    set_text(&cell, from->chars);
    unsigned attr =
        (from->attrs.bold ? CELL_BOLD : 0u) | (from->attrs.underline ? CELL_UNDERLINE : 0u) |
        (from->attrs.italic ? CELL_ITALIC : 0u) | (from->attrs.reverse ? CELL_REVERSE : 0u);
    cell.style = (struct style){
        .attr = (uint8_t)attr, .fg = palette_color(&from->fg), .bg = palette_color(&from->bg)};
    return cell;
}

static bool is_right_half(const VTermScreenCell *cell)
{
    return cell->chars[0] == (uint32_t)-1;
}

/* ---- what libvterm calls ---- */

static int on_property(VTermProp prop, VTermValue *value, void *user)
{
    struct vt *vt = user;
    if (prop == VTERM_PROP_CURSORVISIBLE)
        vt->cursor_hidden = !value->boolean;
    return 1;
}

static int on_bell(void *user)
{
    struct vt *vt = user;
    vt->has_rung = true;
    return 1;
}

static int on_push_line(int cols, const VTermScreenCell *cells, void *user)
{
    struct vt *vt = user;
    struct history_line *line = &vt->history[vt->n_history++ % VT_HISTORY_LINES];
    line->cells = xreallocarray(line->cells, (size_t)cols, sizeof(*line->cells));
    line->cols = cols;
    for (int col = 0; col < cols; col++)
        line->cells[col] =
            is_right_half(&cells[col]) ? (struct cell){.width = 0} : convert(&cells[col]);
    return 1;
}

static void on_output(const char *bytes, size_t len, void *user)
{
    struct vt *vt = user;
    if (vt->is_keying || vt->is_answering)
        vt->out(vt->arg, bytes, len);
}

static const VTermScreenCallbacks callbacks = {
    .settermprop = on_property,
    .bell = on_bell,
    .sb_pushline = on_push_line,
};

/* ---- life ---- */

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

struct vt *vt_new(int rows, int cols, bool is_answering, vt_out_fn out, void *arg)
{
    struct vt *vt = xcalloc(1, sizeof(*vt));
    vt->is_answering = is_answering;
    vt->out = out;
    vt->arg = arg;
    vt->term =
        vterm_new(clamp(rows, VT_MIN_ROWS, VT_MAX_ROWS), clamp(cols, VT_MIN_COLS, VT_MAX_COLS));
    vterm_set_utf8(vt->term, 1);
    vterm_output_set_callback(vt->term, on_output, vt);
    vt->screen = vterm_obtain_screen(vt->term);
    vterm_screen_set_callbacks(vt->screen, &callbacks, vt);
    vterm_screen_enable_altscreen(vt->screen, 1);
    vterm_screen_reset(vt->screen, 1);
    return vt;
}

void vt_free(struct vt *vt)
{
    if (!vt)
        return;
    vterm_free(vt->term);
    for (size_t i = 0; i < VT_HISTORY_LINES; i++)
        free(vt->history[i].cells);
    free(vt);
}

void vt_feed(struct vt *vt, const void *bytes, size_t len)
{
    AUTO_BUF struct buf clean = BUF_INIT;
    for (size_t at = 0, n; at < len; at += n) {
        n = len - at < FEED_BYTES ? len - at : FEED_BYTES;
        buf_clear(&clean);
        vtfilter_feed(&vt->filter, &clean, (const char *)bytes + at, n);
        vterm_input_write(vt->term, clean.ptr, clean.len);
    }
}

/* libvterm leaves the cursor above the screen when it had text below it, and the scrolling region
 * below it (0.1.4): both are then used unchecked. Reset the region, as xterm does, and put the
 * cursor where it belongs. */
static void mend_after_resize(struct vt *vt, int rows, int cols)
{
    VTermPos at;
    AUTO_BUF struct buf sequence = BUF_INIT;
    vterm_state_get_cursorpos(vterm_obtain_state(vt->term), &at);
    buf_addf(&sequence, "\x1b[r\x1b[%d;%dH", clamp(at.row, 0, rows - 1) + 1,
             clamp(at.col, 0, cols - 1) + 1);
    vterm_input_write(vt->term, sequence.ptr, sequence.len);
}

void vt_resize(struct vt *vt, int rows, int cols)
{
    rows = clamp(rows, VT_MIN_ROWS, VT_MAX_ROWS);
    cols = clamp(cols, VT_MIN_COLS, VT_MAX_COLS);
    vterm_set_size(vt->term, rows, cols);
    mend_after_resize(vt, rows, cols);
}

size_t vt_history(const struct vt *vt)
{
    return vt->n_history < VT_HISTORY_LINES ? vt->n_history : VT_HISTORY_LINES;
}

static void draw_history_line(const struct vt *vt, struct canvas *cv, int row, int col, int cols,
                              size_t back)
{
    const struct history_line *line = &vt->history[(vt->n_history - back) % VT_HISTORY_LINES];
    for (int i = 0; i < cols && i < line->cols; i++)
        canvas_put_cell(cv, row, col + i, &line->cells[i]);
}

static void draw_screen_line(const struct vt *vt, struct canvas *cv, int row, int col, int cols,
                             int line)
{
    for (int i = 0; i < cols; i++) {
        VTermScreenCell cell;
        if (!vterm_screen_get_cell(vt->screen, (VTermPos){.row = line, .col = i}, &cell) ||
            is_right_half(&cell))
            continue;
        struct cell converted = convert(&cell);
        canvas_put_cell(cv, row, col + i, &converted);
    }
}

void vt_draw(const struct vt *vt, struct canvas *cv, int row, int col, int rows, int cols,
             size_t back)
{
    int vt_rows, vt_cols;
    vterm_get_size(vt->term, &vt_rows, &vt_cols);
    if (cols > vt_cols)
        cols = vt_cols;
    if (back > vt_history(vt))
        back = vt_history(vt);
    for (int i = 0; i < rows; i++) {
        if ((size_t)i < back)
            draw_history_line(vt, cv, row + i, col, cols, back - (size_t)i);
        else if ((size_t)i - back < (size_t)vt_rows)
            draw_screen_line(vt, cv, row + i, col, cols, (int)((size_t)i - back));
    }
    VTermPos cursor;
    vterm_state_get_cursorpos(vterm_obtain_state(vt->term), &cursor);
    if (!vt->cursor_hidden && back == 0 && cursor.row < rows && cursor.col < cols)
        canvas_cursor(cv, row + cursor.row, col + cursor.col);
}

/* Lines that are blank count only when another one follows. */
static void add_line(struct buf *out, size_t *blanks, struct buf *line)
{
    buf_rtrim(line);
    if (line->len == 0) {
        ++*blanks;
        return;
    }
    for (; *blanks > 0; --*blanks)
        buf_addch(out, '\n');
    buf_add(out, line->ptr, line->len);
    buf_addch(out, '\n');
}

static void add_screen_cells(struct buf *line, const struct vt *vt, int row, int cols)
{
    for (int col = 0; col < cols; col++) {
        VTermScreenCell cell;
        if (vterm_screen_get_cell(vt->screen, (VTermPos){.row = row, .col = col}, &cell) &&
            !is_right_half(&cell)) {
            const struct cell converted = convert(&cell);
            buf_adds(line, converted.text);
        }
    }
}

void vt_text(const struct vt *vt, struct buf *out)
{
    AUTO_BUF struct buf line = BUF_INIT;
    size_t blanks = 0;
    int rows, cols;
    for (size_t back = vt_history(vt); back > 0; back--) {
        const struct history_line *old = &vt->history[(vt->n_history - back) % VT_HISTORY_LINES];
        buf_clear(&line);
        for (int i = 0; i < old->cols; i++)
            buf_adds(&line, old->cells[i].text);
        add_line(out, &blanks, &line);
    }
    vterm_get_size(vt->term, &rows, &cols);
    for (int row = 0; row < rows; row++) {
        buf_clear(&line);
        add_screen_cells(&line, vt, row, cols);
        add_line(out, &blanks, &line);
    }
}

bool vt_take_bell(struct vt *vt)
{
    bool has_rung = vt->has_rung;
    vt->has_rung = false;
    return has_rung;
}

static bool send_key(struct vt *vt, enum key_code code)
{
    static const struct {
        enum key_code code;
        VTermKey key;
    } keys[] = {{K_UP, VTERM_KEY_UP},       {K_DOWN, VTERM_KEY_DOWN}, {K_LEFT, VTERM_KEY_LEFT},
                {K_RIGHT, VTERM_KEY_RIGHT}, {K_HOME, VTERM_KEY_HOME}, {K_END, VTERM_KEY_END}};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (keys[i].code == code) {
            vterm_keyboard_key(vt->term, keys[i].key, VTERM_MOD_NONE);
            return true;
        }
    }
    if (code == K_PASTE_BEGIN)
        vterm_keyboard_start_paste(vt->term);
    else if (code == K_PASTE_END)
        vterm_keyboard_end_paste(vt->term);
    else
        return false;
    return true;
}

bool vt_key(struct vt *vt, enum key_code code)
{
    vt->is_keying = true;
    bool is_sent = send_key(vt, code);
    vt->is_keying = false;
    return is_sent;
}
