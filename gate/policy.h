/*
 * policy: what the gate answers without a person: ladder, floor, rules, as one value with an epoch.
 *
 * Ladder: confirm (everything that changes something asks), edits (edits inside the worktree pass),
 * auto (all passes inside the box). Reads in the worktree never ask. Floor, on every rung: writing
 * what the host would run or what would loosen the gate, pushing, network tools: asked or refused
 * (floor.h).
 *
 * Precedence: a rule that denies, the floor's refusals, a rule that asks, the floor's questions
 * unless an allowing rule spells the thing out, a rule that allows the whole call, the ladder. A
 * subagent is judged as its parent is.
 *
 * A call of source `broker` (broker.h) never passes by the ladder: what changes something on a
 * server is asked whatever the rules allow, the rest passes by a rule alone. Where there is a
 * broker, a tool call whose commands are all for it passes, so that one act is asked about once.
 *
 * Judging is pure and does no I/O of its own: a path is compared as text after lexical
 * normalisation, and also where it really leads when the caller can tell. Both must be covered by
 * what allows, either one is enough for what asks or denies. A rule that allows a command counts
 * only for a program that the agent cannot have put there. What happens to a symbolic link between
 * the judgement and the effect is the box's business, which is the boundary.
 */
#ifndef GATE_POLICY_H
#define GATE_POLICY_H

#include "gate/rule.h"

enum ladder { LADDER_CONFIRM, LADDER_EDITS, LADDER_AUTO };
const char *ladder_name(enum ladder ladder);
bool ladder_parse(enum ladder *ret, const char *name, struct err *err) WARN_UNUSED;

struct policy {
    int64_t epoch;
    enum ladder ladder;
    struct rule *rules; /* only those whose scope holds for this attempt */
    size_t n_rules;
};
#define POLICY_INIT \
    {               \
        0           \
    }
void policy_release(struct policy *p);
/* The message `{"t":"policy","epoch":E,"ladder":"auto","rules":[{"id":3,"text":"allow command
 * ls"}]}` and back; rules as rule_text writes them. */
bool policy_from_json(struct policy *ret, const json_t *message, struct err *err) WARN_UNUSED;
json_t *policy_to_json(const struct policy *p);

/* Where an absolute path really leads (runner/base/real.h), allocated; NULL: it cannot be told,
 * which is a path outside of everything. */
typedef char *(*policy_resolve)(void *arg, const char *path);

/* Whether a bare name is a program that the agent cannot have put there. */
enum policy_program {
    PROGRAM_OUT_OF_REACH, /* the first of that name in PATH lies where the agent cannot write */
    PROGRAM_IN_REACH,     /* it lies where the agent can */
    PROGRAM_ABSENT,
    PROGRAM_UNTOLD, /* it cannot be told */
};
typedef enum policy_program (*policy_find_program)(void *arg, const char *name);

struct policy_place {
    const char *worktree; /* absolute paths inside the box */
    const char *home;
    policy_resolve resolve;      /* NULL: paths are compared as text alone */
    policy_find_program program; /* NULL: a bare name stands for itself */
    void *arg;                   /* of both */
    bool has_broker; /* a broker carries out what broker.h lists, and asks about it itself */
};

enum verdict { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY };
struct judgement {
    enum verdict verdict;
    const char *why;  /* "ladder", "rule", "floor", "broker" (static) */
    int64_t rule;     /* id, 0: none */
    char reason[512]; /* a sentence for the person, and for the model on a denial; valid UTF-8 */
};
void policy_judge(struct judgement *ret, const struct policy *p, const struct call_request *call,
                  const struct policy_place *place);

#endif
