/*
 * held: the mounts of a running box that its caller keeps in place.
 *
 * A mount lies on a directory entry of the file system below it. When the host renames another file
 * over that entry, or removes it, the kernel takes the mount away in every mount namespace
 * (rename(2) refuses mount points of the caller's own only), and what was read-only or covered in
 * the box no longer is: `git config`, and editors that save by rename, do just that. Where a folder
 * of the host is writable in a box and something in it must not be, or something in a folder that
 * is shown is covered, the caller therefore watches, and mounts anew what is missing.
 *
 *   held -- an entry changes, or a mount goes (mountinfo, POLLPRI) --> looked at
 *   looked at -- all are there --> held
 *   looked at -- one is gone --> processes stopped, mounted anew, continued, looked at, told -->
 * held
 *
 * Mounts on the box's own file systems (its root, an overlay) cannot go, and are not watched.
 * Between the change and the look the box can act: that is told; a file of which the caller knows
 * the content is made anew, so that nothing that was opened meanwhile leads to it.
 *
 * Single-threaded; held_look blocks for some milliseconds when something is gone.
 */
#ifndef SANDBOX_HELD_H
#define SANDBOX_HELD_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "runner/base/buf.h"
#include "runner/base/strv.h"

enum held_kind { HELD_FROZEN, HELD_COVERED, HELD_SHOWN };

struct held_point {
    enum held_kind kind;
    char *path;  /* inside */
    char *top;   /* HELD_*: folder of the host that is shown, and... */
    char *below; /* ...the entry's path in it */
    char *
        source; /* HELD_SHOWN: the same file elsewhere in the box, where no mount can go; or NULL */
    struct buf content; /* HELD_SHOWN: of the host's file below it */
    bool is_gone;       /* and told: there is nothing to mount on */
    unsigned n_told;
};

struct held {
    struct held_point *v;
    size_t n;
    pid_t init_pid;
    uid_t uid;
    gid_t gid;
    char *launcher;
    int mounts_fd, entries_fd; /* -1: none */
    int *folders;              /* open for as long as they are watched, without inotify */
    size_t n_folders;
    pid_t holder_pid; /* `headgate-box --hold`, which ends with... */
    int holder_fd;    /* ...this; -1: not started yet */
};
#define HELD_INIT                                          \
    {                                                      \
        .mounts_fd = -1, .entries_fd = -1, .holder_fd = -1 \
    }

struct held_ops {
    void (*told)(void *arg, const char *sentence); /* at most HELD_TOLD times of one mount */
};
enum { HELD_TOLD = 20 };

/* Find in the plan what can go. */
void held_plan(struct held *h, const struct buf *plan, const char *launcher);
/* When all layers of the box are in force: from here on it is watched. Nothing to watch is fine.
 * is_ready: for a caller that confines itself afterwards and lives for long: start now what is
 * needed to mount, and watch entries by inotify. Else by SIGIO on a signalfd (fcntl(2), F_NOTIFY),
 * which this blocks: to close an inotify costs twenty milliseconds, more than a box. */
bool held_begin(struct held *h, pid_t init_pid, bool is_ready, struct err *err) WARN_UNUSED;
/* For poll(2): two entries; fd -1 where there is nothing. A caller with a loop of its own watches
 * mounts_fd for priority events and entries_fd for input. */
void held_poll(const struct held *h, struct pollfd fds[2]);
/* Look, and mount anew. *ret_stirred (may be NULL): the box's processes were stopped for it, and
 * continued. False: something that must be there cannot be, and the box must end. */
bool held_look(struct held *h, const struct held_ops *ops, void *arg, bool *ret_stirred,
               struct err *err) WARN_UNUSED;
void held_release(struct held *h);

/* True when the text of a mountinfo (proc_pid_mountinfo(5)) has a mount at this path. Pure. */
bool held_is_mounted(const char *mountinfo, const char *path);

#endif
