/* broker_table: the commands that broker.h carries out, with the options that they may have. */
#ifndef GATE_BROKER_TABLE_H
#define GATE_BROKER_TABLE_H

#include "gate/broker.h"

/* Lists of options are separated by blanks: "--quiet -q". What is in no list is refused. */
struct broker_command {
    const char *words[3]; /* "git", "push"; "gh", "pr", "create" */
    enum broker_kind kind;
    const char *flags;  /* without a value */
    const char *values; /* with one, behind = or as the next word */
    const char *maybes; /* with one behind =, or none */
    unsigned max_operands;
};

/* The command that argv names; *ret_first is the index of the first word behind its words.
 * NULL: none. Global options of git before the subcommand: -C DIR, --no-pager, -P. */
const struct broker_command *broker_find(size_t *ret_first, char *const *argv, size_t n);
/* Index of git's subcommand behind global options of any kind; n: there is none. *ret_odd: an
 * option before it that is not taken, or NULL. *ret_dir: the value of -C, or NULL. */
size_t broker_git_subcommand(const char **ret_odd, const char **ret_dir, char *const *argv,
                             size_t n);
/* True when a word of the list is this option's name, len bytes long. */
bool broker_lists(const char *list, const char *name, size_t len);
/* Why an option of this command that is in no list is refused, and what to do instead; static. */
const char *broker_option_advice(const struct broker_command *c, const char *name, size_t len);
/* Why a command of gh or glab is not carried out, static. */
const char *broker_command_advice(char *const *argv, size_t n);

#endif
