/*
 * review: what of an attempt's changes could run on the host next, before anybody has looked:
 * programs, hooks, CI, and the settings of editors and agents. A list of names to read, not a
 * judgement.
 */
#ifndef WORKTREE_REVIEW_H
#define WORKTREE_REVIEW_H

#include "runner/base/strv.h"
#include "worktree/treediff.h"

/* Append "WHY\tPATH" lines; paths are escaped (TEXT_EXACT). A file may have several. Only what is
 * new or changed counts. hooks_in_tree: core.hooksPath below the top, "" for none. */
bool review_list(struct strv *ret, const char *common_dir, const struct treediff *diff,
                 const char *hooks_in_tree, struct err *err) WARN_UNUSED;
/* Append one line of it. */
void review_add(struct strv *ret, const char *why, const char *path);
/* The reason that a path has by its name alone, or NULL. Static string. */
const char *review_reason_of_path(const char *path, const char *hooks_in_tree);

#endif
