/* headgate-hook as an agent runs it: input from a file, both outputs in pipes. */
#ifndef TESTS_GATE_HOOK_RUN_H
#define TESTS_GATE_HOOK_RUN_H

#include <sys/types.h>

#include "runner/base/buf.h"

struct hook {
    pid_t pid;
    int out, errout; /* our ends; -1: closed */
    int status;      /* exit code, after hook_finish */
    struct buf out_text, err_text;
};

/* What is unusual about how the hook is started. */
enum hook_oddity {
    HOOK_ODD_NOTHING,
    HOOK_ODD_SIGNALS_BLOCKED,
    HOOK_ODD_NO_STDOUT,
    HOOK_ODD_FULL_STDOUT,
    HOOK_ODD_NO_STDIN,
    HOOK_ODD_LITTLE_MEMORY,
};

/* Start it with this input, kept in a file in folder; arguments end with NULL. */
void hook_start(struct hook *h, const char *folder, const char *input, size_t len,
                char *const *argv, enum hook_oddity odd);
/* Read both outputs to their ends and wait. An end by a signal fails the test. */
void hook_finish(struct hook *h);
void hook_release(struct hook *h);

#endif
