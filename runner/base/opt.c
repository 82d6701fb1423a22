#include "runner/base/opt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"

enum { HELP_COLUMN_MAX = 30, HELP_COLUMNS = 80, NAME_BYTES_MAX = 64 };

/* One parse: a cursor over argv and what was given so far. */
struct parse {
    const struct opt *table;
    size_t n;
    bool *given; /* per table entry */
    char *const *next;
};

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein distance between two names of at most NAME_BYTES_MAX bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_BYTES_MAX + 1], len = strlen(b);
    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= len; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[len];
}

/* The known long name that was probably meant, or NULL. */
static const char *nearest(const struct parse *p, const char *name)
{
    const char *best = NULL;
    size_t best_distance = strlen(name) / 3 + 2;
    if (strlen(name) > NAME_BYTES_MAX)
        return NULL;
    for (size_t i = 0; i < p->n; i++) {
        const char *known = p->table[i].long_name;
        if (!known || strlen(known) > NAME_BYTES_MAX)
            continue;
        size_t d = distance(name, known);
        if (d < best_distance) {
            best = known;
            best_distance = d;
        }
    }
    return best;
}

/* The spelling of an option for messages: "--name" or "-n". */
static char *spelling(const struct opt *o)
{
    return o->long_name ? xasprintf("--%s", o->long_name) : xasprintf("-%c", o->short_name);
}

static bool store_int(const struct opt *o, const char *name, const char *value, struct err *err)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    bool is_number = end > value && *end == '\0' && strchr("-0123456789", *value);
    if (!is_number || errno == ERANGE || number < o->min || number > o->max)
        return err_set(err, ERR_USAGE,
                       "option %s needs a number from %" PRId64 " to %" PRId64 ", not '%s'", name,
                       o->min, o->max, value);
    *(int64_t *)o->target = number;
    return true;
}

static bool store(struct parse *p, const struct opt *o, const char *value, struct err *err)
{
    AUTO_FREE char *name = spelling(o);
    bool *given = &p->given[o - p->table];
    bool again = *given;
    *given = true;
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)o->target = true;
        return true;
    case OPT_STRING:
        if (again)
            return err_set(err, ERR_USAGE, "option %s was given twice", name);
        *(const char **)o->target = value;
        return true;
    case OPT_LIST:
        strv_push(o->target, value);
        return true;
    case OPT_INT:
        return store_int(o, name, value, err);
    case OPT_DURATION:
        return clock_parse_duration(o->target, value, err) || err_prefix(err, "option %s", name);
    case OPT_SIZE:
        return clock_parse_size(o->target, value, err) || err_prefix(err, "option %s", name);
    }
    return err_set(err, ERR_INTERNAL, "option %s has an unknown kind", name);
}

/* value is what is attached to the option, or NULL: then the next argument is taken. */
static bool take(struct parse *p, const struct opt *o, const char *value, struct err *err)
{
    if (o->kind != OPT_FLAG && !value) {
        value = *p->next;
        if (!value) {
            AUTO_FREE char *name = spelling(o);
            return err_set(err, ERR_USAGE, "option %s needs a value: %s", name,
                           o->value_name ? o->value_name : "VALUE");
        }
        p->next++;
    }
    return store(p, o, value ? value : "", err); /* nobody looks at that of a flag */
}

static bool parse_long(struct parse *p, const char *text, struct err *err)
{
    const char *value = strchr(text, '=');
    AUTO_FREE char *name = xstrndup(text, value ? (size_t)(value - text) : strlen(text));
    for (size_t i = 0; i < p->n; i++) {
        const struct opt *o = &p->table[i];
        if (!o->long_name || strcmp(o->long_name, name) != 0)
            continue;
        if (o->kind == OPT_FLAG && value)
            return err_set(err, ERR_USAGE, "option --%s takes no value", name);
        return take(p, o, value ? value + 1 : NULL, err);
    }
    const char *meant = nearest(p, name);
    if (meant)
        return err_set(err, ERR_USAGE, "unknown option --%s; did you mean --%s?", name, meant);
    return err_set(err, ERR_USAGE, "unknown option --%s", name);
}

/* "-abc": flags, or the first that takes a value takes the rest. */
static bool parse_short(struct parse *p, const char *text, struct err *err)
{
    for (; *text; text++) {
        const struct opt *o = NULL;
        for (size_t i = 0; i < p->n && !o; i++)
            if (p->table[i].short_name == *text)
                o = &p->table[i];
        if (!o)
            return err_set(err, ERR_USAGE, "unknown option -%c", *text);
        bool has_value = o->kind != OPT_FLAG;
        if (!take(p, o, has_value && text[1] ? text + 1 : NULL, err))
            return false;
        if (has_value)
            return true;
    }
    return true;
}

static bool parse_all(struct parse *p, struct strv *operands, size_t *ret_dashdash,
                      bool stop_at_operand, struct err *err)
{
    size_t dashdash = SIZE_MAX;
    while (*p->next) {
        const char *word = *p->next++;
        if (strcmp(word, "--") == 0) {
            dashdash = operands->n;
            strv_push_all(operands, p->next);
            break;
        }
        if (word[0] != '-' || word[1] == '\0') { /* "-" alone means standard input */
            strv_push(operands, word);
            if (!stop_at_operand)
                continue;
            strv_push_all(operands, p->next);
            break;
        }
        if (!(word[1] == '-' ? parse_long(p, word + 2, err) : parse_short(p, word + 1, err)))
            return false;
    }
    *ret_dashdash = dashdash;
    return true;
}

bool opt_parse(struct strv *ret_operands, size_t *ret_dashdash, const struct opt *table, size_t n,
               char *const *argv, bool stop_at_operand, struct err *err)
{
    AUTO_FREE bool *given = xcalloc(n, sizeof(*given));
    AUTO_STRV struct strv operands = STRV_INIT;
    struct parse p = {.table = table, .n = n, .given = given, .next = argv[0] ? argv + 1 : argv};
    if (!parse_all(&p, &operands, ret_dashdash, stop_at_operand, err))
        return false;
    strv_release(ret_operands);
    *ret_operands = operands;
    operands = (struct strv)STRV_INIT;
    return true;
}

static char *help_names(const struct opt *o)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (o->short_name && o->long_name)
        buf_addf(&text, "-%c, --%s", o->short_name, o->long_name);
    else if (o->short_name)
        buf_addf(&text, "-%c", o->short_name);
    else
        buf_addf(&text, "    --%s", o->long_name);
    if (o->value_name)
        buf_addf(&text, " %s", o->value_name);
    return buf_steal(&text);
}

/* Bytes of the next word: what stands in brackets is one. */
static size_t word_len(const char *text)
{
    int depth = 0;
    size_t n = 0;
    for (; text[n] && (text[n] != ' ' || depth > 0); n++)
        depth += text[n] == '[' ? 1 : text[n] == ']' ? -1 : 0;
    return n;
}

void opt_add_wrapped(struct buf *out, const char *text, size_t column, size_t indent)
{
    bool is_first = true;
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        n = word_len(text);
        if (!is_first && column + 1 + n > HELP_COLUMNS) {
            buf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            buf_addch(out, ' ');
            column++;
        }
        buf_add(out, text, n);
        column += n;
        is_first = false;
    }
    buf_addch(out, '\n');
}

void opt_help(struct buf *out, const struct opt *table, size_t n)
{
    size_t column = 0;
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *names = help_names(&table[i]);
        size_t len = strlen(names);
        if (len > column && len <= HELP_COLUMN_MAX)
            column = len;
    }
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *names = help_names(&table[i]);
        if (strlen(names) > column)
            buf_addf(out, "  %s\n  %*s", names, (int)column, "");
        else
            buf_addf(out, "  %-*s", (int)column, names);
        buf_adds(out, "  ");
        opt_add_wrapped(out, table[i].help, column + 4, column + 4);
    }
}
