/*
 * exec_decide: one parked exec, looked at, judged, and answered or asked. The other half of
 * exec_gate, whose state it works on; nothing else includes this.
 */
#ifndef KEEP_EXEC_DECIDE_H
#define KEEP_EXEC_DECIDE_H

#include "runner/keep/exec_gate.h"

void exec_decide(struct exec_gate *g, const struct exec_notice *notice);
/* Whether the policy has to know who calls. */
bool exec_gate_looks_at_origin(const struct exec_gate *g);

/* exec_gate.c: let it go on (the image is taken over), refuse it with an errno; whether one more
 * record of a single exec may be written in this second. */
void exec_gate_go_on(struct exec_gate *g, const struct exec_notice *n, struct exec_image *image);
void exec_gate_refuse(struct exec_gate *g, const struct exec_notice *n, int why);
bool exec_gate_may_note(struct exec_gate *g);

#endif
