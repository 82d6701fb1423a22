#include "runner/server/merge.h"

#include <stdlib.h>
#include <string.h>

#include "gate/broker.h"
#include "runner/base/mem.h"
#include "runner/store/broker_row.h"
#include "runner/store/message_row.h"

void merge_release(struct merge *m)
{
    free(m->calls);
    json_decref(m->news);
    *m = (struct merge)MERGE_INIT;
}

static void changed(struct merge *m, int64_t call, bool is_asked)
{
    m->calls = xreallocarray(m->calls, m->n_calls + 1, sizeof(*m->calls));
    m->calls[m->n_calls++] = (struct merge_call){.id = call, .is_asked = is_asked};
}

/* One record with what it is merged into. */
struct arrival {
    struct merge *m;
    struct db *db;
    struct attempt_row *row;
    const json_t *record;
    int64_t at_ms;
};

/* A record that cannot be understood must neither stop the ones behind it nor vanish without a
 * trace. */
static bool pass_over(const struct arrival *a, const struct err *why, struct err *err)
{
    AUTO_JSON json_t *body = json_object();
    jx_set_str(body, "attempt", a->row->id);
    jx_set_int(body, "seq", jx_int(a->record, "seq", 0));
    jx_set_str(body, "record", jx_str(a->record, "r", ""));
    jx_set_str(body, "why", why->text);
    return ledger_log(a->db, "record.unreadable", body, a->at_ms, err);
}

/* The ledger would not have it: because of what it says, or because the store failed. */
static bool refused(const struct arrival *a, const struct err *why, struct err *err)
{
    if (why->code == ERR_NOT_FOUND || why->code == ERR_CONFLICT)
        return pass_over(a, why, err);
    *err = *why;
    return false;
}

static void apply(const struct arrival *a, enum attempt_event event)
{
    unsigned effects;
    if (attempt_row_apply(a->row, event, a->at_ms, &effects))
        a->m->effects |= effects;
}

static bool read_request(struct call_request *ret, const struct arrival *a, struct err *why)
{
    AUTO_BUF struct buf text = BUF_INIT;
    const json_t *request = jx_obj(a->record, "request");
    if (!request)
        return err_set(why, ERR_FORMAT, "it holds no request");
    jx_dump(&text, request);
    return call_request_parse(ret, text.ptr, text.len, why);
}

/* In the same transaction as what lets it pass: it is carried out once. */
static bool add_broker(const struct arrival *a, int64_t call, struct err *err)
{
    a->m->has_broker = true;
    return broker_row_add(a->db, call, a->row->id, a->at_ms, err);
}

static bool on_asked(const struct arrival *a, struct err *err)
{
    struct call_request request = CALL_REQUEST_INIT;
    struct ledger_call call;
    struct err why = ERR_INIT;
    if (!read_request(&request, a, &why))
        return pass_over(a, &why, err);
    const struct ledger_question q = {.asked_ms = a->at_ms,
                                      .deadline_ms = jx_int(a->record, "deadline_ms", 0),
                                      .why = jx_str(a->record, "why", NULL),
                                      .reason = jx_str(a->record, "reason", NULL),
                                      .rule = jx_int(a->record, "rule", 0)};
    bool ok =
        ledger_ask(&call, a->db, a->row->id, jx_int(a->record, "call", 0), &request, &q, &why);
    call_request_release(&request);
    if (!ok)
        return refused(a, &why, err);
    changed(a->m, call.id, true);
    ledger_call_release(&call);
    return true;
}

static bool on_decided(const struct arrival *a, struct err *err)
{
    struct call_request request = CALL_REQUEST_INIT;
    struct err why = ERR_INIT;
    int64_t id;
    if (!read_request(&request, a, &why))
        return pass_over(a, &why, err);
    bool is_allowed = strcmp(jx_str(a->record, "verdict", ""), "allow") == 0;
    bool ok =
        ledger_record_decided(&id, a->db, a->row->id, jx_int(a->record, "call", 0), &request,
                              a->at_ms, is_allowed, jx_str(a->record, "why", ""),
                              jx_int(a->record, "rule", 0), jx_str(a->record, "reason", ""), &why);
    bool is_for_broker = is_allowed && broker_is_call(&request);
    call_request_release(&request);
    if (!ok)
        return refused(a, &why, err);
    changed(a->m, id, false);
    return !is_for_broker || add_broker(a, id, err);
}

static bool settle(const struct arrival *a, enum call_event event, struct err *err)
{
    struct ledger_call call;
    struct err why = ERR_INIT;
    if (!ledger_settle(&call, a->db, a->row->id, jx_int(a->record, "call", 0), event, a->at_ms,
                       &why))
        return refused(a, &why, err);
    changed(a->m, call.id, false);
    bool is_for_broker =
        event == CALL_EV_CONSUME && call.state == CALL_CONSUMED && broker_is_call(&call.request);
    bool ok = !is_for_broker || add_broker(a, call.id, err);
    ledger_call_release(&call);
    return ok;
}

static bool on_consumed(const struct arrival *a, struct err *err)
{
    return settle(a, CALL_EV_CONSUME, err);
}

static bool on_expired(const struct arrival *a, struct err *err)
{
    return settle(a, CALL_EV_EXPIRE, err);
}

/* Its time is over and it waits on: told again, and a row of the log. */
static bool on_overdue(const struct arrival *a, struct err *err)
{
    struct ledger_call call;
    struct err why = ERR_INIT;
    if (!ledger_find(&call, a->db, a->row->id, jx_int(a->record, "call", 0), &why))
        return refused(a, &why, err);
    AUTO_FREE char *name = xasprintf("c%lld", (long long)call.id);
    AUTO_JSON json_t *body = json_object();
    jx_set_str(body, "call", name);
    jx_set_str(body, "attempt", a->row->id);
    changed(a->m, call.id, true);
    ledger_call_release(&call);
    return ledger_log(a->db, "call.overdue", body, a->at_ms, err);
}

static bool on_orphaned(const struct arrival *a, struct err *err)
{
    return settle(a, CALL_EV_ORPHAN, err);
}

static bool on_started(const struct arrival *a, struct err *err)
{
    (void)err;
    attempt_row_begin_pulse(a->row);
    a->m->has_started = true;
    apply(a, ATTEMPT_EV_STARTED);
    return true;
}

static bool on_layers(const struct arrival *a, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    const json_t *layers = jx_arr(a->record, "layers");
    (void)err;
    if (layers) {
        jx_dump(&text, layers);
        attempt_row_set(&a->row->layers, text.ptr);
    }
    return true;
}

static bool on_note(const struct arrival *a, struct err *err)
{
    (void)err;
    attempt_row_set(&a->row->note, jx_str(a->record, "text", NULL));
    return true;
}

/* What a box did with a host since it was last told, which programs it started: a row of the log.
 */
static bool on_told(const struct arrival *a, struct err *err)
{
    AUTO_JSON json_t *body = json_deep_copy(a->record);
    static const char *const of_spool[] = {"r", "seq", "at_ms", "prev", "hash"};
    for (size_t i = 0; i < ARRAY_LEN(of_spool); i++)
        json_object_del(body, of_spool[i]);
    jx_set_str(body, "attempt", a->row->id);
    return ledger_tell(a->db, a->row->id, jx_str(a->record, "r", ""), body, a->at_ms, err);
}

/* Something that the box's caller holds went, and is there again: in the log and with the attempt.
 */
static bool on_mount(const struct arrival *a, struct err *err)
{
    return on_note(a, err) && on_told(a, err);
}

/* How the agent stands now, on top of what its earlier starts came to; each piece of news is a row
 * of the log. */
static bool on_pulse(const struct arrival *a, struct err *err)
{
    size_t i;
    json_t *item;
    const json_t *news = jx_arr(a->record, "news");
    if (!attempt_row_set_pulse(a->row, jx_obj(a->record, "pulse")))
        return true;
    json_array_foreach(news, i, item)
    {
        AUTO_JSON json_t *body = json_deep_copy(item);
        jx_set_str(body, "attempt", a->row->id);
        if (!ledger_tell(a->db, a->row->id, "agent", body, a->at_ms, err))
            return false;
    }
    if (!a->m->news)
        a->m->news = json_array();
    if (news)
        json_array_extend(a->m->news, (json_t *)(uintptr_t)news);
    return true;
}

static bool on_heard(const struct arrival *a, struct err *err)
{
    return message_row_set_heard(a->db, a->row->id, jx_int(a->record, "message", 0), a->at_ms, err);
}

/* Why a keeper ended an attempt by itself, for people. NULL: it did not. */
static const char *limit_sentence(const char *cause)
{
    static const struct {
        const char *cause, *text;
    } limits[] = {
        {"memory", "it used more memory than its limit (--memory)"},
        {"pids", "it started more processes than its limit (--pids)"},
        {"output", "it printed more than its output limit (--output-limit)"},
        {"timeout", "its time was over (--timeout)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        if (strcmp(limits[i].cause, cause) == 0)
            return limits[i].text;
    return NULL;
}

static bool on_exited(const struct arrival *a, struct err *err)
{
    struct attempt_row *row = a->row;
    bool is_told = json_is_integer(json_object_get(a->record, "status"));
    int64_t status = jx_int(a->record, "status", 0);
    (void)err;
    if (row->state == ATTEMPT_HARVESTING || row->state == ATTEMPT_DONE)
        return true; /* it came too late to change how the attempt ended */
    row->exit_status = is_told && status >= 0 ? status : -1;
    const char *cause = jx_str(a->record, "cause", "");
    row->outcome = attempt_outcome_of(cause, (int)status);
    attempt_row_set(&row->error, jx_str(a->record, "error", limit_sentence(cause)));
    apply(a, ATTEMPT_EV_EXITED);
    return true;
}

static const struct kind {
    const char *name;
    bool (*merge)(const struct arrival *a, struct err *err);
} kinds[] = {
    {"started", on_started},   {"layers", on_layers},     {"asked", on_asked},
    {"decided", on_decided},   {"consumed", on_consumed}, {"expired", on_expired},
    {"orphaned", on_orphaned}, {"exited", on_exited},     {"note", on_note},
    {"net", on_told},          {"execs", on_told},        {"overdue", on_overdue},
    {"mount", on_mount},       {"pulse", on_pulse},       {"heard", on_heard},
};

bool merge_record(struct merge *m, struct db *db, struct attempt_row *row, const json_t *record,
                  struct err *err)
{
    const struct arrival a = {
        .m = m, .db = db, .row = row, .record = record, .at_ms = jx_int(record, "at_ms", 0)};
    int64_t seq = jx_int(record, "seq", 0);
    if (seq <= row->spool_seq)
        return true;
    if (seq != row->spool_seq + 1)
        return err_set(err, ERR_FORMAT, "record %lld of attempt %s came after %lld", (long long)seq,
                       row->id, (long long)row->spool_seq);
    row->spool_seq = seq;
    const char *name = jx_str(record, "r", "");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].merge(&a, err);
    return true; /* of a newer keeper */
}

bool merge_orphans(struct merge *m, struct db *db, const char *attempt, int64_t at_ms,
                   struct err *err)
{
    json_t *open;
    size_t i;
    json_t *call;
    if (!ledger_list(&open, db, 1U << CALL_PENDING | 1U << CALL_APPROVED, attempt, INT32_MAX, err))
        return false;
    json_array_foreach(open, i, call)
    {
        const char *id = jx_str(call, "id", "");
        changed(m, strtoll(id[0] == 'c' ? id + 1 : id, NULL, 10), false);
    }
    json_decref(open);
    return ledger_orphan_all(db, attempt, at_ms, err);
}
