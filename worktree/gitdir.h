/*
 * gitdir: the private git folder of an attempt, which is the agent's own from the moment the box
 * starts.
 *
 * Seeded from the person's repository: HEAD on a branch named as the public one, an index that is
 * valid as it is, every head, tag and remote ref, the settings that shape content, excludes,
 * attributes, repository hooks; the person's objects through objects/info/alternates, to be shown
 * read-only. Never seeded: credentials, includes, signing keys, aliases, external programs, the
 * secrets in a remote's address. It has no commondir: nothing in it depends on the person's folder
 * but the objects. After this the host neither runs git in it nor trusts what is in it.
 */
#ifndef WORKTREE_GITDIR_H
#define WORKTREE_GITDIR_H

#include "worktree/gitcfg.h"
#include "worktree/refs.h"
#include "worktree/worktree.h"

struct gitdir_seed {
    const struct wt_repo *repo;
    const struct gitcfg *cfg;
    const struct ref_list *refs; /* refs/heads, refs/tags, refs/remotes */
    const char *branch;
    const char *base;
    const char *index; /* copied; NULL: the caller puts it there */
    bool is_overlay;   /* git asks the box what has changed (runner/base/changes.h) */
};

/* Make the folder gitdir, which must not exist. */
bool gitdir_make(const char *gitdir, const struct gitdir_seed *seed, struct err *err) WARN_UNUSED;
/* The repository's object folder and all that it borrows from, as absolute paths in git's own
 * spelling. */
bool gitdir_object_dirs(struct strv *ret, const char *common_dir, struct err *err) WARN_UNUSED;
/* The configuration file's text. */
void gitdir_config(struct buf *out, const struct gitdir_seed *seed, const char *gitdir);
/* The same of the private home: who commits in repositories that a test or an agent makes. */
void gitdir_home_config(struct buf *out, const struct gitcfg *cfg);
/* core.hooksPath as a path below the worktree's top ("" for none): hooks that live in the tree.
 * allocated */
char *gitdir_hooks_in_tree(const struct wt_repo *repo, const struct gitcfg *cfg);

#endif
