/*
 * shim: headgate-hook under the name of git, gh or glab, first in PATH of every box.
 *
 * What broker.h lists goes to the gate, and what comes of it is printed as the program itself
 * would; everything else is the real program, found behind it in PATH, by one exec without any
 * other work. Nothing here decides anything: a box that goes around it meets a program without
 * credentials.
 *
 * The box's own part of a command is done here, with the box's rights: the commit that is to be
 * pushed is named, text in a file becomes --body, what was fetched is taken in by the real git from
 * a read-only repository, and remote-tracking refs are set.
 */
#ifndef GATE_HOOK_SHIM_H
#define GATE_HOOK_SHIM_H

#include <stdbool.h>

/* Whether argv[0] is one of the three names. */
bool shim_is_called(const char *program);
/* Does not return before the command is done; the exit status of the process. */
int shim_main(char **argv);

#endif
