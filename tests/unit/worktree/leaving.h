/* leaving: what the tests of merges that leave checkouts as they are have in common. */
#ifndef TEST_WORKTREE_LEAVING_H
#define TEST_WORKTREE_LEAVING_H

#include "tests/unit/worktree/fixture.h"

/* wt_merge in the fixture's repository. */
bool merge_as(struct fixture *f, const struct wt_merge_ask *ask, struct wt_merge *ret,
              struct err *err);
/* Files and index of a checkout, whatever its HEAD is; operations under way too. Allocated. */
char *checkout_of(const struct fixture *f, const char *folder);
/* That of the main checkout, every ref, what HEAD is, and leftovers. Allocated. */
char *everything(const struct fixture *f);
/* assert_text with two allocated strings. */
void assert_both(char *got, char *expected);

#define WITH_WORK                                                           \
    struct fixture *f = *state;                                             \
    struct err err = ERR_INIT;                                              \
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;                  \
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;                        \
    struct wt_merge_ask ask = {.branch = "headgate/1/1", .ref_only = true}; \
    make_two_commits(f, &a);                                                \
    AUTO_FREE char *old = sh(f, f->repo, "git rev-parse main");             \
    (void)err, (void)ask

#endif
