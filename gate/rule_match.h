/*
 * rule_match: whether one rule speaks about one call. Effects and precedence are policy's business.
 * Pure.
 */
#ifndef GATE_RULE_MATCH_H
#define GATE_RULE_MATCH_H

#include "gate/policy.h"
#include "gate/rule.h"
#include "gate/tool.h"

struct rule_subject {
    const struct call_request *call;
    const struct tool_use *use;
    const struct policy_place *place;
    struct strv paths; /* of use, absolute, lexically and really resolved; owned */
};
#define AUTO_RULE_SUBJECT __attribute__((cleanup(rule_subject_done)))
/* Borrow all three, which must outlive it. */
void rule_subject_init(struct rule_subject *s, const struct call_request *call,
                       const struct tool_use *use, const struct policy_place *place);
void rule_subject_done(struct rule_subject *s);

/* True when the rule is for this call's agent, and for its subagent's type. Precondition of all
 * below. */
bool rule_is_for(const struct rule *r, const struct call_request *call);
/* For deny and ask: true when any part of the call is, or could be, what the rule names. */
bool rule_touches(const struct rule *r, const struct rule_subject *s);
/* True when an understood command has an option or operand that starts programs (program.h), and a
 * later word of it begins such a command: `find . -exec git push ';'`. For deny, ask and the floor.
 */
bool rule_may_start(const struct strv *argv, char *const *words, size_t n_words);
/* For allow, one part at a time. A command that is not wholly understood has no part to allow, nor
 * has a program that is named by a path: what lies there may be the agent's own. */
bool rule_covers_command(const struct rule *r, const struct rule_subject *s,
                         const struct strv *argv);
/* The same without a look at where the program lies. */
bool rule_names_command(const struct rule *r, const struct strv *argv);
/* What of a bare name keeps a rule from covering it, the rest of a sentence that begins with the
 * name; NULL: nothing. */
const char *rule_program_fault(const struct rule_subject *s, const char *name);
bool rule_covers_path(const struct rule *r, const struct policy_place *place, const char *path);
/* host as a tool's call tells it; what is no host is covered by nothing. port 0: not told. */
bool rule_covers_host(const struct rule *r, const char *host, uint16_t port);
bool rule_covers_tool(const struct rule *r, const char *tool);

#endif
