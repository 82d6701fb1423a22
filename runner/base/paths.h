/*
 * paths: where Headgate keeps its things, and where its programs are.
 *
 * State: $HEADGATE_STATE, else $XDG_STATE_HOME/headgate/<machine-id>, else
 * ~/.local/state/headgate/<machine-id>; 0700 and owned by the caller, else refused. On a network
 * file system refused (WAL, locks and overlay break there). Sockets:
 * $XDG_RUNTIME_DIR/headgate/<8 hex of the state path>, else /tmp/headgate-<uid>/<8 hex>, each 0700
 * and owned by the caller; names there are short because sun_path ends at 107 bytes (unix(7)).
 * Which of the two is noted in state/runtime and kept while it can be used, so that a login and a
 * cron job meet.
 */
#ifndef BASE_PATHS_H
#define BASE_PATHS_H

#include "runner/base/err.h"
#include "runner/base/strv.h"

/* Where a folder of an overlay's base is made again before it takes its new name; at the worktree's
 * root, for moments. */
#define PATHS_MOVING ".headgate-moving"

struct paths {
    char *state;       /* absolute, exists */
    char *db;          /* state/state.db */
    char *lock;        /* state/lock */
    char *bases;       /* state/bases, exists */
    char *attempts;    /* state/attempts, exists */
    char *runtime;     /* absolute, exists */
    char *control;     /* runtime/ctl: the server's socket */
    char *user_config; /* ~/.config/headgate/config (may not exist) */
    char *home;        /* $HOME, or the passwd entry's */
};

bool paths_init(struct paths *ret, struct err *err) WARN_UNUSED;
/* Only home and user_config, for those who need no state. Makes nothing. */
void paths_init_config(struct paths *ret);
void paths_done(struct paths *p);
/* Add the folders that no box may show, those that exist: the state and wherever sockets may be.
 * Makes nothing. */
void paths_add_private(struct strv *out);
#define AUTO_PATHS __attribute__((cleanup(paths_done)))
/* Allocated. id is "3.2". */
char *paths_attempt(const struct paths *p, const char *id); /* folder */
char *paths_attempt_file(const struct paths *p, const char *id, const char *name);
char *paths_keeper_socket(const struct paths *p, const char *id); /* runtime/k3.2 */
char *paths_gate_socket(const struct paths *p, const char *id);   /* runtime/g3.2 */
/* Absolute path of a sibling program ("headgate-keep", ...): beside /proc/self/exe, else
 * ../libexec/headgate. ERR_INTERNAL when absent. Allocated, NULL on failure. */
char *paths_program(const char *name, struct err *err);

#endif
