/*
 * exec_form: whether an exec is what an approved shell call comes to. Pure.
 *
 * Agents do not hand a command to a shell as it was approved: each wraps it in text of its own. A
 * form is what is known of that, one pattern for each word of the exec, as data of the adapter:
 *
 *   %c  the command, byte for byte
 *   %q  one shell word that says the command when its quotes are read
 *   %i  one or more of letters, digits, `_`, `-`, `.`: a name that the agent makes up
 *   %a  at the end of a word: any further text
 *   %%  a per cent sign
 *   %*  as the last word: any further words
 *   %w  as the only word: the command is simple, and these are its words (no shell between)
 *
 * All else is itself. The first word is a program's name: the last part of argv[0] must be it, and
 * whoever asks checks that the program is that one. A form without the command describes a helper
 * that the agent starts by itself.
 */
#ifndef GATE_EXEC_FORM_H
#define GATE_EXEC_FORM_H

#include "runner/base/strv.h"

/* argv: the words, each with its NUL, len bytes in all. command: NULL when there is none; then forms
 * that need one do not fit. */
bool exec_form_fits(const struct strv *form, const char *argv, size_t len, const char *command);

#endif
