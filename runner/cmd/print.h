/*
 * print: text for people out of JSON snapshots. Pure: the same snapshot and settings give the same
 * bytes.
 *
 * Every string of a snapshot passes the sanitiser here, so that no caller can forget it. Colours
 * are the sixteen of every terminal, and nothing is told by colour alone.
 */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "runner/base/jx.h"

struct print {
    int columns; /* 0: unbounded */
    bool color;
    int64_t now_ms;
};

enum print_style {
    PRINT_PLAIN,
    PRINT_BOLD,
    PRINT_DIM,
    PRINT_RED,
    PRINT_GREEN,
    PRINT_YELLOW,
    PRINT_CYAN,
    PRINT_RED_MARK, /* within a line of that colour */
    PRINT_GREEN_MARK
};

/* Append text, sanitised, in a style. */
void print_text(struct buf *out, const struct print *p, enum print_style style, const char *text);
/* The same for text that was sanitised before. */
void print_clean(struct buf *out, const struct print *p, enum print_style style, const char *text);
/* Append text of several lines, each behind indent spaces, and a final newline. */
void print_block(struct buf *out, const char *text, int indent);
/* "  label:    value\n" with values aligned; nothing when value is empty. */
void print_field(struct buf *out, const struct print *p, const char *label, const char *value);
/* Append who decided without the client and pid that the log keeps: "ada" of "ada (shell, pid
 * 4711)". */
void print_who(struct buf *out, const char *by);
/* "1 file", "2 files". */
void print_count(struct buf *out, int64_t n, const char *one, const char *many);

/* A table: cells by row, columns as wide as their widest cell, the last one clipped at the right
 * edge. Where that leaves it no room, columns without anything in them are left out and the widest
 * are clipped. */
enum { PRINT_TABLE_COLUMNS = 10 };
struct print_table {
    size_t n_columns;
    struct strv cells; /* the header's first; sanitised */
    struct buf styles; /* one byte a cell */
};
#define PRINT_TABLE_INIT                       \
    {                                          \
        .cells = STRV_INIT, .styles = BUF_INIT \
    }
#define AUTO_PRINT_TABLE __attribute__((cleanup(print_table_release)))
void print_table_init(struct print_table *t, const char *const *headers, size_t n);
void print_table_release(struct print_table *t);
void print_table_cell(struct print_table *t, enum print_style style, const char *text);
void print_table_int(struct print_table *t, int64_t n); /* empty for 0 */
void print_table_add(struct buf *out, const struct print *p, const struct print_table *t);

/* The word that tells how an attempt stands ("running", "asks", "ok", "timeout"), and its style. */
const char *print_attempt_state(const json_t *attempt, enum print_style *ret_style);
/* The same in words, with what a running agent tells of itself: "rate limited until 14:05". */
void print_attempt_standing(struct buf *out, const json_t *attempt, int64_t now_ms,
                            enum print_style *ret_style);

#endif
