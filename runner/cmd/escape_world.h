/*
 * escape_world: a repository with an attempt's worktree, for the rows of the escape suite that
 * concern git: made as a run makes it, in the scene's folder, with the person's home beside it.
 *
 * Everything that is the host's is writable for the account of boxes by its mode, so that nothing
 * but the box keeps it away. HOME of this process is changed for its lifetime: the host's git must
 * not read the real one.
 */
#ifndef CMD_ESCAPE_WORLD_H
#define CMD_ESCAPE_WORLD_H

#include "runner/attempt/boxes.h"
#include "sandbox/escape/escape.h"

struct escape_world {
    struct paths paths; /* borrowed strings of the scene's folder */
    struct config *config;
    struct attempt_spec spec;
    struct wt_attempt tree;
    struct boxes boxes;
    int gate_fd, control_fd;
};
#define ESCAPE_WORLD_INIT                                      \
    {                                                          \
        .config = NULL, .tree = WT_ATTEMPT_INIT, .gate_fd = -1 \
    }
#define AUTO_ESCAPE_WORLD __attribute__((cleanup(escape_world_release)))

/* Make it in the scene, whose `world` it becomes, and set {repo}, {tree}, {gitdir}, {home}, {entry}
 * (of the worktree in the repository) and {naive}, a plain clone of the account's own. */
bool escape_world_make(struct escape_world *w, struct escape_scene *scene,
                       struct err *err) WARN_UNUSED;
void escape_world_release(struct escape_world *w);
/* escape_box_fn: the agent's box of the attempt instead of the suite's plain one. */
bool escape_world_box(struct escape_try *t, struct box_spec *spec, struct err *err);
/* Run a shell script on the host in a folder, as whoever runs the suite. */
bool escape_world_sh(const char *folder, const char *script, struct err *err) WARN_UNUSED;

/* Set {here}, the worktree or for a control on the host the plain clone, and {then}, what anybody
 * does with git in the latter. */
void escape_name_place(struct escape_try *t);
/* Of a word "plant:PATH": "not outside", or "planted" when the host has the file then. */
bool escape_planted(struct escape_try *t, char **ret_outcome, struct err *err);

/* The rows, and their stages: git and files (escape_git.c), what the rest of Headgate does with
 * what comes out of a box (escape_home.c), the egress proxy (escape_net.c), and the exec gate
 * (escape_exec.c). */
extern const struct escape_rows escape_git, escape_home, escape_proxy, escape_exec;

#endif
