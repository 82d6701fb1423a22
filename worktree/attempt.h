/*
 * attempt: the description of an attempt, and its two records on disk.
 */
#ifndef WORKTREE_ATTEMPT_H
#define WORKTREE_ATTEMPT_H

#include "worktree/worktree.h"

/* Fill the paths that follow from the folder alone. */
void attempt_name_paths(struct wt_attempt *a, const char *dir);
/* And the one that follows from the engine. */
void attempt_name_files(struct wt_attempt *a);
/* Where the host finds what the agent writes: an overlay's upper layer, or all the files. */
const char *attempt_files(const struct wt_attempt *a);
/* Open a folder of the private git folder ("." for itself), following no symlink of the agent's; -1
 * when it is not there. */
int attempt_open_git(const struct wt_attempt *a, const char *below);
/* Write the record that makes the attempt exist for wt_load. */
bool attempt_save(const struct wt_attempt *a, struct err *err) WARN_UNUSED;

/* The public branch and the marks that go with it, at the base. base_name: for the reflog, or NULL.
 */
bool attempt_make_refs(const struct wt_attempt *a, const char *base_name,
                       struct err *err) WARN_UNUSED;

/* What is half done. */
enum attempt_op { OP_NONE, OP_CREATE, OP_HARVEST, OP_DISCARD };
/* Written before anything outside the folder is touched; extra (or NULL) is one more KEY=VALUE. */
bool attempt_begin(const struct wt_attempt *a, enum attempt_op op, const char *extra,
                   struct err *err) WARN_UNUSED;
bool attempt_end(const struct wt_attempt *a, struct err *err) WARN_UNUSED;

/* Undo a creation, whatever it got to. */
bool attempt_undo_create(const struct wt_attempt *a, struct err *err) WARN_UNUSED;
/* Remove host face, refs and folder contents; may be run again after a crash at any point. */
bool attempt_finish_discard(const struct wt_attempt *a, struct err *err) WARN_UNUSED;
/* Remove what a harvest needs for its own duration. */
bool attempt_sweep_harvest(const char *dir, const char *quarantine, struct err *err) WARN_UNUSED;

#endif
