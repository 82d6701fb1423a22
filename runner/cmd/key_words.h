/*
 * key_words: how the key of an agent's model gets to it, in words.
 */
#ifndef CMD_KEY_WORDS_H
#define CMD_KEY_WORDS_H

#include "runner/agents/agent.h"
#include "runner/base/jx.h"

/* Members of row: `key`, a word for lists (none, relay, passed in, login), and `key_text`, a
 * sentence for people. */
bool key_words(json_t *row, const struct agent *agent, const struct strv *env,
               const struct config *config, struct err *err) WARN_UNUSED;
/* Allocated: that this shell and the configuration have no key for an agent that needs one, and
 * what does; NULL: there is one. */
char *key_missing(const struct agent *agent, const struct config *config);

#endif
