/*
 * plan: the bytes that carry a box from the library to the launcher, read and written here only.
 *
 * A plan is a head and a list of steps, in the order in which they are applied. Every decision that
 * needs the host was taken when the plan was written, so the launcher only executes. A step is a
 * kind, flags and a few NUL-terminated texts. Writer and reader are of one build: `version` is
 * compared, and a launcher of another version refuses the plan instead of guessing.
 *
 * The same bytes carry a further process into a running box (box_join): a head and PLAN_ARG,
 * PLAN_ENV and PLAN_CWD steps, or a rename that is carried out there: a PLAN_MOVE step.
 */
#ifndef SANDBOX_PLAN_H
#define SANDBOX_PLAN_H

#include <stddef.h>
#include <stdint.h>
#include "runner/base/buf.h"

enum {
    PLAN_MAX_BYTES = 16 * 1024 * 1024,
    PLAN_MAX_TREES = 1024, /* host files and folders that one box shows */
    PLAN_MAX_PORTS = 64,
    PLAN_VERSION_BYTES = 16,
};

enum plan_kind {
    PLAN_FOLDER,  /* path: make it, with its parents */
    PLAN_FILE,    /* path, content: a read-only file in the new root */
    PLAN_LINK,    /* path, target: a symbolic link */
    PLAN_TREE,    /* host, path: show a file or folder of the host */
    PLAN_TMPFS,   /* path, options as in tmpfs(5): an empty writable folder in memory */
    PLAN_PROC,    /* path: procfs of the box's own pid namespace */
    PLAN_DEVPTS,  /* path: a devpts of the box's own */
    PLAN_MQUEUE,  /* path: the message queues of the box's own ipc namespace */
    PLAN_OVERLAY, /* lower, parent of upper and work, name of upper in it, name of work, path, and
                     what lower lies over, or "" */
    PLAN_MASK,    /* path: cover by an empty read-only file or folder; absent: passed over */
    PLAN_COVER,   /* folder, path in it: the same; links to folders are followed within the first */
    PLAN_FREEZE,  /* path: read-only, and what it lies in stays in place; absent: passed over */
    PLAN_BIND,   /* path, path: into a running box, show the first at the second, read-only (held.h)
                  */
    PLAN_ALLOW,  /* path: writable in the eyes of Landlock; absent: passed over */
    PLAN_CGROUP, /* folder below which the box gets a group of its own, mechanism's name */
    PLAN_CGROUP_SET, /* file, value: written in the group of the PLAN_CGROUP before it */
    PLAN_LIMITS,     /* mechanism, reason: how limits are kept when no PLAN_CGROUP step succeeds */
    PLAN_PORT,       /* decimal port */
    PLAN_HOSTNAME,
    PLAN_CWD,
    PLAN_ARG,
    PLAN_ENV,
    PLAN_SETUP_ARG,    /* the command that runs, and succeeds, before the program */
    PLAN_SETUP_ENV,    /* variables that it alone has: secrets */
    PLAN_TEARDOWN_ARG, /* the command that runs after the program */
    PLAN_MOVE, /* into a running box, a rename(2): the caller's pid there, dirfd, path, dirfd, path,
                  flags; numbers are decimal */
    PLAN_KIND_COUNT
};

enum plan_step_flags {
    PLAN_WRITE = 1, /* else read-only */
    PLAN_NOEXEC = 2,
    PLAN_DEVICE = 4,   /* a device node that must open: without nodev; for PLAN_ALLOW: with ioctl */
    PLAN_OPTIONAL = 8, /* PLAN_CGROUP_SET: the file may be absent */
    PLAN_OWN = 16, /* PLAN_TREE: the place lies in the box's own root, where nobody planted links,
                      and does not exist yet */
    PLAN_CONNECT = 64, /* PLAN_ALLOW: sockets may be reached there, and no more */
    PLAN_PLAIN = 32,   /* with PLAN_OWN: the tree is a file, else a folder */
};

enum plan_head_flags { PLAN_PTY = 1, PLAN_EXEC_NOTIFY = 2, PLAN_MOVE_NOTIFY = 4 };

/* The group of a box: this and the pid of its outer launcher. */
#define BOX_GROUP_PREFIX "headgate-box-"

struct plan_head {
    char version[PLAN_VERSION_BYTES]; /* HEADGATE_VERSION */
    uint32_t size_bytes;              /* of head and steps */
    uint32_t uid, gid;
    uint32_t require, without; /* masks of 1 << enum layer_id */
    uint32_t flags;
    uint32_t cols, rows;
    int64_t pids, open_files; /* 0: none */
    int64_t memory_bytes;     /* 0: none; pid 1 counts where no cgroup does */
};

struct plan_step {
    uint32_t kind;
    uint32_t flags;
    uint32_t size_bytes; /* of this step with its texts, a multiple of 8 */
    uint32_t n_texts;
    /* the texts follow */
};

/* Texts of PLAN_OVERLAY: where it is in the box, and the one that may be empty. */
enum { PLAN_OVERLAY_PATH = 4, PLAN_OVERLAY_UNDER = 5 };

/* Start a plan in an empty buffer; size_bytes and version are filled in. */
void plan_begin(struct buf *plan, const struct plan_head *head);
/* Append one step with its texts (a NULL-terminated list of const char *). */
void plan_add(struct buf *plan, enum plan_kind kind, unsigned flags, ...) __attribute__((sentinel));

struct plan {
    const struct plan_head *head; /* in a private, read-only mapping */
    size_t size_bytes;
};

/* Map and check the plan of a memfd: sizes, kinds, number of texts, terminating zeros. ERR_FORMAT.
 */
bool plan_map(struct plan *ret, int fd, struct err *err) WARN_UNUSED;
void plan_unmap(struct plan *plan);
/* Overwrite the texts of every step of this kind, in this process's own copy of the plan. */
bool plan_forget(const struct plan *plan, enum plan_kind kind, struct err *err) WARN_UNUSED;
/* Iterate: the first step for prev NULL, NULL at the end. */
const struct plan_step *plan_next(const struct plan *plan, const struct plan_step *prev);
/* Text i (< n_texts) of a step; borrowed from the mapping. */
const char *plan_text(const struct plan_step *step, unsigned i);
/* The first step of this kind, or NULL. */
const struct plan_step *plan_find(const struct plan *plan, enum plan_kind kind);

#endif
