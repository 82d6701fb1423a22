/*
 * floor: what no rung of the ladder lets pass by itself.
 *
 * A finding names one thing in a call that would leave the box or loosen the gate: publishing, a
 * network tool, a privileged program, an edit outside of what belongs to the attempt, an edit of
 * what the host would run later. FLOOR_ASK, and FLOOR_REFUSE, a denial, yield to a rule that
 * spells the thing out; FLOOR_DENY yields to nothing. Pure.
 */
#ifndef GATE_FLOOR_H
#define GATE_FLOOR_H

#include "gate/rule_match.h"

enum floor_effect { FLOOR_ASK, FLOOR_REFUSE, FLOOR_DENY };

struct floor_finding {
    enum floor_effect effect;
    const struct strv *argv;  /* the command found; NULL: only seen in a text not understood */
    const char *const *words; /* what of it is the finding, NULL-terminated; NULL: no command */
    const char *path;         /* the file, resolved; NULL: none */
    const char *protected_as; /* the name that protects it; NULL: it is outside */
    const char *host;         /* NULL: none; "" for a network tool that names no host */
    const char *why;          /* rest of a sentence that begins with the thing's name, static */
};

/* Call visit for each finding; it returns false to stop. Returns false when stopped. */
typedef bool (*floor_visit)(void *arg, const struct floor_finding *finding);
bool floor_each(const struct rule_subject *s, floor_visit visit, void *arg);
/* True when this rule (an allow) spells the finding out, so that a person meant it: `allow command
 * git push`, not `allow command git`. */
bool floor_is_excused(const struct floor_finding *f, const struct rule *r,
                      const struct rule_subject *s);
/* What the floor refuses and asks, from its own tables: [{effect,what,why}], new reference. */
json_t *floor_list(void);
/* True when a path belongs to the attempt: worktree, home, or a temporary folder. */
bool floor_is_own(const struct policy_place *place, const char *path);

#endif
