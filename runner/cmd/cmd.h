/*
 * cmd: the table of commands, and what every handler shares.
 *
 * A handler is an ordinary `main`: it gets its words (argv[0] is its full name, "gate approve") and
 * gives the exit code of the process. Exit codes: 0 done; 1 the work failed; 2 usage; 4 a required
 * layer is missing; 5 Headgate itself failed. Results go to standard output; one line "headgate:
 * ..." that says what is wrong and what to do next goes to standard error.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "runner/base/opt.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* NULL: `children` has the handlers */
    const char *help;                  /* one line for the list of commands */
    const char *usage;                 /* what follows the full name */
    const struct command *children;    /* ends with a NULL name; NULL: none */
    const char *fallback;              /* the child that is meant when none is named, or NULL */
};

extern const struct command commands[];

/* Find the handler for argv[1..], run it, and give its exit code. */
int cmd_main(int argc, char **argv);
/* The entry of a full name ("gate rule add"), or NULL. */
const struct command *cmd_find(const char *full_name);
/* The entry of a table by the first len bytes of word, or NULL. */
const struct command *cmd_child(const struct command *table, const char *word, size_t len);
/* The known name that is nearest to a mistyped word, or NULL when none is near. Pure. */
const char *cmd_nearest(const struct command *table, const char *word);
/* Append the list of commands, as `headgate --help` prints it. Pure. */
void cmd_help(struct buf *out);

struct cmd_args {
    struct strv operands;
    size_t dashdash; /* index of the first operand after `--`, or SIZE_MAX */
};
#define CMD_ARGS_INIT                               \
    {                                               \
        .operands = STRV_INIT, .dashdash = SIZE_MAX \
    }
#define AUTO_CMD_ARGS __attribute__((cleanup(cmd_args_release)))
void cmd_args_release(struct cmd_args *a);

/* Parse a handler's words with its option table; `--help` is added to it. False with err->code
 * ERR_SHOWN when the help was asked for and printed: nothing is left to do. */
bool cmd_parse(struct cmd_args *ret, char **argv, const struct opt *table, size_t n,
               struct err *err) WARN_UNUSED;
/* The same, and the number of operands must lie in min..max; the error shows the usage. */
bool cmd_parse_n(struct cmd_args *ret, char **argv, const struct opt *table, size_t n, size_t min,
                 size_t max, struct err *err) WARN_UNUSED;
/* ERR_USAGE: "<why>; usage: headgate <name> <usage>". Always false. */
bool cmd_usage(const char *full_name, const char *why, struct err *err);
/* The exit code of a handler: 0 when ok; else print the error and give its code; ERR_SHOWN is
 * none. */
int cmd_exit(bool ok, const struct err *err);
/* Print the help of one command with its options. */
bool cmd_print_help(const char *full_name, const struct opt *table, size_t n,
                    struct err *err) WARN_UNUSED;
/* Append words quoted for a POSIX shell where they need it, separated by spaces. */
void cmd_quote(struct buf *out, char *const *words, size_t n);

int cmd_agent_add(int argc, char **argv);
int cmd_agent_check(int argc, char **argv);
int cmd_agent_ls(int argc, char **argv);
int cmd_agent_rm(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_box(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_comment(int argc, char **argv);
int cmd_conflicts(int argc, char **argv);
int cmd_dashboard(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_discard(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_enter(int argc, char **argv);
int cmd_forward(int argc, char **argv);
int cmd_gate_approve(int argc, char **argv);
int cmd_gate_deny(int argc, char **argv);
int cmd_gate_explain(int argc, char **argv);
int cmd_gate_floor(int argc, char **argv);
int cmd_gate_ladder(int argc, char **argv);
int cmd_gate_log(int argc, char **argv);
int cmd_gate_ls(int argc, char **argv);
int cmd_gate_show(int argc, char **argv);
int cmd_gate_stats(int argc, char **argv);
int cmd_gate_verify(int argc, char **argv);
int cmd_gate_watch(int argc, char **argv);
int cmd_logs(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_open(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_review(int argc, char **argv);
int cmd_rule_add(int argc, char **argv);
int cmd_rule_export(int argc, char **argv);
int cmd_rule_import(int argc, char **argv);
int cmd_rule_ls(int argc, char **argv);
int cmd_rule_rm(int argc, char **argv);
int cmd_rule_try(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_say(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_take(int argc, char **argv);
int cmd_trace(int argc, char **argv);

#endif
