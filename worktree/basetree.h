/*
 * basetree: one immutable checkout per commit, shared by every attempt that starts there.
 *
 *   <bases_dir>/<oid>-<8 hex>/tree    the files
 *   <bases_dir>/<oid>-<8 hex>/index   an index that is valid for them
 *   <bases_dir>/<oid>-<8 hex>/face    the same with every entry skip-worktree, for host faces
 *   <bases_dir>/<oid>-<8 hex>.lock    flock: exclusive while it is made or removed, shared while it
 * is being taken
 *
 * The eight digits stand for the repository, the settings that shape content, the owner, and what
 * the files are for. A base is made under a temporary name and renamed, so what has its name is
 * whole.
 */
#ifndef WORKTREE_BASETREE_H
#define WORKTREE_BASETREE_H

#include "worktree/checkout.h"

struct basetree {
    char *path, *tree, *index, *face;
    int lock_fd; /* shared: nobody removes the base before this is closed */
    char *under; /* the files that it lies over (basetree_delta.h), NULL: it is whole */
    int under_fd;
};

#define BASETREE_INIT                               \
    {                                               \
        .path = NULL, .lock_fd = -1, .under_fd = -1 \
    }
#define AUTO_BASETREE __attribute__((cleanup(basetree_release)))

enum basetree_kind {
    BASETREE_LAYER,     /* the lower layer of overlays: what differs from another one may do */
    BASETREE_FILES,     /* to be cloned file by file */
    BASETREE_SUBVOLUME, /* to be taken snapshots of */
};

struct basetree_want {
    enum basetree_kind kind;
    const struct wt_repo *repo;
    const struct gitcfg *cfg;
    const char *bases_dir;
    const char *oid;
    uid_t uid;
    gid_t gid;
};

/* Find it or make it; waits while another does. */
bool basetree_get(struct basetree *ret, const struct basetree_want *want,
                  struct err *err) WARN_UNUSED;
void basetree_release(struct basetree *b);
/* Open and lock <bases_dir>/<key>.lock. *ret_fd is -1 when try_only and somebody holds it. */
bool basetree_lock(int *ret_fd, const char *bases_dir, const char *key, bool try_only,
                   struct err *err) WARN_UNUSED;

/* Keep others from removing a base until *ret_fd is closed. */
bool basetree_share(int *ret_fd, const char *bases_dir, const char *key,
                    struct err *err) WARN_UNUSED;

#endif
