#include "runner/cmd/print.h"

#include <inttypes.h>
#include <string.h>

#include "runner/agents/pulse_words.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

enum { COLUMN_GAP = 2, CELL_COLUMNS_MAX = 40, LAST_COLUMN_MIN = 10, LABEL_COLUMNS = 11 };
enum { COLUMN_LEFT_OUT = -1 };

static const char *const style_on[] = {
    [PRINT_PLAIN] = "",        [PRINT_BOLD] = "\033[1m",        [PRINT_DIM] = "\033[2m",
    [PRINT_RED] = "\033[31m",  [PRINT_GREEN] = "\033[32m",      [PRINT_YELLOW] = "\033[33m",
    [PRINT_CYAN] = "\033[36m", [PRINT_RED_MARK] = "\033[31;7m", [PRINT_GREEN_MARK] = "\033[32;7m",
};

void print_clean(struct buf *out, const struct print *p, enum print_style style, const char *text)
{
    bool is_styled = p->color && style != PRINT_PLAIN && *text;
    if (is_styled)
        buf_adds(out, style_on[style]);
    buf_adds(out, text);
    if (is_styled)
        buf_adds(out, "\033[0m");
}

void print_text(struct buf *out, const struct print *p, enum print_style style, const char *text)
{
    AUTO_FREE char *clean = text_clean(text);
    print_clean(out, p, style, clean);
}

void print_block(struct buf *out, const char *text, int indent)
{
    AUTO_BUF struct buf clean = BUF_INIT;
    text_sanitise(&clean, text, strlen(text), TEXT_KEEP_NEWLINE | TEXT_KEEP_TAB);
    buf_rtrim(&clean);
    for (const char *line = clean.ptr;; line++) {
        size_t len = strcspn(line, "\n");
        buf_addf(out, "%*s", len ? indent : 0, "");
        buf_add(out, line, len);
        buf_addch(out, '\n');
        line += len;
        if (!*line)
            return;
    }
}

void print_field(struct buf *out, const struct print *p, const char *label, const char *value)
{
    if (!value || !*value)
        return;
    AUTO_FREE char *name = xasprintf("%s:", label);
    AUTO_FREE char *padded = xasprintf("%-*s", LABEL_COLUMNS, name);
    buf_adds(out, "  ");
    print_clean(out, p, PRINT_DIM, padded);
    buf_addch(out, ' ');
    print_text(out, p, PRINT_PLAIN, value);
    buf_addch(out, '\n');
}

void print_who(struct buf *out, const char *by)
{
    const char *detail = strstr(by, " (");
    text_sanitise(out, by, detail ? (size_t)(detail - by) : strlen(by), 0);
}

void print_count(struct buf *out, int64_t n, const char *one, const char *many)
{
    buf_addf(out, "%" PRId64 " %s", n, n == 1 ? one : many);
}

void print_table_init(struct print_table *t, const char *const *headers, size_t n)
{
    *t = (struct print_table){.n_columns = n, .cells = STRV_INIT, .styles = BUF_INIT};
    for (size_t i = 0; i < n; i++)
        print_table_cell(t, PRINT_BOLD, headers[i]);
}

void print_table_release(struct print_table *t)
{
    strv_release(&t->cells);
    buf_release(&t->styles);
}

void print_table_cell(struct print_table *t, enum print_style style, const char *text)
{
    AUTO_FREE char *clean = text_clean(text);
    strv_push(&t->cells, clean);
    buf_addch(&t->styles, (char)style);
}

void print_table_int(struct print_table *t, int64_t n)
{
    AUTO_FREE char *text = n ? xasprintf("%" PRId64, n) : xstrdup("");
    print_table_cell(t, PRINT_PLAIN, text);
}

static int cell_width(const struct print_table *t, size_t index)
{
    return text_width(t->cells.v[index], strlen(t->cells.v[index]));
}

/* Columns of a column of the table; *ret_floor is those that its header takes, 0 when no row has
 * anything there. */
static int natural_width(const struct print_table *t, size_t column, int *ret_floor)
{
    int width = cell_width(t, column);
    *ret_floor = 0;
    for (size_t i = column + t->n_columns; i < t->cells.n; i += t->n_columns) {
        int cell = cell_width(t, i);
        if (cell > 0)
            *ret_floor = cell_width(t, column);
        if (cell > width)
            width = cell;
    }
    return width > CELL_COLUMNS_MAX ? CELL_COLUMNS_MAX : width;
}

/* Where a row would be too long: what is empty goes, then the widest gives, as long as its header
 * has room. The first says what a row is about, and stays. */
static int make_room(int widths[PRINT_TABLE_COLUMNS], const int floors[PRINT_TABLE_COLUMNS],
                     size_t n, int too_much)
{
    for (size_t i = 1; i < n && too_much > 0; i++)
        if (floors[i] == 0) {
            too_much -= widths[i] + COLUMN_GAP;
            widths[i] = COLUMN_LEFT_OUT;
        }
    while (too_much > 0) {
        size_t widest = 0;
        for (size_t i = 1; i < n; i++)
            if (widths[i] > floors[i] && (widest == 0 || widths[i] > widths[widest]))
                widest = i;
        if (widest == 0)
            break;
        widths[widest]--;
        too_much--;
    }
    return too_much;
}

static void find_widths(int widths[PRINT_TABLE_COLUMNS], const struct print *p,
                        const struct print_table *t)
{
    int used = 0, floors[PRINT_TABLE_COLUMNS];
    size_t last = t->n_columns - 1;
    for (size_t column = 0; column < last; column++) {
        widths[column] = natural_width(t, column, &floors[column]);
        used += widths[column] + COLUMN_GAP;
    }
    widths[last] = p->columns ? p->columns - used : INT32_MAX;
    if (widths[last] < LAST_COLUMN_MIN) {
        int missing = make_room(widths, floors, last, LAST_COLUMN_MIN - widths[last]);
        widths[last] = missing < 0 ? LAST_COLUMN_MIN - missing : LAST_COLUMN_MIN;
    }
}

void print_table_add(struct buf *out, const struct print *p, const struct print_table *t)
{
    int widths[PRINT_TABLE_COLUMNS];
    find_widths(widths, p, t);
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t column = i % t->n_columns;
        bool is_last = column + 1 == t->n_columns;
        if (widths[column] == COLUMN_LEFT_OUT)
            continue;
        AUTO_BUF struct buf cell = BUF_INIT;
        text_add_clipped(&cell, t->cells.v[i], widths[column]);
        int pad = is_last ? 0 : widths[column] - text_width(cell.ptr, cell.len) + COLUMN_GAP;
        print_clean(out, p, (enum print_style)t->styles.ptr[i], cell.ptr);
        if (!is_last) {
            buf_addf(out, "%*s", pad, "");
            continue;
        }
        if (!p->color)
            while (out->len && out->ptr[out->len - 1] == ' ')
                out->ptr[--out->len] = '\0';
        buf_addch(out, '\n');
    }
}

const char *print_attempt_state(const json_t *attempt, enum print_style *ret_style)
{
    const char *state = jx_str(attempt, "state", "?");
    const char *outcome = jx_str(attempt, "outcome", "");
    *ret_style = PRINT_PLAIN;
    if (*outcome && strcmp(state, "done") == 0) {
        bool is_ok = strcmp(outcome, "ok") == 0;
        *ret_style = is_ok ? PRINT_GREEN : strcmp(outcome, "stopped") == 0 ? PRINT_DIM : PRINT_RED;
        return outcome;
    }
    if (jx_int(attempt, "pending", 0) > 0) {
        *ret_style = PRINT_YELLOW;
        return "asks";
    }
    if (strcmp(state, "running") == 0)
        *ret_style = PRINT_CYAN;
    return state;
}

void print_attempt_standing(struct buf *out, const json_t *attempt, int64_t now_ms,
                            enum print_style *ret_style)
{
    const char *state = print_attempt_state(attempt, ret_style);
    if (strcmp(state, "running") == 0 && pulse_words(out, jx_obj(attempt, "pulse"), now_ms))
        *ret_style = PRINT_YELLOW;
    else
        buf_adds(out, state);
}
