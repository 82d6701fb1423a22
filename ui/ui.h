/*
 * ui: the dashboard and the live terminal, the only parts that own the person's terminal.
 *
 * Both restore the terminal on every way out (return, signal, crash of a screen), need no colour
 * and work from 80x24 up.
 */
#ifndef UI_UI_H
#define UI_UI_H

#include "runner/base/alert.h"
#include "runner/base/paths.h"
#include "runner/base/strv.h"

/* Run the dashboard until the person leaves it. The server is reached at paths->control (already
 * running). */
bool ui_dashboard(const struct paths *paths, const struct alert *alert,
                  struct err *err) WARN_UNUSED;

/* A further process to start in the box and show (`enter`). */
struct ui_join {
    struct strv argv, env;
    const char *cwd;
    struct buf *output; /* gets what it has shown, as text (vt_text); NULL: not wanted */
};
/* Show the agent's live terminal (join NULL) or a joined process until detach (Ctrl-] then d, shown
 * in the last line) or its end. *ret_status: its exit status, or -1 after a detach. Redraws cells
 * of libvterm, never raw bytes of the box. */
bool ui_attach(int *ret_status, const char *keeper_socket, const struct ui_join *join,
               struct err *err) WARN_UNUSED;

#endif
