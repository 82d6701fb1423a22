/*
 * drive: runs one agent that is made to be driven by a client: starts it, gives it its task, asks
 * the gate for what it asks its client, and prints what it tells as JSON lines. The program
 * `headgate-drive`, inside the box, for agents whose own client would either ask nobody or go on
 * when its hook fails.
 *
 * Without an answer of the driver the agent runs nothing, so whatever ends the driver is a denial.
 * One thread, one loop. Its exit code is 0 when the agent says that it has done its task.
 */
#ifndef DRIVE_DRIVE_H
#define DRIVE_DRIVE_H

#include <uv.h>
#include "runner/base/jx.h"

struct drive {
    uv_loop_t loop;
    const char *prompt, *gate, *hook, *home, *cwd; /* borrowed */
    bool is_resumed;
    char *const *argv; /* the agent's program and its words */
    int status;        /* exit code once the loop has ended */
    bool is_ending;
    uv_process_t process;
    struct conn *ears;   /* what is said to the agent while it runs, as runner/keep/speech.h; NULL:
                            nobody speaks */
    uv_timer_t patience; /* between the request to end and the signal that ends it */
    void (*heard)(struct drive *d, int64_t id, const char *text); /* drive_listen */
    void (*exited)(struct drive *d);                              /* the program has ended */
    void *arg;
};

/* A kind of agent: set up everything and return; the loop does the rest. */
typedef bool (*drive_start_fn)(struct drive *d, struct err *err);
bool drive_codex(struct drive *d, struct err *err) WARN_UNUSED;

/* Listen on the standard input, where it is a pipe: heard is called for each message, until
 * drive_end. */
typedef void (*drive_heard_fn)(struct drive *d, int64_t id, const char *text);
void drive_listen(struct drive *d, drive_heard_fn heard);

/* Start the program. std_fds are its standard input and output (borrowed); its errors go where ours
 * go. */
bool drive_spawn(struct drive *d, const int std_fds[2], struct err *err) WARN_UNUSED;
/* Nothing more to do: when the program has not ended by itself within a few seconds it is killed.
 * The first status stays. */
void drive_end(struct drive *d, int status);
/* The same with a sentence on standard error. */
void drive_fail(struct drive *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Print one event of the agent as a line. */
void drive_tell(const json_t *event);

/* Ask the gate. request (stolen) is a gate message without `v`; answered exactly once, on the loop.
 * A gate that cannot be asked denies. about is handed back (borrowed by the call, then dropped). */
typedef void (*question_fn)(void *arg, const json_t *about, bool allow, const char *reason);
void question_ask(struct drive *d, json_t *request, json_t *about, question_fn answered, void *arg);

#endif
