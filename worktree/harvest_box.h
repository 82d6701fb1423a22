/*
 * harvest_box: what a box has to bring home: its refs, a snapshot, and one pack.
 *
 * A script runs git in the private git folder, in a box, where the agent's configuration may do
 * what it likes. It prints lines and then a pack; every line is checked here, and nothing that it
 * says is believed without the objects to prove it.
 */
#ifndef WORKTREE_HARVEST_BOX_H
#define WORKTREE_HARVEST_BOX_H

#include "worktree/refs.h"
#include "worktree/unread.h"
#include "worktree/worktree.h"

/* Bounds on what one harvest may bring. */
enum { HARVEST_MAX_REFS = 10000, HARVEST_MAX_HEADER_BYTES = 4 * 1024 * 1024 };
#define HARVEST_MAX_PACK_BYTES (INT64_C(2) * 1024 * 1024 * 1024)
#define HARVEST_MAX_OBJECTS 2000000u
#define HARVEST_TIMEOUT_MS (INT64_C(15) * 60 * 1000)
#define HARVEST_REFS_TIMEOUT_MS (INT64_C(2) * 60 * 1000) /* while the agent works */
#define HARVEST_MAX_DATA_BYTES (INT64_C(2) << 30)        /* what a program may hold of a pack */

struct harvest_box {
    char head[65];     /* "" when the box's HEAD has no commit */
    char snapshot[65]; /* "" */
    /* Changed heads and tags by their names; entries of the stash and what an interrupted command
     * had put aside as "refs/stash/I", detached HEADs of worktrees of its own as
     * "refs/worktrees/I", and any other, say refs/notes/x, as "refs/other/notes/x". */
    struct ref_list refs;
    struct unread unread; /* what is left out, but for what is ignored; as the box wrote it */
    bool is_partial;      /* git could not record all other files */
    struct buf note;      /* what a person should know, sanitised; "" */
    int pack_fd;          /* at the first byte of the pack; -1 when there is nothing new */
    uint32_t n_objects;
};

#define HARVEST_BOX_INIT                                                              \
    {                                                                                 \
        .refs = REF_LIST_INIT, .unread = UNREAD_INIT, .note = BUF_INIT, .pack_fd = -1 \
    }
#define AUTO_HARVEST_BOX __attribute__((cleanup(harvest_box_release)))

struct harvest_ask {
    const struct wt_attempt *a;
    bool with_snapshot;
    const struct ref_list *known; /* what the person's repository has: not packed again */
    const char *last_snapshot;    /* kept when nothing has changed since; "" */
    wt_box_fn run_in_box;
    void *arg;
};

/* Uses <dir>/scratch and <dir>/incoming; the caller removes them (attempt_sweep_harvest). */
bool harvest_box_run(struct harvest_box *ret, const struct harvest_ask *ask,
                     struct err *err) WARN_UNUSED;
/* Take the lines apart; oid_len is 40 or 64. *ret_pack_at: offset of the pack. For tests and
 * fuzzing too. */
bool harvest_box_parse(struct harvest_box *ret, size_t *ret_pack_at, const char *text, size_t len,
                       size_t oid_len, struct err *err) WARN_UNUSED;
void harvest_box_release(struct harvest_box *b);

/* Its parts, one after the other; NULL ends them. */
extern const char *const harvest_script[];

#endif
