/*
 * shim_status: `git status` in the worktree of an overlay, which need not list folders for
 * untracked files.
 *
 * The index that an attempt is given says of each folder of the base that nothing in it is
 * untracked (git's untracked cache; worktree/gitindex_give). git 2.39 to 2.55 can miss files with
 * it once it has been carried on through other commands, so the box's git folder has it off, which
 * drops it from the index with the first command that writes one. Only a status that is asked for
 * with plain words may use it, and only with our hook, which names whatever has changed since it
 * was true.
 */
#ifndef GATE_HOOK_SHIM_STATUS_H
#define GATE_HOOK_SHIM_STATUS_H

/* Set what the real git is to be told in its environment; nothing for any other command, another
 * place, or where the caller has told git something himself. */
void shim_status_prepare(char **argv);

#endif
