/*
 * exec_form: whether an exec is what an approved shell call comes to. Pure.
 *
 * Agents do not hand a command to a shell as it was approved: each wraps it in text of its own. A
 * form is what is known of that, one pattern for each word of the exec, as data of the adapter:
 *
 *   %c  the command, byte for byte
 *   %d  as a word: the folder that the call named, for an agent that goes there later
 *   %q  one shell word that says the command when its quotes are read
 *   %i  one or more of letters, digits, `_`, `-`, `.`: a name that the agent makes up
 *   %a  any text
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

struct exec_form_call {
    const char *command, *folder;
};

/* argv: the words, each with its NUL, len bytes in all. call: NULL when there is none; then forms
 * that need one do not fit. */
bool exec_form_fits(const struct strv *form, const char *argv, size_t len,
                    const struct exec_form_call *call);
/* Whether a form says itself in which folder the command is run. */
bool exec_form_has_folder(const struct strv *form);

#endif
