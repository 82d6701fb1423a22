/*
 * box: one sandboxed process tree, from a description of what may be seen to a running pid 1.
 *
 *   box_spec   what a box is to hold: plain values, no decisions about the kernel.
 *   box_plan   the spec compiled to a list of steps, as bytes for a memfd. All decisions that need
 *              the host (which system folders exist, where a link of /etc ends) are taken here.
 *   headgate-box  applies the steps in order, confines itself, stays as pid 1, forks the agent.
 *
 * Invariants:
 * 1. Nothing in a box is less confined than the agent; pid 1 applies every layer to itself before
 *    it forks.
 * 2. No step that fails is passed over: either its layer is reported degraded or unavailable with
 *    the reason, and the spec allows that, or the start fails with the step's name and errno.
 * 3. pid 1 is a child of the caller of box_spawn (CLONE_PARENT), has PDEATHSIG SIGKILL, and does
 *    not run the agent before box_go. Its death ends every process of the box (pid namespace).
 * 4. Started by root, every process in the box runs as the account box_spec.uid/gid, never as host
 *    uid 0.
 *
 * The caller is one thread for the life of the box: PDEATHSIG follows the forking thread
 * (prctl(2)).
 */
#ifndef SANDBOX_BOX_H
#define SANDBOX_BOX_H

#include <stdint.h>
#include <sys/types.h>
#include "runner/base/buf.h"
#include "runner/base/proc.h"
#include "runner/base/strv.h"
#include "sandbox/layer.h"

enum box_bind_flags {
    BOX_BIND_WRITE = 1,    /* else read-only */
    BOX_BIND_OPTIONAL = 2, /* absent on the host: passed over */
    BOX_BIND_NOEXEC = 4,
    BOX_BIND_LATER = 8, /* exists only when the box starts, not yet when it is planned */
};

struct box_bind {
    char *host;   /* absolute path on the host */
    char *inside; /* absolute path in the box; parents are made */
    unsigned flags;
};

/* At most one: the worktree as an overlay. With upper NULL the lower is shown read-only. */
struct box_overlay {
    char *lower, *upper, *work;
    char *inside;
    char *under; /* what lower lies over, NULL: nothing; only with an upper */
};

struct box_limits {
    int64_t memory_bytes; /* 0: none */
    int64_t pids;         /* 0: none */
    int64_t open_files;   /* 0: the caller's */
    int64_t tmp_bytes;    /* each of /tmp, /dev/shm and a home in memory; 0: a quarter of memory */
};

struct box_spec {
    struct strv argv;      /* argv[0] is looked up in PATH of env, inside */
    struct strv env;       /* the whole environment of the agent; its umask is 022 */
    struct strv setup;     /* a command that runs in the box before argv, which starts only when it
                              succeeded; empty: none */
    struct strv setup_env; /* variables that only setup has, over env: secrets. With any, what setup
                              leaves running is ended before argv starts */
    struct strv teardown;  /* a command that runs in the box after argv has ended by itself or by a
                              signal, for a minute at most; the status stays argv's. Empty: none */
    char *cwd;             /* inside */
    uid_t uid;             /* whom the box runs as; the caller's own unless the caller is root */
    gid_t gid;
    char *hostname;
    struct box_overlay overlay; /* inside == NULL: none */
    struct box_bind *binds; /* applied in order after the system folders, parents before children */
    size_t n_binds;
    struct strv hidden;  /* real paths of host folders that must not be seen: where one lies
                            below a system folder, it is replaced by an empty one, in which
                            what is bound there still appears */
    struct strv masks;   /* paths inside that are covered: a file by an empty read-only file, a
                            folder by an empty read-only folder; absent ones are passed over */
    char *covered_in;    /* a folder inside... */
    struct strv covered; /* ...and paths in it that are covered in the same way, also where a link
                            to another folder of it is on the way; one that leads out of it is an
                            error */
    struct strv frozen;  /* paths inside, in what is shown writable, that are read-only with the
                            content they have, and cannot be moved; absent ones stay absent */
    char *home;          /* the writable private home: host folder (NULL: in memory, gone with
                            the box)... */
    char *home_inside;   /* ...and where it appears; also $HOME */
    char *ssh_config;    /* text of /etc/ssh/ssh_config inside; NULL: there is none */
    struct strv listen_ports; /* decimal; pid 1 listens on 127.0.0.1 and ::1 inside and hands the
                                 listening sockets out (BOX_MSG_LISTENER) */
    bool pty; /* agent on a pty of the box's devpts, master handed out (BOX_MSG_PTY);
                 else on the stdin, stdout and stderr given to box_spawn */
    uint16_t cols, rows;
    bool exec_notify; /* every execve waits for whoever holds the listener (BOX_MSG_CALL_LISTENER):
                         the caller must then serve it, or no program starts */
    bool move_notify; /* every rename waits there as well, and what the caller must know for that:
                         landlock_restrict_self, PR_SET_CHILD_SUBREAPER, CLONE_PARENT; if a waiting
                         call outlives all but fatal signals, and only with an overlay (box_move) */
    struct box_limits limits;
    unsigned require; /* mask of 1 << enum layer_id: start fails unless active */
    unsigned without; /* mask of layers to leave out: for negative controls and doctor only */
};

void box_spec_init(struct box_spec *spec);
/* True for a real path of the host that every box shows, below a system folder. */
bool box_is_system_path(const char *path);
void box_spec_release(struct box_spec *spec);
#define AUTO_BOX_SPEC __attribute__((cleanup(box_spec_release)))
void box_spec_bind(struct box_spec *spec, const char *host, const char *inside, unsigned flags);

/* Compile. ERR_USAGE for a path that cannot be shown, ERR_LAYER for a missing host feature that
 * cannot be degraded. The bytes are valid for this boot of this host only. Reads the host's file
 * system. */
bool box_plan(struct buf *ret_plan, const struct box_spec *spec, struct err *err) WARN_UNUSED;

struct box_child {
    pid_t pid;          /* pid 1 of the box as the caller sees it, a child of the caller */
    int ctl_fd;         /* SOCK_SEQPACKET, non-blocking, close-on-exec */
    struct strv groups; /* cgroups made for this box */
};

/* A launcher that was started and waits for its plan: its start and the making of the plan overlap.
 */
struct box_launcher {
    pid_t pid; /* of the outer process, a child of the caller; 0: none */
    int ctl_fd, birth_fd;
    bool has_begun;
};
#define BOX_LAUNCHER_INIT                      \
    {                                          \
        .pid = 0, .ctl_fd = -1, .birth_fd = -1 \
    }
#define AUTO_BOX_LAUNCHER __attribute__((cleanup(box_launcher_release)))
/* path: of headgate-box. std_fds as for box_spawn; NULL: /dev/null, for a box with a pty. */
bool box_launcher_start(struct box_launcher *ret, const char *path, const int std_fds[3],
                        struct err *err) WARN_UNUSED;
/* Let it make the namespaces before its plan is there, which then has to be one that leaves no
 * layer out and is in no cgroup (no limits), for the caller's own account. True when the caller can
 * have that (root cannot) and the launcher was told. */
bool box_launcher_begin(struct box_launcher *launcher);
/* Give it its plan; the rest is as for box_spawn. The launcher is used up, whatever comes of it. */
bool box_launcher_plan(struct box_child *ret, struct box_launcher *launcher, const struct buf *plan,
                       struct err *err) WARN_UNUSED;
/* End a launcher that got no plan. Harmless after box_launcher_plan. */
void box_launcher_release(struct box_launcher *launcher);

/* Start launcher (path of headgate-box) with the plan. std_fds are stdin, stdout, stderr of the
 * agent (borrowed; ignored with pty). Returns when pid 1 exists and its namespaces are made; the
 * agent waits for box_go. Reaps the outer launcher itself with waitpid(its pid). */
bool box_spawn(struct box_child *ret, const char *launcher, const struct buf *plan,
               const int std_fds[3], struct err *err) WARN_UNUSED;
/* When pid has been reaped: close ctl_fd (-1 if the caller closed it) and remove what the box left
 * on the host, its cgroups. */
void box_close(struct box_child *child);

enum box_msg_kind {
    BOX_MSG_NONE,     /* nothing there now (EAGAIN) */
    BOX_MSG_CLOSED,   /* pid 1 is gone */
    BOX_MSG_LAYERS,   /* report: what is in force; before the agent starts */
    BOX_MSG_LISTENER, /* fd, port: a listening socket inside the box */
    BOX_MSG_DIALED, /* fd, id: a socket that box_dial asked for: connected or on its way (writable:
                       it has arrived, or SO_ERROR tells why not), non-blocking */
    BOX_MSG_PTY,    /* fd: master of the pty of process `id` (0: the agent) */
    BOX_MSG_CALL_LISTENER, /* fd: seccomp(2) notifications of the calls that wait, once and before
                              BOX_MSG_LAYERS; -1: there are none, for the reason in error. status:
                              1 when a received notification outlives all but fatal signals */
    BOX_MSG_MOVED,         /* id, status: box_move is over, with this errno, 0, or BOX_MOVE_LEFT */
    BOX_MSG_STARTED, /* id: the agent, or the joined program, was exec'ed; with a set-up, that */
    BOX_MSG_SET_UP,  /* the set-up succeeded; the agent waits for another box_go */
    BOX_MSG_FAILED, /* id, error: the box could not be made or its program not be exec'ed (id 0, the
                       box ends); or only the joined program `id` could not, and no exit follows */
    BOX_MSG_EXITED, /* id, status (exit code or 128+signal) */
    BOX_MSG_ENDED,  /* no process is left but pid 1, which ends now; its namespaces and mounts go
                       with  it, which takes a moment more. Not told by a pid 1 that was killed */
    BOX_MSG_EXCEEDED, /* error: what the box used too much of (memory, where no cgroup counts); it
                         ends at once with 128+SIGKILL */
};

enum { BOX_MOVE_LEFT = -1 }; /* nothing was done: the kernel has the word */

enum { BOX_TIMES = 24 };

/* How long each step of the start took. */
struct box_times {
    unsigned n;
    struct {
        char step[20];
        uint32_t took_us;
    } row[BOX_TIMES];
};

struct box_msg {
    enum box_msg_kind kind;
    int fd; /* owned by the receiver, -1: none */
    int id; /* 0: the agent; else the id of box_join */
    int port;
    int status;
    struct layer_report report;
    struct box_times times; /* BOX_MSG_LAYERS */
    struct err error; /* BOX_MSG_CALL_LISTENER without fd; BOX_MSG_EXCEEDED; BOX_MSG_FAILED: code
                         ERR_LAYER, ERR_SYS, or ERR_NOT_FOUND (no such program), ERR_REFUSED (not
                         executable) */
};

/* Receive one message without blocking. */
bool box_recv(struct box_msg *ret, int ctl_fd, struct err *err) WARN_UNUSED;
bool box_go(int ctl_fd, struct err *err) WARN_UNUSED;
/* Run a further program in the box, with every layer, on a pty of its own, with the environment of
 * the agent and env over it. id > 0, chosen by the caller. */
bool box_join(int ctl_fd, int id, const struct strv *argv, const struct strv *env, const char *cwd,
              uint16_t cols, uint16_t rows, struct err *err) WARN_UNUSED;
/* Connect to a port of the box's own loopback, 127.0.0.1 or ::1; BOX_MSG_DIALED or BOX_MSG_FAILED
 * answers with the caller's id. */
bool box_dial(int ctl_fd, int id, int port, bool is_v6, struct err *err) WARN_UNUSED;
/* A rename(2) in the box, as it was called there. */
struct box_rename {
    int tid; /* of the caller, in the box */
    int from_dirfd, to_dirfd;
    const char *from, *to;
    unsigned flags;
};
/* Carry a rename out with the rights of the box, folders of the overlay's base included, which the
 * kernel refuses. BOX_MSG_MOVED answers with the caller's id. One at a time. */
bool box_move(int ctl_fd, int id, const struct box_rename *rename, struct err *err) WARN_UNUSED;
/* Send a signal to the process group of a joined process or the agent (id 0), from inside. */
bool box_signal(int ctl_fd, int id, int signal_number, struct err *err) WARN_UNUSED;

/* Run a box to its end with captured output: proc_run with a spec. No pty. cmd's argv, env and cwd
 * are ignored; input, output_fd, limits and timeout are used. The box is killed at the timeout. */
bool box_run(struct proc_result *ret, struct layer_report *ret_report, const char *launcher,
             const struct box_spec *spec, const struct proc_cmd *cmd, struct err *err) WARN_UNUSED;

#endif
