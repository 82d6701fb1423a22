/*
 * session: the calls of a recorded session of a real agent (tests/data, tests/agents/record.sh), as
 * its gate was asked them.
 */
#ifndef TESTS_GATE_SESSION_H
#define TESTS_GATE_SESSION_H

#include "gate/policy.h"

extern const struct policy_place session_place;
/* The number of calls; the program ends where the file cannot be read. */
size_t session_load(struct call_request **ret, const char *path);
void session_free(struct call_request *calls, size_t n);

#endif
