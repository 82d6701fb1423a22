/*
 * markers: where conflicts are in files that git could not merge, by the markers that it left in
 * the merged tree.
 */
#ifndef WORKTREE_MARKERS_H
#define WORKTREE_MARKERS_H

#include "runner/base/strv.h"

/* Called for each conflict in order: line as the first side of the merge has it, from 1. */
typedef void (*markers_fn)(void *arg, size_t path, long line);

/* Look into paths (the first few, of a bounded size) of a tree. env: as graft has it. What cannot
 * be read has no lines. */
void markers_each(const char *common_dir, const struct strv *env, const char *tree,
                  const struct strv *paths, markers_fn each, void *arg);
/* The same for one text. Pure. */
void markers_in(const char *text, size_t len, size_t path, markers_fn each, void *arg);

#endif
