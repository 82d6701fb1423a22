/*
 * run_watch: stay with a run until it ends or the person detaches (Ctrl-C), and show its progress:
 * a region that is redrawn in place on a terminal, one plain line an event elsewhere. A bell rings
 * when a call begins to wait. A server that is killed meanwhile is started again and the run goes
 * on.
 */
#ifndef CMD_RUN_WATCH_H
#define CMD_RUN_WATCH_H

#include "runner/base/alert.h"
#include "runner/cmd/client.h"

enum run_watch_end { RUN_WATCH_ENDED, RUN_WATCH_DETACHED };

struct run_watch_opts {
    bool quiet;         /* show nothing */
    struct alert alert; /* how to tell of a call that waits */
};

/* run is the value that run.create gave (borrowed). Interrupt signals are taken over
 * meanwhile. */
bool run_watch(enum run_watch_end *ret, struct client *c, const json_t *run,
               const struct run_watch_opts *opts, struct err *err) WARN_UNUSED;
/* Wait until the attempt has a terminal to attach to. *ret_running false: it ended before. */
bool run_watch_start(bool *ret_running, struct client *c, const char *attempt,
                     struct err *err) WARN_UNUSED;

#endif
