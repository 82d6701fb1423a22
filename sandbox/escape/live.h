/*
 * live: a box of the suite that runs while something else is done. Private to the suite.
 */
#ifndef SANDBOX_ESCAPE_LIVE_H
#define SANDBOX_ESCAPE_LIVE_H

#include "sandbox/escape/escape.h"

struct escape_live {
    struct box_child child;
    int in_fd, out_fd; /* our ends of its standard input and output */
};
#define ESCAPE_LIVE_INIT                                                        \
    {                                                                           \
        .child = {.ctl_fd = -1, .groups = STRV_INIT}, .in_fd = -1, .out_fd = -1 \
    }
#define AUTO_ESCAPE_LIVE __attribute__((cleanup(escape_live_end)))

/* Start a box of the try with `headgate-box --probe word`, and wait until it prints a line. */
bool escape_live_start(struct escape_live *ret, struct escape_try *t, struct box_spec *spec,
                       const char *word, struct err *err) WARN_UNUSED;
/* End it: its input first, then all of it. Harmless when there is none. */
void escape_live_end(struct escape_live *live);

#endif
