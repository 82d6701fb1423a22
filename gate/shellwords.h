/*
 * shellwords: what a shell string certainly means, or that it is not understood.
 *
 * The splitter is sound, not complete: what it accepts, every POSIX shell and bash split into
 * exactly these commands and words; everything else is OPAQUE with a reason. It accepts
 * `simple (SEP simple)*`, SEP one of && || ; | or newlines, where the words of a simple command are
 * safe unquoted characters, '...', or "..." without $ ` \ !. Expansions, redirections, background,
 * subshells, comments, assignments, reserved words, builtins that change what follows, and programs
 * that run their arguments (program.h) are opaque.
 *
 * An opaque string never matches a rule that allows. Rules that deny or ask, and the floor, have
 * the opposite bias: see shellscan.h. Pure.
 */
#ifndef GATE_SHELLWORDS_H
#define GATE_SHELLWORDS_H

#include "runner/base/strv.h"

/* Beyond this no rule applies: nobody reads such a command before saying yes. */
enum { SHELLWORDS_MAX_BYTES = 10000 };

struct shellwords {
    struct strv *commands; /* argv of each simple command, in order */
    size_t n;
    const char *opaque; /* why it is not understood, static; NULL: it is, and n > 0 */
};
#define SHELLWORDS_INIT                          \
    {                                            \
        .commands = NULL, .n = 0, .opaque = NULL \
    }
#define AUTO_SHELLWORDS __attribute__((cleanup(shellwords_release)))
void shellwords_release(struct shellwords *s);
/* What of a text a person cannot read as it stands (control characters, spaces that are not U+0020,
 * characters that do not show, bytes that are not UTF-8, excess), static, or NULL. */
const char *shellwords_unreadable(const char *text, size_t len);
/* Split len bytes. Opaque results hold no commands. */
void shellwords_split(struct shellwords *ret, const char *text, size_t len);
/* One simple command that came as a vector, no shell between; opaque when argv[0] runs its
 * arguments. */
void shellwords_of_argv(struct shellwords *ret, const struct strv *argv);

#endif
