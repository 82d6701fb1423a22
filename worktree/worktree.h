/*
 * worktree: one attempt's source-control state: its files, its private git folder, its branch in
 * the person's repository, and the way back.
 *
 * Every function blocks and may run on a worker thread; two functions on the same attempt must not
 * run at the same time (the caller serialises them), functions on different attempts of one
 * repository may (40 creations and removals at once are tested). git(1) does the work, with a
 * scrubbed environment, hooks and fsmonitor off. Host-side git never reads configuration that an
 * agent could write.
 *
 * Layout of an attempt's folder `dir`: git/ (private gitdir, the agent's own), upper/ work/
 * (overlay) or files/ (btrfs, reflink), tree/ (mount point and host face), home/, gitfile (what the
 * box sees as <tree>/.git), seed and seeded (the refs and files that it started with), attempt (the
 * record that wt_load reads), harvested (when everything was last brought home), journal (what is
 * half done). README.md tells the rest.
 */
#ifndef WORKTREE_WORKTREE_H
#define WORKTREE_WORKTREE_H

#include <stdint.h>
#include <sys/types.h>
#include "runner/base/proc.h"
#include "runner/base/strv.h"

/* In the order in which they are chosen. */
enum wt_engine {
    WT_ENGINE_OVERLAY,  /* over a base that all attempts share */
    WT_ENGINE_BTRFS,    /* a snapshot of it */
    WT_ENGINE_REFLINK,  /* its files cloned one by one */
    WT_ENGINE_CHECKOUT, /* written anew; the host sees them */
};
enum { WT_ENGINES = WT_ENGINE_CHECKOUT + 1 };
const char *wt_engine_name(enum wt_engine engine);
/* What it gives and takes, for a person who chooses. Static. */
const char *wt_engine_trade(enum wt_engine engine);
bool wt_engine_parse(enum wt_engine *ret, const char *name, struct err *err) WARN_UNUSED;
/* Whether it works for bases in this folder, tried once per boot; else *ret_why, allocated, says
 * what is in the way. */
bool wt_engine_works(enum wt_engine engine, const char *bases_dir, char **ret_why);
/* The same as an error for whoever named it: ERR_USAGE. */
bool wt_engine_check(enum wt_engine engine, const char *bases_dir, struct err *err) WARN_UNUSED;
/* The first that works. *ret_why, allocated: why not those before it. */
enum wt_engine wt_engine_first(const char *bases_dir, char **ret_why);

/* A repository that a person named, opened and looked at once. */
struct wt_repo {
    char *toplevel;   /* root of the main or linked worktree it was opened from; NULL when bare */
    char *common_dir; /* absolute: what all worktrees share */
    char *git_dir;    /* absolute: common_dir, or that linked worktree's own folder */
    char *object_format; /* "sha1", "sha256" */
    bool is_bare, is_shallow;
    char *subdir;   /* path of the opened folder below toplevel, "" at the top */
    char *head_ref; /* "refs/heads/main", NULL when detached */
};

/* ERR_NOT_FOUND: no repository there (the sentence says how to make one). ERR_USAGE: inside a git
 * folder, or not supported. ERR_REFUSED: it belongs to another user. A repository with no commit
 * opens; wt_resolve then fails. */
bool wt_repo_open(struct wt_repo *ret, const char *path, struct err *err) WARN_UNUSED;
void wt_repo_release(struct wt_repo *repo);
#define WT_REPO_INIT     \
    {                    \
        .toplevel = NULL \
    }
#define AUTO_WT_REPO __attribute__((cleanup(wt_repo_release)))

struct wt_remote {
    char *name;
    char *url, *push; /* as git would use them to fetch and to push: may hold secrets */
};
struct wt_remotes {
    struct wt_remote *v;
    size_t n;
};
#define WT_REMOTES_INIT \
    {                   \
        .v = NULL       \
    }
#define AUTO_WT_REMOTES __attribute__((cleanup(wt_remotes_release)))
void wt_remotes_release(struct wt_remotes *r);
/* The remotes that the person's own configuration has for a repository, url.*.insteadOf applied. */
bool wt_remotes(struct wt_remotes *ret, const char *common_dir, struct err *err) WARN_UNUSED;
/* Allocated: the short name of the branch that the main checkout is on, or NULL. */
char *wt_main_branch(const char *common_dir, struct err *err);

/* In an attempt's folder: absolute paths of the person's that its box is to show read-only, each
 * ended by a NUL. */
#define WT_SHARED_RECORD "shared"

struct wt_commit {
    char oid[65];
    char *ref; /* what it was named by, for people: "main", "v1.2", "HEAD" when detached */
    char *subject;
};
void wt_commit_release(struct wt_commit *c);
#define WT_COMMIT_INIT \
    {                  \
        .ref = NULL    \
    }
#define AUTO_WT_COMMIT __attribute__((cleanup(wt_commit_release)))
/* rev NULL or "": HEAD of the worktree it was opened from. ERR_NOT_FOUND names the ref; no commit
 * yet: ERR_FAILED says to commit first. */
bool wt_resolve(struct wt_commit *ret, const struct wt_repo *repo, const char *rev,
                struct err *err) WARN_UNUSED;

/* The lowest run number >= wish for which no branch or ref headgate/<run>/... exists in the
 * repository. ERR_CONFLICT: a branch named headgate is in the way of all of them. */
bool wt_free_run_number(int64_t *ret, const struct wt_repo *repo, int64_t wish,
                        struct err *err) WARN_UNUSED;

/* How a program runs in a box of the attempt's profile: no network, no gate socket. Given by the
 * caller. */
struct wt_box_job {
    const char *const *argv; /* NULL-terminated */
    struct strv env;         /* added to the profile's environment */
    bool with_tree; /* the worktree is mounted at its path, writable only when tree_writable */
    bool tree_writable;
    bool gitdir_writable;
    const char
        *scratch_host; /* NULL: none; a host folder shown writable at /run/headgate/scratch */
    const void *input;
    size_t input_len;
    int output_fd; /* > 0: standard output goes there; no copy may stay open after the call */
    size_t max_output_bytes;
    int64_t timeout_ms;
};
typedef bool (*wt_box_fn)(void *arg, const struct wt_box_job *job, struct proc_result *ret,
                          struct err *err);

/* Where a box shows the private git folder once more, where the host shows the files (upper NULL).
 */
#define WT_INSIDE_GITDIR "/run/headgate/git"

/* A submodule that an attempt has, at any depth. */
struct wt_sub {
    char *name;    /* path of its git folder below modules/ */
    char *path;    /* below the top of the tree */
    char *repo;    /* the person's own git folder of it */
    char base[65]; /* the commit that the base records */
};
struct wt_subs {
    struct wt_sub *v;
    size_t n;
};

struct wt_attempt {
    char *id;       /* "3.2" */
    char *dir;      /* the attempt's folder, absolute */
    char *repo;     /* common_dir of the repository */
    char *toplevel; /* of the repository, NULL when bare */
    char *branch;   /* "headgate/3/2" */
    char base[65];
    enum wt_engine engine;
    char *engine_why;   /* why this engine, for people */
    char *tree;         /* where the files appear, the same path inside and outside */
    char *gitdir;       /* private gitdir; appears at this same path inside */
    char *gitdir_top;   /* of a submodule: the git folder of its attempt, above gitdir; else NULL */
    char *gitfile;      /* host file bound read-only over <tree>/.git inside */
    char *lower2;       /* overlay: what lower lies over, NULL: nothing */
    char *lower, *work; /* overlay; else NULL */
    char *upper; /* overlay: its upper layer; btrfs, reflink: the files, which the box shows at
                    tree; checkout: NULL, they are at tree */
    char *hooks_in_tree;    /* core.hooksPath below the top of the tree, "" for none */
    struct strv objects_ro; /* host folders to be shown read-only at their own path (alternates) */
    struct wt_subs subs;    /* submodules that are filled */
    uid_t uid;              /* owner of everything that the box writes; (uid_t)-1: the caller */
    gid_t gid;
};
void wt_attempt_release(struct wt_attempt *a);
#define WT_ATTEMPT_INIT                                \
    {                                                  \
        .id = NULL, .uid = (uid_t)-1, .gid = (gid_t)-1 \
    }
#define AUTO_WT_ATTEMPT __attribute__((cleanup(wt_attempt_release)))

/* What is read of a repository to make attempts from it. Those that are made together may share
 * one, on several threads: each part is then read once, by the first that needs it. */
struct wt_source;
/* path as for wt_repo_open; nothing is read yet. */
struct wt_source *wt_source_new(const char *path);
void wt_source_free(struct wt_source *s);
#define AUTO_WT_SOURCE __attribute__((cleanup(wt_source_cleanup)))
static inline void wt_source_cleanup(struct wt_source **s)
{
    wt_source_free(*s);
}
/* *ret is borrowed. */
bool wt_source_repo(const struct wt_repo **ret, struct wt_source *s, struct err *err) WARN_UNUSED;
/* wt_remotes of what all its worktrees share. */
bool wt_source_remotes(struct wt_remotes *ret, struct wt_source *s, struct err *err) WARN_UNUSED;

struct wt_create {
    const char *id;
    const char *dir; /* exists; on failure everything in it is removed */
    const char
        *bases_dir;     /* exists; where base checkouts are kept and shared, on dir's file system */
    const char *branch; /* starts with "headgate/" */
    const char *base_oid;  /* a whole object name */
    const char *base_name; /* for the host face's note */
    bool force_engine;     /* else the first that works */
    enum wt_engine engine;
    uid_t uid; /* (uid_t)-1: the caller */
    gid_t gid;
    const struct strv
        *share; /* worktree.share: ignored paths of the checkout that appear in the worktree
                   as links; the caller shows what WT_SHARED_RECORD lists. NULL: none */
    const struct strv *include; /* worktree.include: patterns in gitignore syntax of ignored files
                                   that are copied from the person's checkout; NULL: none */
};

/* Create: base checkout if new, private gitdir, host face (linked worktree entry, locked), branch.
 * Undone as a whole on failure. ERR_CONFLICT: the branch, or a ref in its way, exists. */
bool wt_create(struct wt_attempt *ret, struct wt_source *source, const struct wt_create *how,
               struct err *err) WARN_UNUSED;
/* Rebuild the description of an existing attempt from its folder (after a restart). */
bool wt_load(struct wt_attempt *ret, const char *dir, struct err *err) WARN_UNUSED;
/* Finish or undo what a crash left half done in this attempt's folder. Idempotent. */
bool wt_recover(const char *dir, struct err *err) WARN_UNUSED;

struct wt_harvest {
    char tip[65];       /* the attempt's work: the snapshot, else the box's HEAD, else the base */
    char snapshot[65];  /* commit of uncommitted work, "" when there was none */
    int64_t commits;    /* base..tip */
    int64_t files;      /* files changed base..tip (with snapshot) */
    bool branch_moved;  /* the public branch is at tip. False: a person moved, deleted or checked it
                           out  meanwhile; then the tip is at refs/headgate/RUN/N/head and note says
                           so */
    char *note;         /* sentences for a person, sanitised; NULL: none */
    struct strv review; /* "WHY\tPATH" lines, paths escaped: what could run on the host next */
};
void wt_harvest_release(struct wt_harvest *h);
#define WT_HARVEST_INIT \
    {                   \
        .note = NULL    \
    }
#define AUTO_WT_HARVEST __attribute__((cleanup(wt_harvest_release)))
/* Bring the box's commits home. with_snapshot: also uncommitted work (only when no process of the
 * box lives): it becomes a commit on top of the box's HEAD, kept at refs/headgate/RUN/N/snapshot,
 * and the public branch points at it when it exists, so that diff, review and merge see all the
 * work. Done again without a change it makes no new commit. A failure changes no ref; the box still
 * has everything. */
bool wt_harvest(struct wt_harvest *ret, const struct wt_attempt *a, bool with_snapshot,
                wt_box_fn run_in_box, void *arg, struct err *err) WARN_UNUSED;

/* The commit of a branch that the box made, as it was last harvested. ERR_NOT_FOUND. */
bool wt_branch_tip(char ret[65], const struct wt_attempt *a, const char *branch,
                   struct err *err) WARN_UNUSED;

/* The path of a file of Git LFS that is new or changed between two commits, allocated; NULL: none.
 * A push of the commits alone would leave its content behind. */
bool wt_new_lfs_file(char **ret, const char *common_dir, const char *from, const char *to,
                     struct err *err) WARN_UNUSED;

enum wt_diff_form { WT_DIFF_PATCH, WT_DIFF_STAT, WT_DIFF_NAMES };
/* Diff from..to between trees; no textconv, no external diff, no colour unless asked. Not
 * sanitised. NAMES: lines "STATUS\tPATH" as `git diff --name-status` has them (a rename has two
 * paths), odd paths quoted. paths: only these files and folders, by the letter; NULL: all.
 * ERR_LIMIT past LIMIT_CAPTURE_BYTES. */
bool wt_diff(struct buf *out, const char *repo_common_dir, const char *from, const char *to,
             enum wt_diff_form form, bool color, const struct strv *paths,
             struct err *err) WARN_UNUSED;

/* What an attempt's work is compared with: its base, or, once it has taken in more of its target,
 * the commit that both have in common. into NULL: the branch of the main checkout. */
bool wt_diff_base(char ret[65], const char *repo_common_dir, const char *base, const char *tip,
                  const char *into, struct err *err) WARN_UNUSED;

/* A file of a commit, whole. ERR_LIMIT past LIMIT_CAPTURE_BYTES. */
bool wt_read_file(struct buf *out, const char *repo_common_dir, const char *commit,
                  const char *path, struct err *err) WARN_UNUSED;

/* Whether a commit has anything of that name: a file, a folder, a link or a submodule. */
bool wt_has_path(bool *ret, const char *repo_common_dir, const char *commit, const char *path,
                 struct err *err) WARN_UNUSED;

enum wt_merge_how {
    WT_MERGE_AUTO /* ff when possible, else a merge commit */,
    WT_MERGE_SQUASH,
    WT_MERGE_REBASE
};
/* A checkout that has the target and was not updated: its files and index are as they were, its
 * HEAD is detached. */
struct wt_left {
    char *path;        /* raw */
    const char *doing; /* what is under way there: "merge", "cherry-pick", "revert", "am"; NULL:
                          nothing. Static */
    bool is_there;     /* false: its folder is gone, or on a disk that is not there now */
};
struct wt_merge {
    char commit[65]; /* the target's new commit, "" when up to date or conflicts */
    bool up_to_date, was_ff;
    struct strv conflicts; /* raw paths; non-empty means nothing was changed */
    char *into;            /* short name of the branch that it was about */
    char *note;            /* sentences for a person, or NULL */
    char target[65];       /* what the target was before */
    struct wt_left *left;  /* with a dry run: those that would be */
    size_t n_left;
};
void wt_merge_release(struct wt_merge *m);
#define WT_MERGE_INIT \
    {                 \
        .note = NULL  \
    }
#define AUTO_WT_MERGE __attribute__((cleanup(wt_merge_release)))
struct wt_merge_ask {
    const char *branch; /* of the attempt */
    const char *tip; /* a commit to merge in its place, which does not count as the attempt; NULL:
                        the branch */
    const char *own_tip; /* what to merge when somebody deleted the branch; NULL: nothing */
    const char *into; /* name of a branch, short or full; NULL: the branch of the main checkout */
    enum wt_merge_how how;
    const char *message;         /* NULL: a default; of no use to a fast-forward and a rebase */
    const char *leave_out;       /* a commit below the branch that stays out (uncommitted work that
                                    it started from): AUTO is then a rebase, or one commit when
                                    the branch has merged its target. NULL: none */
    const struct strv *trailers; /* "Key: value" lines for every commit that is made; there is then
                                    no fast-forward. NULL: none */
    bool ref_only; /* no checkout is updated: those that have the target are left as they are, off
                      it, their HEAD detached at its old commit */
    bool dry_run;  /* changes nothing */
};
/* Merge the attempt's branch. A target that is checked out is updated there by `git merge
 * --ff-only` with the person's own hooks and filters; ERR_REFUSED when local, untracked or ignored
 * files would be overwritten, when the target is checked out more than once (ref_only takes both),
 * and when it is being rebased or bisected (ref_only takes the latter). A checkout whose folder is
 * gone is left as ref_only leaves it. Work that is in the
 * target already, squashed or picked, is up to date. What is made is signed when the person
 * signs; with a rebase that is every commit. A rebase keeps each commit's author, a
 * squash the author of all its commits when that is one. */
bool wt_merge(struct wt_merge *ret, const struct wt_repo *repo, const struct wt_merge_ask *ask,
              struct err *err) WARN_UNUSED;

/* Part of an attempt's work as one commit on the target. picks: "FILE" for all of a file, a folder
 * for all in it, "FILE:N" for the N-th hunk of it as wt_diff numbers them, without a change of its
 * mode; except: all but these. ERR_NOT_FOUND names a pick that is not there. Otherwise as wt_merge
 * with WT_MERGE_SQUASH. */
struct wt_take_ask {
    const char *branch, *base, *tip, *into;
    const struct strv *picks;
    bool except;
    const struct strv *unseen; /* lines of wt_harvest's review: files of these that would be taken
                                  are ERR_REFUSED with the reason, by whatever name they were
                                  picked. NULL: none */
    const char *message;
    bool ref_only, dry_run;
};
bool wt_take(struct wt_merge *ret, const struct wt_repo *repo, const struct wt_take_ask *ask,
             struct err *err) WARN_UNUSED;

/* True in *ret when every harvested commit of the attempt is contained in some local or remote
 * branch outside headgate/, or was squashed or rebased there by wt_merge, or by somebody else into
 * the branch of the main checkout or a remote's default branch; or when there is none. */
bool wt_is_merged(bool *ret, const struct wt_attempt *a, struct err *err) WARN_UNUSED;
/* Remove an attempt: host face, branch, refs, folder contents. Refuses (ERR_REFUSED, saying what
 * would be lost) unmerged work, and anything written since the last harvest with a snapshot, unless
 * force; and in any case while the branch is checked out somewhere. Never touches the main
 * checkout; follows no symlink. What was begun is finished by wt_recover. */
bool wt_discard(const struct wt_attempt *a, bool force, struct err *err) WARN_UNUSED;
/* `open`: a plain checkout of the attempt's branch tip at target, an absolute path that does not
 * exist or is an empty folder (git worktree add --detach). No hook and no configured filter runs.
 */
bool wt_open(const struct wt_attempt *a, const char *target, struct err *err) WARN_UNUSED;
/* Remove base checkouts that no attempt in attempts_dir uses and none that is being made. Lines
 * "PATH\tBYTES" in ret, by path. gone: only tell what could go without these attempts; NULL:
 * remove. */
bool wt_clean_bases(struct strv *ret, const char *bases_dir, const char *attempts_dir,
                    const struct strv *gone, struct err *err) WARN_UNUSED;

/* The same only until all bases together are within the limit, those that were longest of no use
 * first. */
bool wt_trim_bases(struct strv *ret, const char *bases_dir, const char *attempts_dir,
                   int64_t limit_bytes, struct err *err) WARN_UNUSED;

#endif
