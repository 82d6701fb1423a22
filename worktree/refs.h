/*
 * refs: a repository's refs as one listing, and changes to them as one transaction.
 *
 * An attempt with the branch headgate/RUN/N owns, in the person's repository:
 *   refs/heads/headgate/RUN/N       the public branch; a person may move it
 *   refs/headgate/RUN/N/harvested   the value that the branch was last given: the compare in
 * compare-and-swap refs/headgate/RUN/N/head        the tip when the branch could not be moved
 *   refs/headgate/RUN/N/snapshot    uncommitted work, a commit on top of the box's HEAD
 *   refs/headgate/RUN/N/merged      the tip that a squash or a rebase brought into another branch
 *   refs/headgate/RUN/N/{heads,tags}/NAME, .../stash/I, .../worktrees/I, .../other/NAME
 *                                   whatever else the box made (harvest_box.h)
 *   refs/headgate/base/RUN/N        the base, where no branch holds it, until the attempt is
 * discarded refs/headgate/merged/OID        in a submodule: a commit that a merged attempt records
 *   refs/headgate/keep/RUN/N/OID    the base and every tip ever harvested, so that no gc takes them
 */
#ifndef WORKTREE_REFS_H
#define WORKTREE_REFS_H

#include "runner/base/buf.h"
#include "runner/base/strv.h"

#define REFS_OWN "refs/headgate/"
#define REFS_KEEP "refs/headgate/keep/"
#define REFS_BASE "refs/headgate/base/"
#define REFS_MERGED "refs/headgate/merged/"
#define BRANCH_PREFIX "headgate/"

struct ref {
    char *name;
    char *oid;
    char *symref; /* NULL unless symbolic */
};

struct ref_list {
    struct ref *v; /* sorted by name */
    size_t n, cap;
};

#define REF_LIST_INIT               \
    {                               \
        .v = NULL, .n = 0, .cap = 0 \
    }
#define AUTO_REF_LIST __attribute__((cleanup(refs_release)))

/* patterns as for `git for-each-ref`, NULL-terminated. */
bool refs_list(struct ref_list *ret, const char *common_dir, const char *const *patterns,
               struct err *err) WARN_UNUSED;
void refs_release(struct ref_list *list);
/* Add at the end (copies); sort before finding. */
void refs_add(struct ref_list *list, const char *name, const char *oid, const char *symref);
void refs_sort(struct ref_list *list);
/* Borrowed, NULL when absent. */
const struct ref *refs_find(const struct ref_list *list, const char *name);
/* Its value, or "". */
const char *refs_oid(const struct ref_list *list, const char *name);

struct gitrun;
/* Where a ref is now, in the repository of in; "" when it is not there or cannot be told. */
void refs_where(struct buf *ret_oid, const struct gitrun *in, const char *name);

/* As git-check-ref-format(1) has it, for a name of one or more parts. */
bool refs_is_valid_name(const char *name);
/* What follows "headgate/" in a branch's name, borrowed; NULL when it does not start so. */
const char *refs_attempt_part(const char *branch);
/* Every ref of one attempt, by its branch. */
bool refs_list_attempt(struct ref_list *ret, const char *common_dir, const char *branch,
                       struct err *err) WARN_UNUSED;

/* Lines for `git update-ref --stdin -z`; old NULL: any value; "" : must not exist. */
void refs_tx_set(struct buf *tx, const char *name, const char *oid, const char *old);
void refs_tx_delete(struct buf *tx, const char *name, const char *old);
/* All or nothing. An empty transaction runs nothing. reason goes to the reflog. */
bool refs_tx_run(const struct buf *tx, const char *common_dir, const char *reason,
                 struct err *err) WARN_UNUSED;

#endif
