/*
 * broker: the commands that Headgate carries out for an agent, since they need a person's
 * credentials, which no box has: git fetch, pull, ls-remote and push to a remote of the person's
 * own repository, and the issue and pull-request commands of gh and glab.
 *
 * This is the table of what is carried out and with which options, and the reading of an argv by
 * it. The table is an allow-list: an option that it does not hold is refused with a sentence, never
 * passed on. What was read is words for an argv, never text for a shell. Pure.
 *
 * A call of source `broker` has the arguments `argv` (exactly what was typed) and, filled in by the
 * keeper from what the server told it and not from what the box claims, `remote` and `url`, for gh
 * and glab `repo`, for a push `ref`. `commit` of a push is the box's word; the server pushes only
 * when what it harvested is that very commit. So what a person approves is what is done.
 */
#ifndef GATE_BROKER_H
#define GATE_BROKER_H

#include "gate/call.h"
#include "runner/base/jx.h"
#include "runner/base/strv.h"

enum broker_kind {
    BROKER_FETCH, /* git fetch, pull: the remote's branches and tags into the attempt */
    BROKER_LIST,  /* git ls-remote */
    BROKER_PUSH,
    BROKER_READ, /* gh, glab: changes nothing on the server */
    BROKER_WRITE,
};

struct broker_act {
    enum broker_kind kind;
    const char *program;  /* "git", "gh", "glab", static */
    char *words;          /* "push", "pr create" */
    struct strv options;  /* to be passed on, long values as --name=value */
    struct strv operands; /* of git: without the remote */
    char *dir;            /* git -C; NULL: none */
    char *remote;         /* of git; NULL: not named */
    char *src, *dst;      /* push: "HEAD" or a branch's name; the whole ref, NULL: not named */
    char *repo;           /* gh -R; NULL: not named */
    bool sets_upstream;   /* push -u */
    bool is_dry;
};
#define BROKER_ACT_INIT                             \
    {                                               \
        .options = STRV_INIT, .operands = STRV_INIT \
    }
#define AUTO_BROKER_ACT __attribute__((cleanup(broker_act_release)))
void broker_act_release(struct broker_act *act);

/* Whether this argv (argv[0] a bare name) is for the broker: a command of the table, or one of gh
 * or glab that could only work with credentials. A git command that names a path or an address
 * instead of a remote is not. */
bool broker_is_for(char *const *argv, size_t n);
/* Read it. ERR_REFUSED or ERR_USAGE with a sentence for the agent, which says what to do instead.
 */
bool broker_read(struct broker_act *ret, char *const *argv, size_t n, struct err *err) WARN_UNUSED;
/* True for what only a person lets happen, on every rung and with any rule. */
bool broker_needs_person(const struct broker_act *act);
/* "git push", as a call's tool is named. Allocated. */
char *broker_tool(const struct broker_act *act);
/* A branch name as git-check-ref-format(1) has it, and readable. */
bool broker_is_branch(const char *name);

bool broker_is_call(const struct call_request *r);
/* A call whose commands may still meet the shim, which asks then: not one of the broker, nor one
 * that the shim itself makes (source `shim`: a command of another repository, or of a remote that
 * is not the person's, which the real program would do). */
bool broker_asks_later(const struct call_request *r);
/* The act of a call of source `broker`. */
bool broker_of_call(struct broker_act *ret, const struct call_request *r,
                    struct err *err) WARN_UNUSED;
/* Make a request that came from a box whole: read argv, take commit and branch of it, add where it
 * leads from remotes ([{"name","url","push"}], urls without secrets). Sets tool and args. */
bool broker_complete(struct call_request *r, const json_t *remotes, struct err *err) WARN_UNUSED;

/* Publishing of packages is not carried out: why, for whoever tries. NULL: argv does not publish.
 */
const char *broker_publishes(char *const *argv, size_t n);

#endif
