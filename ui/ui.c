#include "ui/ui.h"

#include <signal.h>
#include <stdlib.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "ui/host.h"
#include "ui/screens.h"

/* libuv writes to sockets with write(2): a peer that left must be an error, not a signal. */
static void ignore_pipe(struct sigaction *ret_before)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, ret_before);
}

bool ui_dashboard(const struct paths *paths, const struct alert *alert, struct err *err)
{
    struct sigaction before;
    AUTO_FREE struct host *h = xmalloc(sizeof(*h));
    ignore_pipe(&before);
    bool is_open = host_open(h, err);
    if (is_open) {
        h->alert = *alert;
        scr_attempts_open(&h->desk);
        host_control_start(h, paths->control);
        host_run(h);
        host_close(h);
    }
    sigaction(SIGPIPE, &before, NULL);
    return is_open;
}

/* "k3.2" in the socket's name is what a person calls the attempt. */
static const char *attempt_name(const char *keeper_socket)
{
    const char *name = fs_basename(keeper_socket);
    return name[0] == 'k' ? name + 1 : name;
}

bool ui_attach(int *ret_status, const char *keeper_socket, const struct ui_join *join,
               struct err *err)
{
    struct sigaction before;
    AUTO_FREE struct host *h = xmalloc(sizeof(*h));
    ignore_pipe(&before);
    bool is_open = host_open(h, err);
    struct err broken = ERR_INIT;
    if (is_open) {
        h->ends_with_live = true;
        h->live.join = join;
        scr_live_open(&h->desk, attempt_name(keeper_socket), keeper_socket, join != NULL);
        host_run(h);
        broken = h->live_err;
        *ret_status = h->status;
        if (join && join->output)
            scr_live_text(&h->desk, join->output);
        host_close(h);
    }
    sigaction(SIGPIPE, &before, NULL);
    if (is_open && broken.code != ERR_NONE) {
        *err = broken;
        return false;
    }
    return is_open;
}
