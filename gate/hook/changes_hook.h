/*
 * changes_hook: headgate-hook as git's core.fsmonitor in the worktree of an overlay
 * (runner/base/changes.h). Decides nothing and asks nobody.
 *
 * Called with version 2 and a token it prints a new token and the paths that may have changed, each
 * ended by NUL. Asked with a token of no use it names each folder, and all that the index has at
 * its top. Where it cannot tell (a worktree that is not this box's own, since git's folder may be
 * used from several; no upper layer; more than some 20,000 entries) it prints "/", which is all,
 * with a token of no use: git goes on to believe what it noted of untracked files before such an
 * answer. What it names too much costs a look at the file, never a change.
 */
#ifndef GATE_HOOK_CHANGES_HOOK_H
#define GATE_HOOK_CHANGES_HOOK_H

#include <stdbool.h>

bool changes_hook_is_called(const char *program);
/* The exit status of the process; git looks at every file when it is not 0. */
int changes_hook_main(char **argv);

#endif
