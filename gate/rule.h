/*
 * rule: `EFFECT WHAT VALUE... [for AGENT] [in SCOPE]`.
 *
 * - `allow command git status`: argv prefix of a shell tool call, for every simple command of it;
 * - `allow exactly make test`: the whole argv;
 * - `deny path .github/`: file tools below this path of the worktree (or an absolute one);
 * - `ask host *.example.com:443`: fetching tools and connections (host.h); `allow` without a port
 *   means 443 and 80, `ask` and `deny` mean every port;
 * - `allow tool Read`: a tool by name;
 * - `deny exec docker`: kept and listed; judged at the exec gate.
 *
 * AGENT is a kind (`claude`) or a kind with the type of a subagent (`claude/reviewer`), where `*`
 * stands for every kind. The type is what the agent says of it: connections and execs tell none.
 *
 * SCOPE is `run R`, `attempt R.N`, `repo [FOLDER]` (the repository's common git folder; whoever
 * stores a rule without one fills it in), `always` (default). A word in quotes is always a value:
 * `'in'`. Deny beats ask beats allow. A shell string matches an allow only when wholly understood
 * (shellwords.h) and, for a prefix, when no further argument widens it (program.h); deny and ask
 * also match when any part could be the program (shellscan.h). Pure.
 */
#ifndef GATE_RULE_H
#define GATE_RULE_H

#include "gate/call.h"
#include "runner/base/strv.h"

enum rule_effect { RULE_ALLOW, RULE_ASK, RULE_DENY };
enum rule_what { RULE_COMMAND, RULE_EXACTLY, RULE_PATH, RULE_HOST, RULE_TOOL, RULE_EXEC };
enum rule_scope { RULE_ALWAYS, RULE_REPO, RULE_RUN, RULE_ATTEMPT };

/* Bounds of a rule as a person types it. */
enum { RULE_TEXT_BYTES = 4096, RULE_WORDS_MAX = 64 };

struct rule {
    int64_t id; /* 0: not stored */
    enum rule_effect effect;
    enum rule_what what;
    struct strv value; /* argv words, or one value */
    char *agent;       /* kind; NULL: all */
    char *subagent;    /* type of a subagent; NULL: the agent and all of its subagents */
    enum rule_scope scope;
    char *scope_value; /* "3", "3.2", repository common dir; NULL for always */
};
#define RULE_INIT \
    {             \
        0         \
    }
#define AUTO_RULE __attribute__((cleanup(rule_release)))
void rule_release(struct rule *r);
/* Parse the grammar above. ERR_USAGE names the word that is wrong and shows the form. */
bool rule_parse(struct rule *ret, const char *text, struct err *err) WARN_UNUSED;
/* Parse from words already split by a shell (rule add RULE...). One word alone is a whole rule's
 * text. */
bool rule_parse_words(struct rule *ret, char *const *words, size_t n, struct err *err) WARN_UNUSED;
/* Whether anything has the path that an exec rule names. Asked when a rule is made, since a refusal
 * that never meets its program is none; what is kept is read as it is. */
bool rule_can_meet(const struct rule *r, struct err *err) WARN_UNUSED;
void rule_text(struct buf *out, const struct rule *r); /* canonical: parse(text(x)) == x */
const char *rule_effect_name(enum rule_effect effect);

#endif
