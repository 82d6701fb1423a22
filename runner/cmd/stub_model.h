/*
 * stub_model: a model on loopback for one canary call: whatever agent asks it, in whichever
 * protocol, it calls that agent's shell tool with a harmless command once, and is content with what
 * comes of it.
 */
#ifndef CMD_STUB_MODEL_H
#define CMD_STUB_MODEL_H

#include <sys/types.h>
#include "runner/base/err.h"

struct stub_model {
    pid_t pid;
    int port;
    int news_fd; /* reads 'D' when a request holds the reason of the denial, 'X' when one holds the
                    call and no reason */
};

/* command and reason: letters, digits, blanks, `>`, `-` only, since they stand in JSON as they are.
 * A process of its own, which ends with stub_model_stop or with the caller. */
bool stub_model_start(struct stub_model *ret, const char *command, const char *reason,
                      struct err *err) WARN_UNUSED;
void stub_model_stop(struct stub_model *m);

#endif
