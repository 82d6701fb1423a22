/*
 * setup: what a repository asks for in the file `.headgate` of the person's checkout.
 *
 * It may only tighten, by a rung and by rules that deny or ask, with one exception: worktree.setup
 * names a command that runs in each box first. Nothing of it counts without the person's consent to
 * exactly these bytes (SHA-256), from which also the values are parsed.
 */
#ifndef SERVER_SETUP_H
#define SERVER_SETUP_H

#include "gate/policy.h"
#include "runner/base/digest.h"

struct setup {
    char digest[DIGEST_HEX_SIZE]; /* of the file's bytes */
    char *command;                /* worktree.setup; NULL: none */
    char *teardown;               /* worktree.teardown; NULL: none */
    char *ladder;                 /* gate.ladder; NULL: none */
    struct strv rules; /* gate.rule: rules that deny or ask, canonical, without a scope */
    struct strv notes; /* sentences on what was not taken */
};
#define SETUP_INIT \
    {              \
        0          \
    }
#define AUTO_SETUP __attribute__((cleanup(setup_release)))
void setup_release(struct setup *s);

/* Read the file below toplevel; none there leaves all members unset. */
bool setup_read(struct setup *ret, const char *toplevel, struct err *err) WARN_UNUSED;
/* Whether anything of it would count, and so needs consent. */
bool setup_asks(const struct setup *s);
/* Append what it asks for, as the rest of a sentence. */
void setup_describe(struct buf *out, const struct setup *s);
/* Lower the rung to the repository's when that is stricter, saying so in why. */
bool setup_tighten(enum ladder *ladder, struct buf *why, const struct setup *s,
                   struct err *err) WARN_UNUSED;

#endif
