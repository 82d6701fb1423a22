/*
 * dialect: how each kind of agent tells a hook about a tool call, and the exact words it takes for
 * an answer.
 *
 * A dialect is a row of a table: its events, what each is (a call to judge, the start of a session,
 * at which the hook shakes hands with the gate, that the agent waits for its person, which is told
 * as news and answered with nothing, harmless, or refused), and how an answer is printed. Exact
 * means exact: Codex 0.171.0 runs the tool when a denial holds one member that it does not know,
 * every agent here runs it on output that is no JSON (measured), so that nothing is printed but
 * what is listed here. Pure.
 */
#ifndef GATE_DIALECT_H
#define GATE_DIALECT_H

#include "gate/call.h"

struct dialect;

/* plain, claude, codex, gemini, qwen; NULL for any other name. Static. */
const struct dialect *dialect_find(const char *name);
/* Append the names, separated by ", ". */
void dialect_names(struct buf *out);

struct dialect_input {
    json_t *request;   /* the gate message; NULL: a harmless event, nothing to ask */
    const char *event; /* as the answer must name it; static */
};
#define DIALECT_INPUT_INIT \
    {                      \
        .request = NULL    \
    }
#define AUTO_DIALECT_INPUT __attribute__((cleanup(dialect_input_release)))
void dialect_input_release(struct dialect_input *in);
/* Read what the agent wrote. cwd is the folder for an agent that tells none (borrowed, any bytes).
 * ERR_FORMAT: malformed, ERR_REFUSED: an event that must not pass (an unknown one too). */
bool dialect_read(struct dialect_input *ret, const struct dialect *d, const char *text, size_t len,
                  const char *cwd, struct err *err) WARN_UNUSED;

struct dialect_answer {
    bool allow;
    json_t *reason; /* a string, borrowed, printed unchanged; NULL or "": a denial gets our words */
    const char *call; /* "c12", "" when not told */
};
/* Append what goes to standard output and what to standard error, and return the exit code: 0, or 2
 * for a denial where the agent takes the exit code for the answer. */
int dialect_write(struct buf *out, struct buf *errout, const struct dialect *d, const char *event,
                  const struct dialect_answer *answer);

#endif
