/*
 * ledger: the store of calls, rules and the chained log, on a db connection that the caller owns
 * and shares with its own tables. Every function runs inside the caller's transaction when there is
 * one (which the caller rolls back after a failure), else in one of its own.
 *
 * Every change of a call appends a log row in the same transaction. log.hash = SHA-256 over (prev
 * hash, seq, at_ms, kind, canonical body); ledger_verify finds any changed, missing or reordered
 * row. A cut tail or a full rewrite cannot be seen without an outside anchor (the last hash).
 * Triggers refuse every UPDATE, DELETE and out-of-order INSERT of log rows.
 *
 * Texts are valid UTF-8, as in struct call_request. All of it blocks on the disk.
 */
#ifndef GATE_LEDGER_H
#define GATE_LEDGER_H

#include "gate/call.h"
#include "gate/rule.h"
#include "runner/base/db.h"

/* SQL of the gate's tables, for db_migrate: four steps, each of a later version. */
extern const char ledger_schema[];
extern const char ledger_schema_origins[];
extern const char ledger_schema_told[];
extern const char ledger_schema_drop[];

struct ledger_call {
    int64_t id; /* cN */
    char *attempt;
    int64_t local; /* the keeper's number */
    enum call_state state;
    struct call_request request;
    char action[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
    int64_t asked_ms, deadline_ms, decided_ms; /* 0: none */
    char *ask_why, *ask_reason;                /* why a person is asked; "" when not asked */
    char *decided_by, *why, *reason;           /* "" when not decided */
    bool allowed;                              /* meaning of a decided call */
    int64_t rule;                              /* that decided or asks; 0: none */
    int64_t dropped_ms; /* since when its arguments are gone, and the request has none; 0: there */
};
#define LEDGER_CALL_INIT \
    {                    \
        0                \
    }
#define AUTO_LEDGER_CALL __attribute__((cleanup(ledger_call_release)))
void ledger_call_release(struct ledger_call *c);
/* CALL of runner/PROTOCOL.md, arguments whole. `id` is "c12", `rule` a number or null, `subagent`
 * an object or null; members that a call in its state does not have are null. `why` and `reason` of
 * a pending call say why it is asked, as `ask_why` and `ask_reason` do in every state. */
json_t *ledger_call_json(const struct ledger_call *c);

/* How a call came to be asked. */
struct ledger_question {
    int64_t asked_ms, deadline_ms; /* 0: none */
    const char *why, *reason;      /* NULL: not told */
    int64_t rule;                  /* the rule that asks; its use is counted; 0: none */
};
/* Insert an asked call as pending (idempotent by attempt and local number; the same number with
 * another digest is ERR_CONFLICT). When a one-shot grant for this attempt and action exists it is
 * used up and the call is approved at once; when the person's newest word on this action of this
 * attempt was a denial, it is denied at once with the same words, why `repeat` (state tells). */
bool ledger_ask(struct ledger_call *ret, struct db *db, const char *attempt, int64_t local,
                const struct call_request *r, const struct ledger_question *q,
                struct err *err) WARN_UNUSED;
/* Record a call that the keeper decided from its policy: final at once, an allowed one as consumed
 * (its keeper tells nothing else of it that matters); idempotent. Counts the use of the rule. */
bool ledger_record_decided(int64_t *ret_id, struct db *db, const char *attempt, int64_t local,
                           const struct call_request *r, int64_t at_ms, bool allowed,
                           const char *why, int64_t rule, const char *reason,
                           struct err *err) WARN_UNUSED;

enum ledger_outcome { LEDGER_WON, LEDGER_LOST, LEDGER_GRANTED };
/* The one conditional transition. digest NULL: not compared; another digest than the call's is
 * ERR_CONFLICT. LEDGER_LOST fills *ret with the call as it is (decided by whom). Approving an
 * expired call makes a one-shot grant for its attempt and action (LEDGER_GRANTED); an orphaned or
 * denied one only with grant, else LEDGER_LOST. Making a grant that exists already is
 * LEDGER_GRANTED too, and there is still one. ERR_NOT_FOUND: no such call. */
bool ledger_decide(enum ledger_outcome *ret_outcome, struct ledger_call *ret, struct db *db,
                   int64_t id, const char *digest, bool allow, const char *reason, const char *by,
                   const char *why, bool grant, int64_t at_ms, struct err *err) WARN_UNUSED;
/* consumed, expired, orphaned as told by the keeper (idempotent; an impossible one is ignored and
 * logged). An approved call that expires was approved too late to be delivered: it is expired, and
 * the approval becomes a one-shot grant. ERR_NOT_FOUND: no such call. */
bool ledger_settle(struct ledger_call *ret, struct db *db, const char *attempt, int64_t local,
                   enum call_event event, int64_t at_ms, struct err *err) WARN_UNUSED;
/* All pending and approved-but-not-consumed calls of an attempt become orphaned (its keeper is
 * gone). */
bool ledger_orphan_all(struct db *db, const char *attempt, int64_t at_ms,
                       struct err *err) WARN_UNUSED;

bool ledger_get(struct ledger_call *ret, struct db *db, int64_t id, struct err *err) WARN_UNUSED;
bool ledger_find(struct ledger_call *ret, struct db *db, const char *attempt, int64_t local,
                 struct err *err) WARN_UNUSED;
/* JSON array of CALL, oldest first. state_mask of 1 << state (0: all); attempt NULL: all; limit 0:
 * the 1000 newest, else the newest limit. */
bool ledger_list(json_t **ret, struct db *db, unsigned state_mask, const char *attempt,
                 int64_t limit, struct err *err) WARN_UNUSED;
/* The newest limit calls that have their arguments, newest first; caller releases each and frees
 * the array. */
bool ledger_recent(struct ledger_call **ret, size_t *ret_n, struct db *db, int64_t limit,
                   struct err *err) WARN_UNUSED;
/* attempt NULL: of all. */
bool ledger_count_pending(int64_t *ret, struct db *db, const char *attempt,
                          struct err *err) WARN_UNUSED;

/* Who makes a rule, and from which call. */
struct ledger_origin {
    const char *by;
    int64_t at_ms;
    int64_t from_call; /* 0: none */
};
/* Store a rule. One of the same text that is in force keeps its number. A scope without its value
 * (`in repo` as typed) is ERR_USAGE: the caller fills it in. */
bool ledger_rule_add(int64_t *ret_id, struct db *db, const struct rule *rule,
                     const struct ledger_origin *origin, struct err *err) WARN_UNUSED;
/* Take a rule out of force; its row stays for the calls that it decided. ERR_NOT_FOUND. */
bool ledger_rule_rm(struct db *db, int64_t id, const char *by, int64_t at_ms,
                    struct err *err) WARN_UNUSED;
/* Array of {id,text,by,from_call,made_ms,last_used_ms,count}, in force, oldest first. */
bool ledger_rule_list(json_t **ret, struct db *db, struct err *err) WARN_UNUSED;
/* Rules whose scope holds for this attempt; caller releases each and frees the array. */
bool ledger_rules_for(struct rule **ret, size_t *ret_n, struct db *db, const char *run,
                      const char *attempt, const char *repo, struct err *err) WARN_UNUSED;

/* The calls of any attempt that wait and have this action, oldest first, as ids in *ret ("c12"). */
bool ledger_equal(struct strv *ret, struct db *db, const char *action, struct err *err) WARN_UNUSED;

/* Append a row of another kind (run created, ladder set, ...). body borrowed. */
bool ledger_log(struct db *db, const char *kind, const json_t *body, int64_t at_ms,
                struct err *err) WARN_UNUSED;
/* The same of what an attempt did besides its calls, which ledger_log_told finds again. */
bool ledger_tell(struct db *db, const char *attempt, const char *kind, const json_t *body,
                 int64_t at_ms, struct err *err) WARN_UNUSED;
/* Array of {seq,at_ms,kind,body,hash} after number `after`, at most limit (0: 1000). */
bool ledger_log_list(json_t **ret, struct db *db, int64_t after, int64_t limit,
                     struct err *err) WARN_UNUSED;
/* Which rows of the log: of each member that is not NULL or 0, only those that have it. */
struct ledger_log_filter {
    const char *attempt; /* "3.2", or "3" for all of a run */
    const char *agent, *tool, *state;
    const char *text; /* anywhere in the row or its call's request, case of ASCII ignored */
    int64_t since_ms, until_ms, after;
    int64_t limit; /* the newest so many; 0: 1000 */
};
/* Array as of ledger_log_list. */
bool ledger_log_find(json_t **ret, struct db *db, const struct ledger_log_filter *filter,
                     struct err *err) WARN_UNUSED;
/* The newest limit rows that were told of an attempt, oldest first, as of ledger_log_list. */
bool ledger_log_told(json_t **ret, struct db *db, const char *attempt, int64_t limit,
                     struct err *err) WARN_UNUSED;
/* Array of {seq,at_ms,kind,body,prev,hash}, body as the text that was hashed, after number `after`,
 * at most limit. run 0: all rows; else rows of other runs are only {seq,prev,hash}, which keeps the
 * chain whole and tells nothing of them. Fewer where their bodies are long: a page fits into a
 * message. */
bool ledger_log_export(json_t **ret, struct db *db, int64_t run, int64_t after, int64_t limit,
                       struct err *err) WARN_UNUSED;
/* Array of {call,attempt,local,request}, of a run (0: all), numbered above `after`, at most limit.
 * With them each digest in the log can be computed again; one without arguments has dropped_ms
 * instead of a request. Fewer where requests are long. *ret_last:
 * the number of the last; after where there is none. */
bool ledger_call_export(json_t **ret, int64_t *ret_last, struct db *db, int64_t run, int64_t after,
                        int64_t limit, struct err *err) WARN_UNUSED;
/* Arguments that clean dropped, and the kind of the row that says so of some of an attempt's. */
#define LEDGER_DROPPED "args.dropped"
struct ledger_dropped {
    int64_t calls, bytes; /* bytes: of their requests, about */
    int64_t last_ms;      /* 0: never */
};
/* Append the attempts with calls that were asked before that time, are final and have arguments. */
bool ledger_droppable(struct strv *ret, struct db *db, int64_t before_ms,
                      struct err *err) WARN_UNUSED;
/* Drop the arguments of these calls of an attempt, which must have ended: digests, decisions and
 * the log stay, and a row says of how many. dry_run: only count. */
bool ledger_drop(struct ledger_dropped *ret, struct db *db, const char *attempt, int64_t before_ms,
                 const char *by, int64_t at_ms, bool dry_run, struct err *err) WARN_UNUSED;
/* All that were dropped until now, without bytes. */
bool ledger_dropped(struct ledger_dropped *ret, struct db *db, struct err *err) WARN_UNUSED;
/* The hash of a row, as stored. */
void ledger_log_hash(char ret[DIGEST_HEX_SIZE], const char *prev, int64_t seq, int64_t at_ms,
                     const char *kind, const char *body);
/* *ret_bad_seq 0: whole. Else the first bad row and why. ret_tail: hash of the last row, the anchor
 * to export ("" of an empty log). */
bool ledger_verify(int64_t *ret_rows, int64_t *ret_bad_seq, struct buf *ret_why,
                   char ret_tail[DIGEST_HEX_SIZE], struct db *db, struct err *err) WARN_UNUSED;
/* The same of what is stored beside the log, once the log is whole: each call must ask what its
 * rows have the digest of (or have no arguments where a row says that they were dropped, of as many
 * calls as have none), and be in the state and decided as its newest row tells; each rule must
 * be in force, or removed, with the text and scope of its newest row; a grant that is left has a
 * row. *ret_bad_seq 0: all is so; else the newest row of the first that is not, or the row behind
 * the last where none is about it. No transaction may be open. */
bool ledger_verify_store(int64_t *ret_bad_seq, struct buf *ret_why, struct db *db,
                         struct err *err) WARN_UNUSED;

#endif
