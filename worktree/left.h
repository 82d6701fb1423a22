/*
 * left: what the last harvest with a snapshot could not bring home, and only the worktree has:
 * files that are too large, folders that nobody may enter, repositories inside the worktree, and
 * whatever else git could not record. It is told with the harvest, and discard asks for it.
 */
#ifndef WORKTREE_LEFT_H
#define WORKTREE_LEFT_H

#include "worktree/harvest_box.h"

/* Sentences for a person, each but the first after "; ". */
void left_add_note(struct buf *note, const struct harvest_box *box);
/* Lines of the review list. */
void left_add_review(struct strv *review, const struct harvest_box *box);
/* Note it in the attempt's folder, in the place of what was noted before. */
bool left_keep(const struct wt_attempt *a, const struct harvest_box *box,
               struct err *err) WARN_UNUSED;
/* ERR_REFUSED: the attempt, or one of its submodules, has such a thing; with where it is. */
bool left_refuse(const struct wt_attempt *a, struct err *err) WARN_UNUSED;

#endif
