/*
 * escape_exec: attempts at the exec gate. Changes come between the answer and the kernel's look, so
 * that one try is worth any number of races; the racers proper are in tests/unit/keep.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/escape_world.h"
#include "runner/keep/exec_trial.h"

/* What the row's word names. */
static const struct trial {
    const char *word;
    struct exec_trial trial;
    enum exec_gating control; /* what is left out in the control */
} trials[] = {
    {"path", {"/bin/true changed; echo $?", NULL, "/bin/true", EXEC_CHANGE_PATH}, EXEC_UNVERIFIED},
    {"argument",
     {"/bin/echo allowed; echo $?", NULL, "/bin/echo", EXEC_CHANGE_ARGUMENT},
     EXEC_UNVERIFIED},
    {"link",
     {"ln -s /bin/true /tmp/link; ln -s /bin/echo /tmp/new; /tmp/link changed; echo $?", NULL,
      "/tmp/link", EXEC_CHANGE_LINK},
     EXEC_UNVERIFIED},
    {"holder", {"/bin/true; echo $?", NULL, "/bin/true", EXEC_CHANGE_HOLDER}, EXEC_NOT_GATED},
    {"descriptor",
     {"exec 3</bin/ls; /proc/self/fd/3 / >/dev/null; echo $?", "ls", NULL, EXEC_CHANGE_NONE},
     EXEC_NOT_GATED},
    {"alias",
     {"ln -s /bin/ls /tmp/x; /tmp/x / >/dev/null; echo $?", "ls", NULL, EXEC_CHANGE_NONE},
     EXEC_NOT_GATED},
    {"loader",
     {"for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do "
      "[ -e $l ] || continue; $l /bin/ls / >/dev/null; echo $?; done",
      "ls", NULL, EXEC_CHANGE_NONE},
     EXEC_NOT_GATED},
    {"interpreter",
     {"printf '#!/bin/ls\n' >/tmp/s; chmod +x /tmp/s; /tmp/s >/dev/null; echo $?", "ls", NULL,
      EXEC_CHANGE_NONE},
     EXEC_NOT_GATED},
    {"shell",
     {"echo '/bin/ls / >/dev/null; echo $?' | sh", "ls", NULL, EXEC_CHANGE_NONE},
     EXEC_NOT_GATED},
    {"daemon",
     {"(setsid sh -c '/bin/ls / >/dev/null; echo $? >/tmp/done' &); until [ -s /tmp/done ]; do :; "
      "done; "
      "cat /tmp/done",
      "ls", NULL, EXEC_CHANGE_NONE},
     EXEC_NOT_GATED},
};

static bool stage_exec(struct escape_try *t, char **ret_outcome, struct err *err)
{
    const struct escape_scene *s = t->scene;
    const struct trial *trial = trials;
    struct err why;
    (void)err;
    while (strcmp(trial->word, t->row->word) != 0)
        trial++;
    enum exec_gating gating = t->is_control ? trial->control : EXEC_GATED;
    AUTO_FREE char *printed =
        exec_trial_run(&trial->trial, gating, s->launcher, s->uid, s->gid, &why);
    if (gating == EXEC_GATED && why.code != ERR_NONE) {
        *ret_outcome = xasprintf(ESCAPE_UNTRIED "%s", why.text);
        return true;
    }
    for (char *p = printed; *p; p++)
        if (*p == '\n')
            *p = p[1] ? ',' : '\0';
    *ret_outcome = steal_ptr(&printed);
    return true;
}

/* Killed before its first instruction; refused with an errno. */
#define KILLED .held = "137", .layer = LAYER_SECCOMP, .wall = "exec", .stage = stage_exec
#define REFUSED .held = "126", .layer = LAYER_SECCOMP, .wall = "exec", .stage = stage_exec

static const struct escape_row rows[] = {
    {.id = "X01",
     .what = "another path in memory after an exec was allowed",
     .word = "path",
     KILLED},
    {.id = "X03",
     .what = "other arguments in memory after an exec was allowed",
     .word = "argument",
     KILLED},
    {.id = "X04",
     .what = "another file behind a link after an exec was allowed",
     .word = "link",
     KILLED},
    {.id = "X07c", .what = "a denied program by /proc/self/fd", .word = "descriptor", REFUSED},
    {.id = "N07e",
     .what = "the gate's own /proc/self in place of the caller's",
     .word = "descriptor",
     REFUSED},
    {.id = "X07d", .what = "a denied program by another name", .word = "alias", REFUSED},
    {.id = "X09b", .what = "a denied program by the dynamic loader", .word = "loader", REFUSED},
    {.id = "X09c",
     .what = "a denied program from a shell's standard input",
     .word = "shell",
     REFUSED},
    {.id = "X11",
     .what = "a denied program as a script's interpreter",
     .word = "interpreter",
     REFUSED},
    {.id = "X16", .what = "an exec whose gate goes away while it waits", .word = "holder", REFUSED},
    {.id = "X17b",
     .what = "a denied program in a daemon without a parent",
     .word = "daemon",
     REFUSED},
};
const struct escape_rows escape_exec = {rows, ARRAY_LEN(rows)};
