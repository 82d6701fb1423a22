/*
 * rule_pick: rules made from a call: the proposals for it, and storing one of them.
 */
#ifndef CMD_RULE_PICK_H
#define CMD_RULE_PICK_H

#include "runner/cmd/client.h"

/* The answer to rule.propose for a call ("c12"). */
bool rule_proposals(json_t **ret, struct client *c, const char *call, struct err *err) WARN_UNUSED;
/* Store the proposal with this number, from 1: all its rules; append what was stored. ERR_USAGE:
 * there is none of this number. */
bool rule_pick(struct buf *report, struct client *c, const json_t *proposals, int64_t number,
               struct err *err) WARN_UNUSED;
/* rule.add: append the rules that were stored, and what waits that they cover. */
bool rule_store(struct buf *report, struct client *c, json_t *request_stolen,
                struct err *err) WARN_UNUSED;
/* Append what waits that would pass after a change (`covered` of the answer), and how to let it. */
void rule_report_covered(struct buf *report, const json_t *answer);

#endif
