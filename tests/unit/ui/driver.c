/*
 * driver: runs the dashboard or the live terminal on the terminal that it was given, for the pty
 * test.
 *
 *   ui_driver dashboard CONTROL_SOCKET | attach KEEPER_SOCKET | enter KEEPER_SOCKET
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/ui.h"

static void on_usr1(int number)
{
    (void)number;
    abort();
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct paths paths = {.control = argc > 2 ? argv[2] : NULL};
    struct ui_join join = {.argv = STRV_INIT, .env = STRV_INIT, .cwd = "/"};
    const struct alert alert = {.bell = true};
    int status = 0;
    bool is_ok = false;
    if (argc != 3)
        return 2;
    signal(SIGUSR1, on_usr1); /* a crash at a moment that the test chooses */
    strv_push(&join.argv, "/bin/sh");
    if (strcmp(argv[1], "dashboard") == 0)
        is_ok = ui_dashboard(&paths, &alert, &err);
    else
        is_ok = ui_attach(&status, argv[2], strcmp(argv[1], "enter") == 0 ? &join : NULL, &err);
    strv_release(&join.argv);
    if (!is_ok)
        fprintf(stderr, "driver: %s\n", err.text);
    else
        printf("status %d\n", status);
    return is_ok ? 0 : 1;
}
