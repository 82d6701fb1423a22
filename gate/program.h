/*
 * program: what is known of programs by name: which ones make a shell string opaque, and which
 * options of a program make a prefix rule mean more than it says.
 *
 * Tables of names. Absence from a table is not a promise that a program is harmless;
 * the box is the boundary. Pure.
 */
#ifndef GATE_PROGRAM_H
#define GATE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "runner/base/jx.h"

/* Why a simple command with this first word is opaque (a reserved word, a builtin that changes what
 * follows, a program that runs its arguments), or NULL. Static. args are those after argv[0]. */
const char *program_opaque(const char *name, char *const *args, size_t n_args);
/* True when name is this program, or this program with a version behind it (`gcc-12`,
 * `python3.11`). */
bool program_is(const char *name, const char *program);
/* The first word behind the n_spelled ones of a prefix rule that lets the program run something
 * else, load code, or work elsewhere (`npm test --script-shell=x`, `git log --output=x`), or NULL.
 * Borrowed from argv. */
const char *program_widens(char *const *argv, size_t n, size_t n_spelled);
/* The tables behind both, for people: [{"program":…,"options":[…]}], new reference. A program that
 * runs its arguments, which no rule covers at all, has a sentence for its options. */
json_t *program_options(void);
/* The programs that run their arguments, by name; static, *ret_n of them. */
const char *const *program_wrappers(size_t *ret_n);

#endif
