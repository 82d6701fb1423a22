/*
 * subs: the submodules of an attempt, from the person's own copies and never from a network.
 *
 * A base (with the checkout engine the tree itself) holds the files of every submodule that the
 * person has the commit of, nested ones included, and the attempt's git folder has one of its own
 * for each, below modules/ as git has it. Their git folders are written by an agent, so nothing on
 * the host leads the person's git to them. To a harvest a submodule is an attempt in the person's
 * repository of that submodule, on a branch of the same name.
 */
#ifndef WORKTREE_SUBS_H
#define WORKTREE_SUBS_H

#include "worktree/basetree.h"

void wt_subs_release(struct wt_subs *subs);

/* Put the files of all submodules of the base below tree, with an index "sub<I>" for each in
 * folder; what was found goes on record there. */
bool subs_check_out(const struct basetree_want *want, const char *folder, const char *tree,
                    struct err *err) WARN_UNUSED;
/* Append what distinguishes two bases of one commit: which copies there are. */
void subs_add_key(struct buf *out, const struct wt_repo *repo);
/* Read the record of a base. why: what is not there, in words, appended. */
bool subs_load(struct wt_subs *ret, const char *folder, struct buf *why,
               struct err *err) WARN_UNUSED;

/* In a new attempt: git folders, the pointers to them among the files, the settings. folder: of the
 * indexes "sub<I>". */
bool subs_equip(const struct wt_attempt *a, const char *folder, struct err *err) WARN_UNUSED;
/* A submodule as an attempt in its own right; caller releases. Its folder is <dir>/sub<I>. */
void subs_view(struct wt_attempt *ret, const struct wt_attempt *a, size_t i);
/* Whether submodule i, seen as s, has anything that was not brought home. */
bool subs_has_news(const struct wt_attempt *a, const struct wt_attempt *s, size_t i,
                   bool with_snapshot);
/* Lines of an attempt's record, and back. */
/* Add copies of those below one path of a tree, by their paths below it. */
void subs_below(struct wt_subs *ret, const struct wt_subs *subs, const char *path);
void subs_describe(struct strv *record, const struct wt_subs *subs);
void subs_parse(struct wt_subs *ret, const struct strv *record);

#endif
