/*
 * ops_call: calls that wait and what was decided of them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/base/clock.h"
#include "runner/base/limits.h"
#include "runner/server/events.h"
#include "runner/server/link.h"
#include "runner/server/ops.h"
#include "runner/server/view.h"
#include "runner/store/store.h"

/* One transaction stays short enough that nobody notices it. */
enum { DECIDE_MAX = 20000, EQUAL_SHOWN = 20 };

bool request_call_id(int64_t *ret, const char *word, struct err *err)
{
    const char *digits = word[0] == 'c' ? word + 1 : word;
    char *end;
    long long id = strtoll(digits, &end, 10);
    if (!isdigit((unsigned char)digits[0]) || *end || id <= 0)
        return err_set(err, ERR_USAGE,
                       "'%s' is not a call; 'headgate gate ls' lists those that wait, such as c12",
                       word);
    *ret = id;
    return true;
}

static bool parse_states(unsigned *ret, const json_t *body, struct err *err)
{
    AUTO_STRV struct strv names = STRV_INIT;
    unsigned mask = 0;
    jx_strv(&names, body, "states");
    for (size_t i = 0; i < names.n; i++) {
        enum call_state state;
        if (!call_state_parse(&state, names.v[i]))
            return err_set(err, ERR_USAGE, "there is no state '%s' of a call", names.v[i]);
        mask |= 1U << state;
    }
    *ret = mask;
    return true;
}

void op_call_list(struct request *r)
{
    struct err err = ERR_INIT;
    unsigned mask = 0;
    AUTO_JSON json_t *calls = NULL;
    const char *attempt = jx_str(r->body, "attempt", NULL);
    if (!parse_states(&mask, r->body, &err) ||
        !ledger_list(&calls, r->server->db, mask, attempt, jx_int(r->body, "limit", 0), &err) ||
        !view_add_rungs(calls, r->server, &err))
        request_fail(r, &err);
    else
        request_answer(r, json_pack("{s:O}", "calls", view_cut_calls(calls)));
}

void op_call_show(struct request *r)
{
    struct err err = ERR_INIT;
    struct ledger_call call;
    int64_t id;
    if (!request_call_id(&id, jx_str(r->body, "call", ""), &err) ||
        !ledger_get(&call, r->server->db, id, &err)) {
        request_fail(r, &err);
        return;
    }
    AUTO_JSON json_t *shown = json_pack("[o]", ledger_call_json(&call));
    ledger_call_release(&call);
    if (view_add_rungs(shown, r->server, &err))
        request_answer(r, json_pack("{s:O}", "call", json_array_get(shown, 0)));
    else
        request_fail(r, &err);
}

/* One request's decision of any number of calls. */
struct decision {
    struct server *server;
    const char *by, *reason, *digest;
    bool allow, grant, equal; /* equal: the calls of the same action too */
    int64_t at_ms;
    size_t n_named;          /* the ids that were shown; digest is theirs */
    struct ledger_call *won; /* to be told once it is committed */
    size_t n_won;
    json_t *failed;
};

static void decision_release(struct decision *d)
{
    for (size_t i = 0; i < d->n_won; i++)
        ledger_call_release(&d->won[i]);
    free(d->won);
    json_decref(d->failed);
}

static void add_failed(struct decision *d, int64_t id, const struct err *why)
{
    AUTO_FREE char *name = xasprintf("c%lld", (long long)id);
    json_t *entry = json_object();
    jx_set_str(entry, "id", name);
    jx_set_str(entry, "code", err_code_name(why->code));
    jx_set_str(entry, "message", why->text);
    json_array_append_new(d->failed, entry);
}

/* Why the call was not decided by us. */
static void explain_loss(struct err *err, const struct decision *d, const struct ledger_call *call)
{
    long long id = (long long)call->id;
    const char *by = call->decided_by && call->decided_by[0] ? call->decided_by : NULL;
    switch (call->state) {
    case CALL_APPROVED:
    case CALL_CONSUMED:
    case CALL_DENIED:
        err_set(err, ERR_CONFLICT, "c%lld was already %s%s%s%s", id,
                call->allowed ? "approved" : "denied", by ? " by " : "", by ? by : "",
                d->allow && !call->allowed
                    ? "; --grant lets the same action of this attempt pass once"
                    : "");
        break;
    case CALL_ORPHANED:
        err_set(err, ERR_CONFLICT,
                d->allow ? "whoever made c%lld is gone; --grant lets the same action of this "
                           "attempt pass once"
                         : "whoever made c%lld is gone",
                id);
        break;
    case CALL_EXPIRED:
        err_set(err, ERR_CONFLICT, "c%lld was answered already: its time was over", id);
        break;
    case CALL_PENDING: /* never lost */
    case CALL_STATE_COUNT:
        err_set(err, ERR_INTERNAL, "c%lld could not be decided", id);
        break;
    }
}

static bool decide_one(struct decision *d, int64_t id, const char *digest, struct err *err)
{
    enum ledger_outcome outcome;
    struct ledger_call call;
    struct err why = ERR_INIT;
    if (!ledger_decide(&outcome, &call, d->server->db, id, digest, d->allow, d->reason, d->by,
                       "person", d->grant, d->at_ms, &why)) {
        if (why.code != ERR_NOT_FOUND && why.code != ERR_CONFLICT) {
            *err = why;
            return false;
        }
        add_failed(d, id, &why);
        return true;
    }
    if (outcome == LEDGER_LOST) {
        explain_loss(&why, d, &call);
        add_failed(d, id, &why);
        ledger_call_release(&call);
        return true;
    }
    d->won = xreallocarray(d->won, d->n_won + 1, sizeof(*d->won));
    d->won[d->n_won++] = call;
    return true;
}

/* The pending calls when no ids are given. */
static bool collect_ids(struct strv *ret, struct request *r, struct err *err)
{
    jx_strv(ret, r->body, "ids");
    if (ret->n > DECIDE_MAX)
        return err_set(err, ERR_LIMIT, "more than %d calls at once", DECIDE_MAX);
    if (ret->n > 0)
        return true;
    if (!jx_bool(r->body, "all", false))
        return err_set(err, ERR_USAGE, "no call is named");
    json_t *calls;
    size_t i;
    const json_t *call;
    if (!ledger_list(&calls, r->server->db, 1U << CALL_PENDING, NULL, DECIDE_MAX, err))
        return false;
    json_array_foreach(calls, i, call)
    {
        strv_push(ret, jx_str(call, "id", ""));
    }
    json_decref(calls);
    return true;
}

/* Append the ids that are not there yet, as "c12" or as "12". */
static void push_new(struct strv *words, const struct strv *ids)
{
    for (size_t i = 0; i < ids->n; i++)
        if (!strv_has(words, ids->v[i]) && !strv_has(words, ids->v[i] + 1))
            strv_push(words, ids->v[i]);
}

/* The calls that wait and do the same as one of the words: behind the words themselves. */
static bool add_equal(struct strv *words, struct db *db, struct err *err)
{
    size_t n = words->n;
    for (size_t i = 0; i < n; i++) {
        AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
        AUTO_STRV struct strv same = STRV_INIT;
        struct err ignored = ERR_INIT;
        int64_t id;
        if (!request_call_id(&id, words->v[i], err))
            return false;
        if (!ledger_get(&call, db, id, &ignored))
            continue; /* told when it is decided */
        if (!ledger_equal(&same, db, call.action, err))
            return false;
        push_new(words, &same);
    }
    return true;
}

/* What still waits and does the same as what was decided. */
static json_t *list_equal(const struct decision *d)
{
    AUTO_STRV struct strv ids = STRV_INIT;
    for (size_t i = 0; i < d->n_won && i < EQUAL_SHOWN; i++) {
        AUTO_STRV struct strv same = STRV_INIT;
        struct err ignored = ERR_INIT;
        if (!ledger_equal(&same, d->server->db, d->won[i].action, &ignored))
            break;
        push_new(&ids, &same);
    }
    return jx_from_strv(&ids);
}

static bool decide_all(struct decision *d, const struct strv *words, struct err *err)
{
    AUTO_ROLLBACK struct db *db = d->server->db;
    if (!db_begin(db, err))
        return false;
    for (size_t i = 0; i < words->n; i++) {
        int64_t id;
        const char *digest = i < d->n_named ? d->digest : NULL;
        if (!request_call_id(&id, words->v[i], err) || !decide_one(d, id, digest, err))
            return false;
    }
    return db_commit(db, err);
}

static void tell(const struct decision *d)
{
    for (size_t i = 0; i < d->n_won; i++) {
        const struct ledger_call *call = &d->won[i];
        struct live *live = live_find(d->server, call->attempt);
        events_call(d->server, call);
        if (live)
            link_tell_call(live, call);
        events_attempt(d->server, call->attempt);
    }
}

static bool read_decision(struct decision *d, const struct request *r, struct err *err)
{
    const char *word = jx_str(r->body, "decision", "");
    *d = (struct decision){
        .server = r->server,
        .by = r->by,
        .reason = jx_str(r->body, "reason", ""),
        .digest = jx_str(r->body, "digest", NULL),
        .allow = strcmp(word, "allow") == 0,
        .grant = jx_bool(r->body, "grant", false),
        .equal = jx_bool(r->body, "equal", false),
        .at_ms = clock_unix_ms(),
    };
    if (!d->allow && strcmp(word, "deny") != 0)
        return err_set(err, ERR_USAGE, "a decision is 'allow' or 'deny', not '%s'", word);
    if (strlen(d->reason) > LIMIT_REASON_BYTES)
        return err_set(err, ERR_LIMIT, "the reason is longer than %d bytes", LIMIT_REASON_BYTES);
    return true;
}

void op_call_decide(struct request *r)
{
    struct decision d;
    struct err err = ERR_INIT;
    AUTO_STRV struct strv words = STRV_INIT;
    if (!read_decision(&d, r, &err) || !collect_ids(&words, r, &err)) {
        request_fail(r, &err);
        return;
    }
    d.failed = json_array();
    d.n_named = words.n;
    if ((d.equal && !add_equal(&words, r->server->db, &err)) || !decide_all(&d, &words, &err)) {
        request_fail(r, &err);
        decision_release(&d);
        return;
    }
    tell(&d);
    json_t *decided = json_array();
    for (size_t i = 0; i < d.n_won; i++)
        json_array_append_new(decided, ledger_call_json(&d.won[i]));
    request_answer(r, json_pack("{s:o, s:O, s:o}", "decided", view_cut_calls(decided), "failed",
                                d.failed, "equal", list_equal(&d)));
    decision_release(&d);
}
