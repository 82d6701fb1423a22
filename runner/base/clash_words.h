/*
 * clash_words: the member `conflicts` of an attempt (CLASH of runner/PROTOCOL.md) in words: with
 * whom and where, "main src/a.c:12 +2, 3.2 README". Not sanitised.
 */
#ifndef BASE_CLASH_WORDS_H
#define BASE_CLASH_WORDS_H

#include "runner/base/buf.h"
#include "runner/base/jx.h"

/* max_clashes, max_places: how many are told, and how many places of each; the rest is "+N". */
void clash_words(struct buf *out, const json_t *clashes, size_t max_clashes, size_t max_places);

#endif
