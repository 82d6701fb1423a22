/*
 * alert: the bytes that tell a person through the terminal that a call waits: the bell, and the
 * notification that many terminals know, OSC 9 or OSC 777.
 *
 * Nothing of them comes from a box: the sentence is ours. A terminal that does not know OSC is sent
 * none, by what the environment tells of it; `ui.osc` (auto, 9, 777, off) says otherwise.
 */
#ifndef BASE_ALERT_H
#define BASE_ALERT_H

#include "runner/base/buf.h"
#include "runner/base/config.h"

enum alert_osc { ALERT_OSC_OFF, ALERT_OSC_9, ALERT_OSC_777 };

struct alert {
    bool bell;
    enum alert_osc osc;
};

/* As ui.bell and ui.osc say, and for auto the variables of this process (TERM, TERM_PROGRAM, ...).
 */
bool alert_load(struct alert *ret, const struct config *config, struct err *err) WARN_UNUSED;
/* What a terminal of these variables understands. Pure; a NULL is an unset variable. */
enum alert_osc alert_osc_of(const char *term, const char *term_program, bool is_multiplexed);
/* Append the bytes; n calls wait. */
void alert_add(struct buf *out, const struct alert *a, size_t n);

#endif
