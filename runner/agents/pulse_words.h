/*
 * pulse_words: a pulse (pulse.h, as JSON) in words for lists and screens. Pure. What comes from an
 * agent in it is sanitised.
 */
#ifndef AGENTS_PULSE_WORDS_H
#define AGENTS_PULSE_WORDS_H

#include "runner/base/jx.h"

/* How the agent stands if it does not simply work: "rate limited until 14:05", "retrying", "waiting
 * for input". False, and nothing added, when there is nothing to say. pulse NULL: nothing was told.
 */
bool pulse_words(struct buf *out, const json_t *pulse, int64_t now_ms);
/* The same as one short word: "limited", "retrying", "input"; NULL. */
const char *pulse_word(const json_t *pulse, int64_t now_ms);
/* "12.3k in, 40.1k cached, 1.2k out; $0.12". False: none were told. */
bool pulse_add_use(struct buf *out, const json_t *pulse);
/* "2 tries again, 1 error: TEXT". False: none. */
bool pulse_add_troubles(struct buf *out, const json_t *pulse);
/* " until 14:05", with the date where it is not today; nothing when until_ms is 0. */
void pulse_add_until(struct buf *out, int64_t until_ms, int64_t now_ms);

#endif
