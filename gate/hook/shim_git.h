/* shim_git: what the shim does with the box's own repository, by the real git. */
#ifndef GATE_HOOK_SHIM_GIT_H
#define GATE_HOOK_SHIM_GIT_H

#include "gate/broker.h"

struct shim_push {
    char *commit; /* that is to be pushed */
    char *branch; /* that is checked out; NULL: none */
};
#define SHIM_PUSH_INIT \
    {                  \
        .commit = NULL \
    }
#define AUTO_SHIM_PUSH __attribute__((cleanup(shim_push_release)))
void shim_push_release(struct shim_push *push);

/* The program of this name in PATH that is not this one, allocated; NULL: none. */
char *shim_real(const char *name);
/* True when a git command is about the attempt's repository and a remote of the person's. */
bool shim_git_is_ours(const struct strv *words);
/* The branch that is checked out, allocated; NULL with ERR_USAGE: none. dir: git -C, or NULL. */
char *shim_git_branch(const char *dir, struct err *err);
/* The same branch as the remote has it: its upstream's name, else its own. */
char *shim_git_public_branch(struct err *err);
bool shim_git_describe(struct shim_push *ret, const struct broker_act *act,
                       struct err *err) WARN_UNUSED;
/* After a push: the remote-tracking ref, and with -u the branch's upstream. */
bool shim_git_pushed(const struct broker_act *act, const struct shim_push *push,
                     const json_t *message, struct err *err) WARN_UNUSED;
/* After a fetch: the command as it was typed, by the real git from the folder that the gate named.
 * Returns only when that could not be started. */
int shim_git_take(const char *real, const struct broker_act *act, char **argv,
                  const json_t *message);

#endif
