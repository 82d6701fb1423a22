/*
 * shellscan: where a command could be in a text, whatever the text means.
 *
 * The counterpart of shellwords for rules that deny or ask, and for the floor: it cuts any text
 * into what could be words and finds a command wherever it could be one. It errs towards finding;
 * what builds a command at run time from pieces it cannot see. Pure.
 */
#ifndef GATE_SHELLSCAN_H
#define GATE_SHELLSCAN_H

#include "runner/base/strv.h"

/* Cut any text into what could be words, quotes and backslashes dropped; "" marks a border between
 * commands. */
void shellscan_tokens(struct strv *out, const char *text, size_t len);
/* True when tokens start with words[0] (by base name) and go on with the other words, options and
 * the values of options left out of the count. */
bool shellscan_starts(char *const *tokens, size_t n_tokens, char *const *words, size_t n_words);
/* True when that holds from any token on. */
bool shellscan_has(const struct strv *tokens, char *const *words, size_t n_words);

#endif
