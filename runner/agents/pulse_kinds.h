/*
 * pulse_kinds: what each kind of agent's words mean for its pulse (pulse.h). For runner/agents
 * alone.
 */
#ifndef AGENTS_PULSE_KINDS_H
#define AGENTS_PULSE_KINDS_H

#include "runner/agents/pulse.h"

/* A message of the agent. True: something changed. */
bool pulse_claude(struct pulse *p, const json_t *msg, int64_t now_ms);
bool pulse_codex(struct pulse *p, const json_t *msg, int64_t now_ms);
bool pulse_gemini(struct pulse *p, const json_t *msg, int64_t now_ms);
bool pulse_opencode(struct pulse *p, const json_t *msg, int64_t now_ms);
/* A line of its standard error. */
bool pulse_gemini_mutter(struct pulse *p, const char *line, int64_t now_ms);

/* What they say. Each returns whether something changed. */
bool pulse_works(struct pulse *p);
/* A request failed and is made again, by is_limit because there were too many. until_ms 0: not
 * told. */
bool pulse_retries(struct pulse *p, bool is_limit, int64_t until_ms, const char *why);
/* No request is taken until then. */
bool pulse_is_limited(struct pulse *p, int64_t until_ms, const char *why);
bool pulse_failed(struct pulse *p, const char *error);
/* It took up this message and all before it. */
bool pulse_hears(struct pulse *p, int64_t message);
/* The message of a name of pulse_message_id(), else 0. */
int64_t pulse_message_of(const char *id);
/* A sum that replaces the messages since the last one. */
bool pulse_settles(struct pulse *p, const struct pulse_use *use);
/* One message's use; the same id again replaces it. "": has none. */
bool pulse_counts(struct pulse *p, const char *message_id, const struct pulse_use *use);
/* What an agent tells can be anything: a number of its, within 0 and PULSE_NUMBER_MAX, where sums,
 * and milliseconds of its seconds, are numbers still; and its money, within 0 and PULSE_COST_MAX.
 * Absent: 0. */
int64_t pulse_number(const json_t *told, const char *key);
double pulse_cost(const json_t *told);
/* The sum stays within those bounds. */
void pulse_use_add(struct pulse_use *sum, const struct pulse_use *more, int sign);

#endif
