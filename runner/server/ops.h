/*
 * ops: the operations of the control protocol (runner/PROTOCOL.md), by file. Each answers its
 * request, now or later.
 */
#ifndef SERVER_OPS_H
#define SERVER_OPS_H

#include "runner/server/control.h"

/* ops_server.c */
void op_hello(struct request *r);
void op_snapshot(struct request *r);
void op_subscribe(struct request *r);
void op_server_info(struct request *r);
void op_server_stop(struct request *r);

/* ops_run.c */
void op_run_create(struct request *r);
void op_run_list(struct request *r);

/* ops_ladder.c */
void op_ladder_set(struct request *r);

/* ops_attempt.c */
void op_attempt_list(struct request *r);
void op_attempt_show(struct request *r);
void op_attempt_stop(struct request *r);
void op_attempt_resume(struct request *r);
void op_attempt_say(struct request *r);
void op_attempt_harvest(struct request *r);
void op_attempt_merged(struct request *r);

/* ops_trace.c */
void op_attempt_trace(struct request *r);

/* ops_clean.c */
void op_attempt_discard(struct request *r);
void op_clean(struct request *r);

/* Exactly one attempt, named by `attempt`. */
bool request_attempt(struct strv *ret, struct request *r, struct err *err) WARN_UNUSED;
/* Start an attempt that has ended again; message: what its agent is told then, NULL: its task. */
bool attempt_resume(struct request *r, const char *id, const char *message,
                    struct err *err) WARN_UNUSED;

/* ops_comment.c */
void op_comment_add(struct request *r);
void op_comment_list(struct request *r);
void op_comment_rm(struct request *r);
void op_comment_send(struct request *r);

/* ops_call.c */
void op_call_list(struct request *r);
void op_call_show(struct request *r);
void op_call_decide(struct request *r);
/* "c12" or "12". */
bool request_call_id(int64_t *ret, const char *word, struct err *err) WARN_UNUSED;

/* ops_explain.c */
void op_call_explain(struct request *r);
void op_rule_propose(struct request *r);
/* The calls that wait and that would pass now ("c12"), by_rule: by a rule; as far as it can be told
 * from outside of the box. */
bool explain_covered(json_t **ret, struct server *s, bool by_rule, struct err *err) WARN_UNUSED;
/* The rules that would let pass what this call did, wherever in its repository; NULL: none can. */
bool explain_habit(json_t **ret, struct server *s, int64_t call, struct err *err) WARN_UNUSED;

/* ops_stats.c */
void op_gate_stats(struct request *r);

/* ops_rule.c */
void op_rule_add(struct request *r);
void op_rule_list(struct request *r);
void op_rule_rm(struct request *r);

/* ops_gate.c */
void op_gate_log(struct request *r);
void op_gate_export(struct request *r);
void op_gate_export_calls(struct request *r);
void op_gate_verify(struct request *r);

#endif
