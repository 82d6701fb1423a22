/*
 * opt: command-line options as a table.
 *
 * Long options take `--name VALUE` or `--name=VALUE`; short ones `-n VALUE` or `-nVALUE`; flags may
 * be clustered. `--` ends the options. An unknown option, a missing value, or a value for a flag is
 * ERR_USAGE with one sentence that names it (and the nearest known option when there is one).
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdint.h>
#include "runner/base/buf.h"
#include "runner/base/strv.h"

enum opt_kind {
    OPT_FLAG,     /* bool *: set true */
    OPT_STRING,   /* const char **: borrowed from argv; given twice is an error */
    OPT_LIST,     /* struct strv *: appended, may repeat */
    OPT_INT,      /* int64_t *: decimal, min..max */
    OPT_DURATION, /* int64_t *: milliseconds */
    OPT_SIZE,     /* int64_t *: bytes */
};

struct opt {
    char short_name;       /* 0: none */
    const char *long_name; /* NULL: none */
    enum opt_kind kind;
    void *target;
    const char *value_name; /* for help, NULL for flags */
    const char *help;
    int64_t min, max; /* OPT_INT */
};

/* Parse argv[1..] (argv[0] is the command's name). Operands are collected in order into
 * ret_operands (copies). When stop_at_operand, everything from the first operand on is an operand,
 * options included. *ret_dashdash is the index in ret_operands of the first operand after `--`, or
 * SIZE_MAX. */
bool opt_parse(struct strv *ret_operands, size_t *ret_dashdash, const struct opt *table, size_t n,
               char *const *argv, bool stop_at_operand, struct err *err) WARN_UNUSED;
/* Append words and a newline, and where a line would be wider than 80 columns another, indented.
 * The present line is at column. */
void opt_add_wrapped(struct buf *out, const char *text, size_t column, size_t indent);
/* Append the aligned help lines of a table. */
void opt_help(struct buf *out, const struct opt *table, size_t n);

#endif
