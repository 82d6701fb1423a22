/*
 * start: the commit that a run starts from, where that is more than a name: a person's uncommitted
 * work, a branch that only a remote has, what a remote has by now.
 *
 * Runs in the person's own command, with their credentials and their terminal. Their index, their
 * files and their branches stay as they are; a fetch updates remote-tracking branches as `git
 * fetch` does. A commit that no branch holds is held by a ref until the run holds it (wt_pin).
 */
#ifndef WORKTREE_START_H
#define WORKTREE_START_H

#include "worktree/worktree.h"

struct wt_start {
    struct wt_commit commit; /* ref: in words for people */
    bool is_wip;             /* a commit of uncommitted work, which no merge brings back */
    char *note;              /* a sentence for the person, or NULL */
    char *held;              /* ref that holds the commit for now, or NULL */
};
void wt_start_release(struct wt_start *s);
#define WT_START_INIT            \
    {                            \
        .commit = {.ref = NULL } \
    }
#define AUTO_WT_START __attribute__((cleanup(wt_start_release)))

/* Uncommitted work, untracked files included and ignored ones not, as a commit on HEAD, or without
 * a parent where there is no commit yet. HEAD itself when nothing is uncommitted. Repositories in
 * the tree that are no submodules, and uncommitted work inside submodules, stay out: the note says
 * so. ERR_USAGE: the repository is bare. */
bool wt_start_wip(struct wt_start *ret, const struct wt_repo *repo, struct err *err) WARN_UNUSED;

/* rev as wt_resolve takes it, else the branch of that name of the one remote that has it. fetch:
 * the remote is asked first (blocks on the network), and what it has counts, unless the local
 * branch has commits of its own. The note says what was taken. ERR_NOT_FOUND says how to go on. */
bool wt_start_from(struct wt_start *ret, const struct wt_repo *repo, const char *rev, bool fetch,
                   struct err *err) WARN_UNUSED;

/* A local branch, which the work is to come back to; *ret_branch: its short name, borrowed from
 * `branch`. A tag, a commit and a branch of a remote are ERR_NOT_FOUND. */
bool wt_start_on(struct wt_start *ret, const char **ret_branch, const struct wt_repo *repo,
                 const char *branch, bool fetch, struct err *err) WARN_UNUSED;

/* Delete the ref that holds the commit. */
void wt_start_let_go(struct wt_start *s, const struct wt_repo *repo);

/* Hold the base of attempts that have none of their refs yet, by their branches
 * (refs/headgate/base/RUN/N), until they are discarded. */
bool wt_pin(const char *common_dir, const struct strv *branches, const char *oid,
            struct err *err) WARN_UNUSED;
/* Let go of the base of an attempt that never got a worktree. */
bool wt_unpin(const char *common_dir, const char *branch, struct err *err) WARN_UNUSED;

#endif
