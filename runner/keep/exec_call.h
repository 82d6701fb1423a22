/*
 * exec_call: approved shell calls, for the exec that carries each out.
 *
 *   approved (door) -> carried out by one exec of the agent's own process that fits (exec_form.h)
 *                   -> too old, or too many came after it: an exec is asked about by itself
 *
 * A call is carried out once, in the folder that was shown; an exec that the kernel refused gives
 * it back. Calls stay known after that, for what runs below them. The forms and the helpers are the
 * adapter's data (keep.json). Programs in them count only where the agent cannot have put them: on
 * a mount that is read-only in the box.
 */
#ifndef KEEP_EXEC_CALL_H
#define KEEP_EXEC_CALL_H

#include "gate/call.h"
#include "gate/exec.h"
#include "runner/keep/exec_image.h"
#include "runner/keep/keep_config.h"

enum { EXEC_CALLS = 256, EXEC_CALL_FRESH_MS = 10 * 60 * 1000 };

struct exec_call {
    int64_t number; /* 0: none */
    char *command;
    char *cwd;               /* as told; "" when not */
    struct call_request who; /* session, call_id and subagent; the rest is empty */
    int64_t approved_ms;     /* monotonic */
    bool is_taken;
};

struct exec_calls {
    const struct keep_config *config; /* borrowed */
    struct exec_call all[EXEC_CALLS]; /* in a ring */
    size_t next;
};

void exec_calls_release(struct exec_calls *c);
/* Before its caller is told. Calls of no shell are passed over. */
void exec_calls_approved(struct exec_calls *c, int64_t number, const struct call_request *call);
/* How an exec by the agent's own process stands: EXEC_OWN, EXEC_HELPER, or EXEC_CALLED with the
 * call's number. root_fd, tid: as in exec_place. */
enum exec_standing exec_calls_stand(const struct exec_calls *c, const struct exec_place *place,
                                    const struct exec_args *args, const struct exec_image *image,
                                    const char *cwd, int64_t *ret_number);
/* Whether the program that the agent starts is the agent as well (keep.json's `selves`). */
bool exec_calls_is_agent(const struct exec_calls *c, const struct exec_args *args,
                         const struct exec_image *image);
void exec_calls_take(struct exec_calls *c, int64_t number);
void exec_calls_give_back(struct exec_calls *c, int64_t number);
/* NULL: not known any more. */
const struct exec_call *exec_calls_find(const struct exec_calls *c, int64_t number);

#endif
