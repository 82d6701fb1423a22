/*
 * tree: what commands need of an attempt's repository: its commits brought home, its diff.
 */
#ifndef CMD_TREE_H
#define CMD_TREE_H

#include "runner/cmd/client.h"
#include "worktree/worktree.h"

/* attempt.show for words, after a harvest of those that still run: what they committed until now is
 * in. */
bool tree_attempts(json_t **ret, struct client *c, const struct strv *words,
                   struct err *err) WARN_UNUSED;
/* Open the attempt's repository. */
bool tree_repo(struct wt_repo *ret, const json_t *attempt, struct err *err) WARN_UNUSED;
/* What the attempt's work is compared with (wt_diff_base). */
bool tree_base(char ret[65], const struct wt_repo *repo, const json_t *attempt,
               struct err *err) WARN_UNUSED;
/* Append the attempt's diff; nothing when it changed nothing. Not sanitised. paths NULL: all. */
bool tree_diff(struct buf *out, const json_t *attempt, enum wt_diff_form form,
               const struct strv *paths, struct err *err) WARN_UNUSED;
/* Each path is a file or folder of one of the attempts, or of what it began from: ERR_NOT_FOUND
 * with the first that is none. */
bool tree_check_paths(const json_t *attempts, const struct strv *paths,
                      struct err *err) WARN_UNUSED;
/* True when the attempt changed something. */
bool tree_has_work(const json_t *attempt);

#endif
