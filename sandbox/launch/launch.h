/*
 * launch: the state of one start of a box, and its steps, each in its own file.
 *
 * headgate-box runs in two processes. The outer one is exec'ed by box_spawn, makes what only it may
 * make (the cgroup; started by root, the views of the host's files) and clones pid 1 into the new
 * namespaces as a child of its own caller. pid 1 builds the root, confines itself, and stays.
 *
 * The code is single-threaded, links nothing but libc, and never runs in the caller's process.
 * Every step returns false with err filled; a step of a layer that may be degraded records that
 * instead.
 */
#ifndef SANDBOX_LAUNCH_H
#define SANDBOX_LAUNCH_H

#include <sys/resource.h>
#include "sandbox/launch/sys.h"
#include "sandbox/plan.h"
#include "sandbox/wire.h"

struct launch {
    struct plan plan;
    uid_t uid, gid;       /* of the caller */
    int root_fd, proc_fd; /* detached mounts: the empty root, the box's procfs; -1: none */
    int ctl_fd;
    int trees[PLAN_MAX_TREES]; /* detached mounts of PLAN_TREE and PLAN_OVERLAY, in order of need */
    size_t n_trees, next_tree;
    bool lacks_open_tree_attr; /* before Linux 6.15 */
    struct rlimit open_files;  /* the caller's, while the launcher itself needs more */
    int pty_fd;                /* the agent's terminal; -1: it has none */
    struct layer_report report;
    struct box_times times;
    int64_t marked_us;
};

/* report.c */
bool launch_has(const struct launch *l, enum layer_id id); /* the layer is not left out */
void launch_set(struct launch *l, enum layer_id id, enum layer_state state, const char *mechanism,
                const char *reason);
/* The time since the mark before belongs to this step. */
void launch_mark(struct launch *l, const char *step);
/* Where AppArmor lets nobody use a user namespace (Ubuntu), say so first and what to do. */
bool launch_blame_apparmor(struct err *err);
/* ERR_LAYER when a required layer is not active. */
bool launch_check_required(const struct launch *l, struct err *err) WARN_UNUSED;
/* Send to the caller. fd -1: none. False when the caller is gone. */
bool launch_send(int ctl_fd, const struct wire_msg *msg, int fd);
bool launch_send_failed(int ctl_fd, int id, const struct err *err);
bool launch_send_layers(const struct launch *l);
/* Receive one command; flags as for recvmsg(2). *ret_fd: the descriptor that came along, else
 * untouched. op 0: nothing came. False at the end of the socket. */
bool launch_receive(int ctl_fd, struct wire_cmd *ret, int *ret_fd, int flags);

/* limits.c: outer process */
void limits_join_groups(struct launch *l);
/* limits.c: pid 1 */
bool limits_apply(struct launch *l, struct err *err) WARN_UNUSED;

/* tree.c: a detached, flagged copy of each file and folder of the host that the plan shows. Needs
 * CAP_SYS_ADMIN over the mount namespace it is called in. */
bool tree_open_all(struct launch *l, struct err *err) WARN_UNUSED;
/* The next one, in the order of the plan's steps; root_build closes them all. */
int tree_take(struct launch *l);

/* begin.c: pid 1. What is the same for every box: private mounts, an empty root and a procfs, both
 * detached, the limits of its namespaces, its loopback. */
bool begin(struct launch *l, struct err *err) WARN_UNUSED;
/* begin.c: a new file system of this type, detached. options: keys and values in turn, ending in
 * NULL. -1 with errno. */
int begin_mount(const char *type, const char *const *options, unsigned attr);

/* main.c: pid 1 whose namespaces came first receives the plan, which must be one for what was made
 * without it. */
bool launch_catch_up(struct launch *l, struct err *err) WARN_UNUSED;

/* freeze.c: pid 1. What the name leads to becomes read-only, and neither it nor a folder of its
 * tree that holds it can be moved or removed. Absent: nothing is made. Needs the box's procfs. */
bool freeze_apply(const char *name, struct err *err) WARN_UNUSED;

/* root.c: cover a file or folder by an empty one; absent: passed over. */
bool mask_apply(const char *path, struct err *err) WARN_UNUSED;

/* hold.c: mount something again in a running box; returns the exit code. */
int hold_main(int argc, char **argv);

/* root.c: pid 1 */
bool root_build(struct launch *l, struct err *err) WARN_UNUSED;

/* net.c: pid 1 */
bool net_apply(struct launch *l, struct err *err) WARN_UNUSED;

/* net.c: a socket that is connected to a port of the box's loopback or on its way there (pid 1
 * waits for nobody), -1 with err. */
int net_dial(int port, bool is_v6, struct err *err);

/* pty.c: a terminal of the devpts that is mounted at /dev/pts, window size set. */
bool pty_open(int *ret_master, int *ret_slave, unsigned cols, unsigned rows,
              struct err *err) WARN_UNUSED;

/* landlock.c, confine.c: pid 1 */
bool landlock_apply(struct launch *l, struct err *err) WARN_UNUSED;
bool confine(struct launch *l, struct err *err) WARN_UNUSED;

/* notify.c: pid 1. Later calls in the box, those that the plan says, wait for the holder of a
 * listener, which is handed out; where the kernel gives none, the reason is. False only when the
 * caller is gone. */
bool notify_apply(struct launch *l, struct err *err) WARN_UNUSED;
/* renameat2(2) that does not wait. */
int notify_rename_unasked(int from_fd, const char *from, int to_fd, const char *to,
                          unsigned flags) WARN_UNUSED;

/* inside.c: pid 1 from its first instruction in the new namespaces to its end. */
_Noreturn void inside_run(struct launch *l);

/* init.c: the loop of pid 1, once all layers are in force. */
_Noreturn void init_run(struct launch *l);

/* probe.c: try one thing from inside; prints a line, returns the exit code. */
int probe_main(int argc, char **argv);

#endif
