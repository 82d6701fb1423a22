/*
 * server: the one process of a person on a machine that decides: it alone writes the store, starts
 * keepers, and answers commands and dashboards at paths.control.
 *
 * It is replaceable at any moment: killed, the keepers go on, and the next server adopts them
 * (recover.h).
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>

struct server_options {
    bool foreground; /* stay, and tell on standard error; else detach and return once the socket
                        listens */
};

enum {
    SERVER_EXIT_OK = 0,
    SERVER_EXIT_RUNNING =
        3, /* foreground: another server of this state folder runs; nothing was said */
    SERVER_EXIT_FAILED = 5, /* one sentence is on standard error */
};

/* Be the server (foreground), or see to it that one listens: another that starts, serves or is just
 * ending is waited for, so that any number of starters may race. Returns the exit code for the
 * process. */
int server_main(const struct server_options *options);

#endif
