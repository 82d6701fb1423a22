/*
 * confirm: what was allowed of late, for agents that ask twice about one call.
 *
 * Codex asks its hook, which can carry a person's words to the model but is passed over when it
 * fails, and then its client, which can carry no words but without whose yes nothing runs. The
 * second question is answered from here: once for each call that was allowed, by the agent's own
 * name of the call and by what it does. Anything else of the kind is a call as any other.
 *
 * Claude Code (seen with 2.1.332) asks its hook twice about one call that names its file by a
 * relative path: as its model wrote it, and with the path joined to the folder. The second follows
 * from the first, once: the agent's own name of the call, session, folder and arguments are the
 * same, and the path is the joined one to the byte. A path with `..`, `~` or an end that means a
 * folder is not joined here, since the two could then lead to different files.
 *
 * Pure; forgetting the oldest costs a question to a person, never a denial.
 */
#ifndef GATE_CONFIRM_H
#define GATE_CONFIRM_H

#include "gate/call.h"

enum { CONFIRM_KEPT = 256 };

struct confirm_key {
    char name[DIGEST_HEX_SIZE];   /* tool, the agent's id of the call, subagent; "": it cannot be
                                     asked again */
    char action[DIGEST_HEX_SIZE]; /* as call_action_digest */
    char whole[DIGEST_HEX_SIZE];  /* session and action */
    char joined[DIGEST_HEX_SIZE]; /* the same with its relative path joined to the folder; "": it
                                     has none */
};
struct confirm {
    struct confirm_key *kept; /* ring */
    size_t n, next;
};

void confirm_release(struct confirm *c);
/* The key of a call, computed before its arguments are let go. */
void confirm_key_of(struct confirm_key *ret, const struct call_request *r);
/* A call of the source `confirm`: the agent asks again. */
bool confirm_is_asked(const struct call_request *r);
/* The call with this key was allowed. */
void confirm_add(struct confirm *c, const struct confirm_key *key);
/* True once for each call that was added. Where the question tells the changes that an edit makes
 * and not its text (the member `changes`), the name alone is compared. */
bool confirm_take(struct confirm *c, const struct call_request *r, const struct confirm_key *key);
/* The hook asks again about a call that was allowed, with its path joined. True once, and never
 * for a call that confirm_take was true for. */
bool confirm_follows(struct confirm *c, const struct call_request *r,
                     const struct confirm_key *key);

#endif
