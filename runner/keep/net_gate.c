#include "runner/keep/net_gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/keep/net_count.h"
#include "runner/keep/net_record.h"
#include "runner/keep/own_address.h"

enum {
    NET_FLUSH_MS = 1000,
    NET_FLUSH_ROWS = 8,
    NET_FLUSH_AGAIN_MS = 10 * 1000,
};

struct net_waiter {
    struct net_waiter *next;
    struct proxy_conn *conn;
};

struct net_call {
    struct net_call *next;
    struct net_target target;
    struct net_waiter *waiters;
    int64_t number;
    char *name; /* "c12"; NULL: not told yet */
    char digest[DIGEST_HEX_SIZE];
    int64_t deadline_ms; /* monotonic */
};

static void net_set_deadline(struct net_gate *g);
static void net_flush_later(struct net_gate *g);

static enum proxy_verdict net_deny_unrecorded(struct buf *reason, const struct err *err)
{
    buf_addf(reason, "The connection could not be recorded (%s), and none is made without a record",
             err->text);
    return PROXY_DENY;
}

/* ---- calls ---- */

static void net_call_free(struct net_gate *g, struct net_call *call)
{
    struct net_call **at = &g->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    g->n_calls--;
    free(call->name);
    free(call);
}

/* Answer all who wait, and forget the call. */
static void net_call_answer(struct net_gate *g, struct net_call *call, bool allow,
                            const char *reason)
{
    struct net_waiter *waiter = call->waiters;
    call->waiters = NULL;
    net_call_free(g, call);
    while (waiter) {
        struct net_waiter *next = waiter->next;
        proxy_answer(waiter->conn, allow, reason);
        free(waiter);
        waiter = next;
    }
    net_set_deadline(g);
}

static void net_call_orphan(struct net_gate *g, struct net_call *call, const char *reason)
{
    struct err ignored = ERR_INIT;
    bool is_kept = records_call(g->records, "orphaned", call->number, &ignored);
    (void)is_kept; /* the server orphans what waits when the keeper has ended */
    net_call_answer(g, call, false, reason);
}

static struct net_call *net_call_of(const struct net_gate *g, const struct net_target *target)
{
    for (struct net_call *call = g->calls; call; call = call->next)
        if (call->target.port == target->port &&
            strcmp(call->target.host.text, target->host.text) == 0)
            return call;
    return NULL;
}

static void net_call_wait(struct net_call *call, struct proxy_conn *conn)
{
    struct net_waiter *waiter = xcalloc(1, sizeof *waiter);
    *waiter = (struct net_waiter){.next = call->waiters, .conn = conn};
    call->waiters = waiter;
}

static enum proxy_verdict net_ask(struct net_gate *g, struct proxy_conn *conn,
                                  const struct net_count *count, const struct call_request *request,
                                  const struct judgement *j, struct buf *reason)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf why = BUF_INIT;
    struct net_call *call = net_call_of(g, &count->target);
    if (call) {
        net_call_wait(call, conn);
        return PROXY_WAIT;
    }
    if (g->n_calls >= LIMIT_NET_CALLS) {
        buf_adds(reason, "Too many hosts of this attempt wait for a decision; wait for them first");
        return PROXY_DENY;
    }
    call = xcalloc(1, sizeof *call);
    *call = (struct net_call){
        .next = g->calls,
        .target = count->target,
        .number = records_next(g->records),
        .deadline_ms = clock_mono_ms() + g->config->net_deadline_ms,
    };
    g->calls = call;
    g->n_calls++;
    json_t *body = net_record_body(call->digest, g->config, call->number, request);
    jx_set_int(body, "deadline_ms", clock_unix_ms() + g->config->net_deadline_ms);
    jx_set_str(body, "why", j->why);
    buf_adds(&why, j->reason);
    net_count_add_asker(&why, count);
    jx_set_str(body, "reason", why.ptr);
    if (!records_add(g->records, "asked", body, &err)) {
        net_call_free(g, call);
        return net_deny_unrecorded(reason, &err);
    }
    net_call_wait(call, conn);
    net_set_deadline(g);
    return PROXY_WAIT;
}

static void net_call_expire(struct net_gate *g, struct net_call *call)
{
    AUTO_BUF struct buf reason = BUF_INIT;
    struct err err = ERR_INIT;
    buf_adds(&reason, "Nobody decided ");
    buf_addf(&reason, call->name ? "call %s" : "this call", call->name);
    buf_addf(&reason, " (%s, port %u) within ", call->target.host.text, call->target.port);
    clock_add_duration(&reason, g->config->net_deadline_ms);
    buf_adds(&reason, ". This is a timeout and no person's denial: go on with something else, and "
                      "retry after it was approved");
    if (!records_call(g->records, "expired", call->number, &err))
        buf_addf(&reason, " (not recorded: %s)", err.text);
    net_call_answer(g, call, false, reason.ptr);
}

static void net_on_deadline(uv_timer_t *timer)
{
    struct net_gate *g = timer->data;
    int64_t now_ms = clock_mono_ms();
    struct net_call *next;
    for (struct net_call *call = g->calls; call; call = next) {
        next = call->next;
        if (call->deadline_ms <= now_ms)
            net_call_expire(g, call);
    }
    net_set_deadline(g);
}

/* Wake for the nearest deadline, or not at all. */
static void net_set_deadline(struct net_gate *g)
{
    int64_t nearest_ms = INT64_MAX;
    if (g->is_closed)
        return;
    for (const struct net_call *call = g->calls; call; call = call->next)
        if (call->deadline_ms < nearest_ms)
            nearest_ms = call->deadline_ms;
    int64_t left_ms = nearest_ms - clock_mono_ms();
    if (nearest_ms == INT64_MAX)
        uv_timer_stop(&g->deadline);
    else
        uv_timer_start(&g->deadline, net_on_deadline, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
}

/* ---- what the proxy asks ---- */

static enum proxy_verdict net_settle(struct net_gate *g, struct net_count *count,
                                     const struct call_request *request, const struct judgement *j,
                                     struct buf *reason)
{
    struct err err = ERR_INIT;
    bool is_allowed = j->verdict == VERDICT_ALLOW;
    if (!net_record_decided(g->records, g->config, g->policy->epoch, count, request, j, &err))
        return net_deny_unrecorded(reason, &err);
    if (!is_allowed) {
        host_add_with_port(reason, &count->target.host, count->target.port);
        buf_addf(reason, " is denied: %s", j->reason);
        count->denied++;
        net_flush_later(g);
    }
    return is_allowed ? PROXY_ALLOW : PROXY_DENY;
}

static void net_find_who(const struct net_gate *g, struct net_count *count,
                         const struct proxy_conn *conn)
{
    bool is_v6 = false;
    uint16_t port = count->who || !g->who ? 0 : proxy_client_port(conn, &is_v6);
    if (port)
        count->who = g->who(g->who_arg, port, is_v6);
}

static enum proxy_verdict net_on_judge(void *arg, struct proxy_conn *conn,
                                       const struct net_target *target, struct buf *ret_reason)
{
    struct net_gate *g = arg;
    struct judgement j = {0};
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    if (!net_count_find(g->counts, target) && !net_budget_take(&g->budget, clock_mono_ms())) {
        buf_adds(ret_reason, "The attempt asks for too many different hosts; wait and try again");
        g->n_over++;
        net_flush_later(g);
        return PROXY_DENY;
    }
    net_record_judge(&j, &request, g->config, g->policy, target);
    struct net_count *count = net_count_of(&g->counts, &g->n_counts, target);
    if (!count) {
        buf_adds(ret_reason, "This attempt has asked for too many hosts; nothing is kept of more");
        return PROXY_DENY;
    }
    net_find_who(g, count, conn);
    if (j.verdict != VERDICT_ASK)
        return net_settle(g, count, &request, &j, ret_reason);
    if (count->decision == NET_APPROVED)
        return PROXY_ALLOW;
    if (count->decision == NET_REFUSED) {
        buf_adds(ret_reason, count->reason ? count->reason : "");
        count->denied++;
        net_flush_later(g);
        return PROXY_DENY;
    }
    return net_ask(g, conn, count, &request, &j, ret_reason);
}

static void net_on_gave_up(void *arg, struct proxy_conn *conn)
{
    struct net_gate *g = arg;
    for (struct net_call *call = g->calls; call; call = call->next) {
        for (struct net_waiter **at = &call->waiters; *at; at = &(*at)->next) {
            struct net_waiter *waiter = *at;
            if (waiter->conn != conn)
                continue;
            *at = waiter->next;
            free(waiter);
            return;
        }
    }
}

static bool net_on_may_reach(void *arg, const struct host_address *address, uint16_t port)
{
    const struct net_gate *g = arg;
    return net_may_reach(g->policy, g->config->agent, address, port, own_address_is(address));
}

static void net_on_refused(void *arg, const struct net_target *target, const char *why)
{
    struct net_gate *g = arg;
    struct net_count *count = net_count_of(&g->counts, &g->n_counts, target);
    if (!count)
        return;
    count->refused++;
    free(count->refused_why);
    count->refused_why = xstrdup(why);
    net_flush_later(g);
}

static void net_on_closed(void *arg, const struct net_target *target, uint64_t up, uint64_t down)
{
    struct net_gate *g = arg;
    struct net_count *count = net_count_of(&g->counts, &g->n_counts, target);
    if (!count)
        return;
    count->connections++;
    count->up += up;
    count->down += down;
    net_flush_later(g);
}

static const struct proxy_ops net_proxy_ops = {
    .judge = net_on_judge,
    .gave_up = net_on_gave_up,
    .may_reach = net_on_may_reach,
    .refused = net_on_refused,
    .closed = net_on_closed,
};

/* ---- what the server says ---- */

static struct net_call *net_call_numbered(const struct net_gate *g, const json_t *msg)
{
    int64_t number = jx_int(msg, "call", 0);
    for (struct net_call *call = g->calls; call; call = call->next)
        if (call->number == number)
            return call;
    return NULL;
}

static void net_call_rename(struct net_call *call, const char *name)
{
    if (!name)
        return;
    free(call->name);
    call->name = xstrdup(name);
}

void net_gate_name(struct net_gate *g, const json_t *msg)
{
    struct net_call *call = net_call_numbered(g, msg);
    if (call)
        net_call_rename(call, jx_str(msg, "name", NULL));
}

static void net_remember(struct net_gate *g, const struct net_call *call,
                         enum net_decision decision, const char *reason)
{
    struct net_count *count = net_count_of(&g->counts, &g->n_counts, &call->target);
    if (!count)
        return;
    count->decision = decision;
    free(count->reason);
    count->reason = xstrdup(reason);
}

static void net_consume(struct net_gate *g, struct net_call *call)
{
    struct err err = ERR_INIT;
    json_t *body = json_object();
    jx_set_int(body, "call", call->number);
    jx_set_str(body, "digest", call->digest);
    if (records_add(g->records, "consumed", body, &err)) {
        net_remember(g, call, NET_APPROVED, "");
        net_call_answer(g, call, true, "");
        return;
    }
    AUTO_BUF struct buf reason = BUF_INIT;
    net_deny_unrecorded(&reason, &err);
    net_call_answer(g, call, false, reason.ptr);
}

void net_gate_decide(struct net_gate *g, const json_t *msg)
{
    struct net_call *call = net_call_numbered(g, msg);
    const char *decision = jx_str(msg, "decision", "");
    if (!call)
        return;
    net_call_rename(call, jx_str(msg, "name", NULL));
    if (strcmp(decision, "deny") == 0) {
        AUTO_BUF struct buf reason = BUF_INIT;
        host_add_with_port(&reason, &call->target.host, call->target.port);
        buf_addf(&reason, " is denied (call %s): %s", call->name ? call->name : "without a name",
                 jx_str(msg, "reason", ""));
        net_remember(g, call, NET_REFUSED, reason.ptr);
        net_call_answer(g, call, false, reason.ptr);
    } else if (strcmp(decision, "allow") == 0 &&
               strcmp(jx_str(msg, "digest", ""), call->digest) == 0) {
        net_consume(g, call);
    } else {
        records_note(g->records, "a decision for call %" PRId64 " does not fit what was asked",
                     call->number);
        net_call_orphan(g, call, "The decision that came does not fit the call that was asked");
    }
}

void net_gate_add_waiting(const struct net_gate *g, json_t *list)
{
    for (const struct net_call *call = g->calls; call; call = call->next) {
        json_t *entry = json_object();
        jx_set_int(entry, "call", call->number);
        jx_set_str(entry, "name", call->name);
        json_array_append_new(list, entry);
    }
}

static bool net_keeps(void *arg, const struct net_target *target)
{
    struct net_gate *g = arg;
    struct judgement j = {0};
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    net_record_judge(&j, &request, g->config, g->policy, target);
    const struct net_count *count = net_count_of(&g->counts, &g->n_counts, target);
    return j.verdict == VERDICT_ALLOW ||
           (j.verdict == VERDICT_ASK && count && count->decision == NET_APPROVED);
}

/* A rule that denies ends the wait as well, whatever a person would say. */
static void net_recheck_calls(struct net_gate *g)
{
    struct net_call *next;
    for (struct net_call *call = g->calls; call; call = next) {
        struct judgement j = {0};
        AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
        AUTO_BUF struct buf reason = BUF_INIT;
        next = call->next;
        net_record_judge(&j, &request, g->config, g->policy, &call->target);
        if (j.verdict != VERDICT_DENY)
            continue;
        host_add_with_port(&reason, &call->target.host, call->target.port);
        buf_addf(&reason, " is denied: %s", j.reason);
        net_call_orphan(g, call, reason.ptr);
    }
}

void net_gate_policy_changed(struct net_gate *g)
{
    net_recheck_calls(g);
    proxy_recheck(&g->proxy, net_keeps);
}

/* ---- sums ---- */

/* Those that were denied for their number. */
static bool net_flush_over(struct net_gate *g)
{
    struct err ignored = ERR_INIT;
    const struct net_count over = {.target = {.host = {.text = "*"}, .via = ""},
                                   .denied = g->n_over};
    if (g->n_over == 0)
        return true;
    g->n_over = 0;
    return records_add(g->records, "net", net_count_json(&over), &ignored);
}

static bool net_flush(struct net_gate *g)
{
    struct err ignored = ERR_INIT;
    g->n_flushed = 0;
    if (!net_flush_over(g))
        return false;
    for (struct net_count *count = g->counts; count; count = count->next) {
        if (!net_count_is_dirty(count))
            continue;
        if (!records_add(g->records, "net", net_count_json(count), &ignored))
            return false;
        net_count_clear(count);
        g->n_flushed++;
    }
    return true;
}

static void net_on_flush(uv_timer_t *timer)
{
    struct net_gate *g = timer->data;
    if (!net_flush(g))
        uv_timer_start(&g->flush, net_on_flush, NET_FLUSH_AGAIN_MS, 0);
}

/* The more rows the last time, the later, so that a busy attempt does not fill the log. */
static void net_flush_later(struct net_gate *g)
{
    uint64_t ms = NET_FLUSH_MS * (1 + g->n_flushed / NET_FLUSH_ROWS);
    if (!g->is_closed && !uv_is_active((uv_handle_t *)&g->flush))
        uv_timer_start(&g->flush, net_on_flush, ms, 0);
}

/* ---- life ---- */

bool net_gate_init(struct net_gate *ret, uv_loop_t *loop, const struct keep_config *config,
                   const struct policy *policy, struct records *records, struct err *err)
{
    *ret = (struct net_gate){.config = config, .policy = policy, .records = records};
    AUTO_FREE char *resolver = paths_program("headgate-keep", err);
    if (!resolver)
        return false;
    proxy_init(&ret->proxy, loop, &net_proxy_ops, ret, resolver);
    uv_timer_init(loop, &ret->deadline);
    uv_timer_init(loop, &ret->flush);
    ret->deadline.data = ret;
    ret->flush.data = ret;
    return true;
}

void net_gate_close(struct net_gate *g)
{
    if (g->is_closed)
        return;
    while (g->calls)
        net_call_orphan(g, g->calls, "The attempt is ending");
    g->is_closed = true;
    proxy_close(&g->proxy);
    bool is_kept = net_flush(g);
    (void)is_kept; /* a full disk; what matters was recorded before each connection */
    uv_close((uv_handle_t *)&g->deadline, NULL);
    uv_close((uv_handle_t *)&g->flush, NULL);
}

void net_gate_release(struct net_gate *g)
{
    proxy_release(&g->proxy);
    net_count_free_all(g->counts);
    g->counts = NULL;
}
