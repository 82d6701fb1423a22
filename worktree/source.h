/*
 * source: what is read of a person's repository to make attempts from it. Each part is read by the
 * first that asks and stays as it was then; readers on other threads wait for it.
 */
#ifndef WORKTREE_SOURCE_H
#define WORKTREE_SOURCE_H

#include "worktree/gitcfg.h"
#include "worktree/refs.h"
#include "worktree/worktree.h"

/* Borrowed of the source, as all that it gives. cfg is that of the worktree in question; refs are
 * heads, tags, those of remotes and our own. */
bool source_cfg(const struct gitcfg **ret, struct wt_source *s, struct err *err) WARN_UNUSED;
bool source_refs(const struct ref_list **ret, struct wt_source *s, struct err *err) WARN_UNUSED;

#endif
