/*
 * exec_names: what the programs of one exec are called.
 *
 * `all` has every name, whoever gave it: one of them is enough for a rule that refuses or asks.
 * `sure` has those that a rule which allows may mean: the box cannot have lent them to something
 * else. A file of the system has the name where it was found, and names that lead there by nothing
 * that the box can change. A file that the box can write has its names too, since it is known by
 * its content, but not one that a program of the system has (`git` in the worktree).
 */
#ifndef KEEP_EXEC_NAMES_H
#define KEEP_EXEC_NAMES_H

#include "runner/base/strv.h"
#include "runner/keep/exec_resolve.h"

struct exec_names {
    struct strv all, sure;
};
#define EXEC_NAMES_INIT                     \
    {                                       \
        .all = STRV_INIT, .sure = STRV_INIT \
    }
void exec_names_release(struct exec_names *n);

/* The path of a file (an O_PATH descriptor, borrowed) as the box has it; what is deleted or in
 * memory says so. Returns it, borrowed until the next one is added. */
const char *exec_names_found(struct exec_names *n, const struct exec_place *place, int fd);
/* A name by which it was called, or told to another program. True when the box cannot change where
 * that leads. */
bool exec_names_told(struct exec_names *n, const struct exec_place *place, const char *name,
                     int fd);
/* What a dynamic loader is told to load, fd -1 where there is no such file. Never sure: the loader
 * opens it once more when the exec is over. */
void exec_names_loaded(struct exec_names *n, const char *name, int fd);

/* Whether a file lies on a mount that the box cannot write. */
bool exec_is_fixed(int fd);

#endif
