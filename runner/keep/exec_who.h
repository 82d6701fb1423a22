/*
 * exec_who: who is behind a process of the box, for records: the programs above it, and the call
 * and subagent that it works for, where they are known.
 */
#ifndef KEEP_EXEC_WHO_H
#define KEEP_EXEC_WHO_H

#include "runner/base/jx.h"
#include "runner/keep/exec_gate.h"

/* {parents:[its own program, ..., the agent's], call_id, session, subagent}; what is not known is
 * left away. init_pid: of the box. New reference. */
json_t *exec_who(const struct exec_gate *g, pid_t init_pid, pid_t pid);

#endif
