/*
 * program: what is known of programs by name: which ones make a shell string opaque, and which
 * options of a program make a prefix rule mean more than it says.
 *
 * First form: tables of names. Absence from a table is not a promise that a program is harmless;
 * the box is the boundary. Pure.
 */
#ifndef GATE_PROGRAM_H
#define GATE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Why a simple command with this first word is opaque (a reserved word, a builtin that changes what
 * follows, a program that runs its arguments), or NULL. Static. args are those after argv[0]. */
const char *program_opaque(const char *name, char *const *args, size_t n_args);
/* True when one of the arguments that a prefix rule does not name lets the program run something
 * else, or work elsewhere (`npm test --script-shell=x`, `git log --output=x`). */
bool program_widens(const char *name, char *const *args, size_t n_args);

#endif
