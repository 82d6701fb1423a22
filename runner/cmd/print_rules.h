/*
 * print_rules: rules for people: the stored ones, what they say to a call and why, proposals, and
 * what ships beside them. Pure.
 */
#ifndef CMD_PRINT_RULES_H
#define CMD_PRINT_RULES_H

#include "runner/cmd/print.h"

/* Rows of rule.list. */
void print_rules(struct buf *out, const struct print *p, const json_t *rules);
/* {verdict,why,rule,reason,rules:[{rule,text,speaks,why}]}: the answer, and each rule's share. */
void print_judged(struct buf *out, const struct print *p, const json_t *judged);
/* call.explain: what was decided and what would be now. */
void print_explained(struct buf *out, const struct print *p, const json_t *result);
/* rule.propose: numbered, with what each would have decided. */
void print_proposals(struct buf *out, const struct print *p, const json_t *result);
/* [{program,options}], a line for each program. */
void print_program_options(struct buf *out, const json_t *all);
/* [{effect,what,why}], grouped by effect. */
void print_floor(struct buf *out, const struct print *p, const json_t *floor);

#endif
