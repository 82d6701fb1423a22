/*
 * speech: what is said to a headless agent, on its standard input, in the form that its kind reads
 * (agent.h, `hears`).
 *
 * "claude": its own stream of user messages, the task among them; the input is closed when its turn
 * is over and nothing was said that it has not taken up, which is what ends it. "lines": {"id",
 * "text"} a line, for a driver or plugin of ours.
 *
 * Written is not heard: who speaks learns from the agent's output what was taken up (pulse.h). What
 * was not by the agent's end is the server's to say again.
 */
#ifndef KEEP_SPEECH_H
#define KEEP_SPEECH_H

#include <stdint.h>
#include <uv.h>
#include "runner/base/buf.h"

enum speech_form { SPEECH_NONE, SPEECH_CLAUDE, SPEECH_LINES };

struct speech {
    enum speech_form form; /* NONE: the agent hears nothing, or its input is closed */
    uv_pipe_t pipe;
    bool is_open;    /* the handle is to be closed */
    int64_t last_id; /* messages are said once, in their order */
};

bool speech_form_parse(enum speech_form *ret, const char *name, struct err *err) WARN_UNUSED;
/* Make the pipe; *ret_fd is the agent's end, the caller's to close. */
bool speech_open(struct speech *s, uv_loop_t *loop, enum speech_form form, int *ret_fd,
                 struct err *err) WARN_UNUSED;
/* The task, for forms that take it here. */
void speech_begin(struct speech *s, const char *task);
/* One message; an id that was said before is passed over. False: the agent hears nothing (any
 * more). */
bool speech_say(struct speech *s, int64_t id, const char *text);
/* The agent's turn is over, and it has heard all up to this id. */
void speech_idle(struct speech *s, int64_t heard);
/* No callback comes after it; also for one that was never opened. */
void speech_close(struct speech *s);

#endif
