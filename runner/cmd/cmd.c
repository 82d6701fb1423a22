#include "runner/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/out.h"

enum { OPTIONS_MAX = 40, WORD_BYTES_MAX = 32, NAME_COLUMN = 10 };

void cmd_args_release(struct cmd_args *a)
{
    strv_release(&a->operands);
}

const struct command *cmd_child(const struct command *table, const char *word, size_t len)
{
    for (const struct command *c = table; c && c->name; c++)
        if (strlen(c->name) == len && memcmp(c->name, word, len) == 0)
            return c;
    return NULL;
}

const struct command *cmd_find(const char *full_name)
{
    const struct command *table = commands, *found = NULL;
    for (const char *word = full_name; *word;) {
        size_t len = strcspn(word, " ");
        found = cmd_child(table, word, len);
        if (!found)
            return NULL;
        table = found->children;
        word += len + (word[len] == ' ');
    }
    return found;
}

/* Levenshtein distance; b has at most WORD_BYTES_MAX bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_BYTES_MAX + 1], len = strlen(b);
    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= len; j++) {
            size_t above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = above;
        }
    }
    return row[len];
}

const char *cmd_nearest(const struct command *table, const char *word)
{
    const char *best = NULL;
    size_t len = strlen(word), best_distance = len / 3 + 2;
    if (len > WORD_BYTES_MAX)
        return NULL;
    for (const struct command *c = table; c->name; c++) {
        size_t d = distance(word, c->name);
        if (d < best_distance && d < len) {
            best = c->name;
            best_distance = d;
        }
    }
    return best;
}

static void add_list(struct buf *out, const struct command *table)
{
    for (const struct command *c = table; c->name; c++) {
        buf_addf(out, "  %-*s ", NAME_COLUMN, c->name);
        opt_add_wrapped(out, c->help, NAME_COLUMN + 3, NAME_COLUMN + 3);
    }
}

void cmd_help(struct buf *out)
{
    buf_adds(out, "Headgate runs many coding agents on one repository, each in its own worktree\n"
                  "and box, and puts one gate in front of all their tool calls.\n\n"
                  "usage: headgate [COMMAND ...]      without a command: the dashboard\n\n");
    add_list(out, commands);
    buf_adds(out, "\nA is an attempt (3.2) or a run (3: all its attempts), C a call (c12).\n"
                  "More: headgate help COMMAND, headgate --version\n");
}

bool cmd_usage(const char *full_name, const char *why, struct err *err)
{
    const struct command *c = cmd_find(full_name);
    const char *usage = c ? c->usage : "";
    return err_set(err, ERR_USAGE, "%s; usage: headgate %s%s%s", why, full_name, *usage ? " " : "",
                   usage);
}

bool cmd_print_help(const char *full_name, const struct opt *table, size_t n, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    const struct command *c = cmd_find(full_name);
    AUTO_FREE char *usage = xasprintf("usage: headgate %s%s%s", full_name,
                                      c && *c->usage ? " " : "", c ? c->usage : "");
    opt_add_wrapped(&text, usage, 0, strlen("usage: "));
    if (c)
        buf_addf(&text, "\n%s\n", c->help);
    if (c && c->children) {
        buf_adds(&text, "\n");
        add_list(&text, c->children);
    }
    if (n) {
        buf_adds(&text, "\n");
        opt_help(&text, table, n);
    }
    return out_buf(&text, err);
}

bool cmd_parse(struct cmd_args *ret, char **argv, const struct opt *table, size_t n,
               struct err *err)
{
    struct opt all[OPTIONS_MAX];
    bool wants_help = false;
    if (n + 1 > OPTIONS_MAX)
        return err_set(err, ERR_INTERNAL, "too many options in the table of %s", argv[0]);
    if (n)
        memcpy(all, table, n * sizeof(*table));
    all[n] = (struct opt){'h', "help", OPT_FLAG, &wants_help, NULL, "show this help", 0, 0};
    struct err wrong = ERR_INIT;
    if (!opt_parse(&ret->operands, &ret->dashdash, all, n + 1, argv, false, &wrong))
        return err_set(err, wrong.code, "%s (headgate %s --help lists the options)", wrong.text,
                       argv[0]);
    if (!wants_help)
        return true;
    struct err print = ERR_INIT;
    if (!cmd_print_help(argv[0], all, n + 1, &print))
        *err = print;
    else
        err_set(err, ERR_SHOWN, "the help of %s was shown", argv[0]);
    return false;
}

bool cmd_parse_n(struct cmd_args *ret, char **argv, const struct opt *table, size_t n, size_t min,
                 size_t max, struct err *err)
{
    if (!cmd_parse(ret, argv, table, n, err))
        return false;
    if (ret->operands.n < min)
        return cmd_usage(argv[0], "something is missing", err);
    if (ret->operands.n > max) {
        AUTO_FREE char *word = text_clean(ret->operands.v[max]);
        AUTO_FREE char *why = xasprintf("unexpected word '%s'", word);
        return cmd_usage(argv[0], why, err);
    }
    return true;
}

int cmd_exit(bool ok, const struct err *err)
{
    static const struct err wordless = {
        .code = ERR_INTERNAL,
        .text = "the command failed and did not say why, which is a fault of Headgate",
    };
    if (ok || err->code == ERR_SHOWN)
        return 0;
    const struct err *what = err->code == ERR_NONE ? &wordless : err;
    AUTO_FREE char *text = text_clean(what->text);
    fprintf(stderr, "headgate: %s\n", text);
    return err_exit_code(what);
}

void cmd_quote(struct buf *out, char *const *words, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%_+=:,./-";
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_addch(out, ' ');
        if (*words[i] && words[i][strspn(words[i], plain)] == '\0') {
            buf_adds(out, words[i]);
            continue;
        }
        buf_addch(out, '\'');
        for (const char *p = words[i]; *p; p++) {
            if (*p == '\'')
                buf_adds(out, "'\\''");
            else
                buf_addch(out, *p);
        }
        buf_addch(out, '\'');
    }
}
