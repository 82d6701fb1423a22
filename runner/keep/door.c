#include "runner/keep/door.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "gate/broker.h"
#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/keep/door_call.h"

enum {
    DOOR_UNREAD_BYTES = 16 * 1024 * 1024, /* unfinished requests of all connections */
    DOOR_TOLD_BYTES = 1024,
};

static void door_set_deadline(struct door *d);

static bool door_is_too_fast(struct door *d)
{
    int64_t now_ms = clock_mono_ms();
    if (now_ms - d->second_ms >= 1000) {
        d->second_ms = now_ms;
        d->n_in_second = 0;
    }
    return ++d->n_in_second > LIMIT_CALLS_PER_SECOND;
}

/* The members that `asked` and `decided` share. */
static json_t *door_body(const struct door_call *c, const struct call_request *request)
{
    char action[DIGEST_HEX_SIZE];
    json_t *body = json_object();
    call_action_digest(action, request);
    jx_set_int(body, "call", c->number);
    jx_set(body, "request", call_request_json(request));
    jx_set_str(body, "action", action);
    jx_set_str(body, "digest", c->digest);
    return body;
}

static void door_tell(const struct door *d, int64_t number, const struct call_request *request)
{
    if (d->allowed)
        d->allowed(d->allowed_arg, number, request);
}

static void door_settle(struct door_call *c, const struct call_request *request,
                        const struct judgement *j)
{
    struct err err = ERR_INIT;
    bool allow = j->verdict == VERDICT_ALLOW;
    json_t *body = door_body(c, request);
    jx_set_str(body, "verdict", allow ? "allow" : "deny");
    jx_set_str(body, "why", j->why);
    jx_set_int(body, "rule", j->rule);
    jx_set_str(body, "reason", j->reason);
    if (!records_add(c->door->records, "decided", body, &err)) {
        door_deny_unrecorded(c, &err);
        return;
    }
    if (!allow) {
        door_deny(c, j->why, j->reason);
        return;
    }
    door_tell(c->door, c->number, request);
    door_allow(c, j->why, j->reason);
}

/* How long a call may wait before it is denied. */
static int64_t door_longest_ms(const struct door *d)
{
    int64_t first_ms = d->config->deadline_ms, last_ms = d->config->patience_ms;
    return last_ms > first_ms ? last_ms : first_ms;
}

static void door_ask(struct door_call *c, struct call_request *request, const struct judgement *j)
{
    struct door *d = c->door;
    struct err err = ERR_INIT;
    if (d->n_waiting >= LIMIT_CALLS_PENDING) {
        door_deny_excess(c,
                         "Too many calls of this attempt wait for a decision; wait for them first");
        return;
    }
    /* Waiting before the record is written: its listener may decide at once. */
    c->asked_ms = clock_mono_ms();
    c->deadline_ms = c->asked_ms + d->config->deadline_ms;
    c->is_waiting = true;
    d->n_waiting++;
    json_t *body = door_body(c, request);
    jx_set_int(body, "deadline_ms", clock_unix_ms() + door_longest_ms(d));
    jx_set_str(body, "why", j->why);
    jx_set_int(body, "rule", j->rule);
    jx_set_str(body, "reason", j->reason);
    if (d->allowed) {
        c->request = *request;
        *request = (struct call_request)CALL_REQUEST_INIT;
    }
    if (!records_add(d->records, "asked", body, &err))
        door_deny_unrecorded(c, &err);
    door_set_deadline(d);
}

/* What the broker does not carry out is on record like any other denial. */
static void door_refuse(struct judgement *ret, const struct err *err)
{
    *ret = (struct judgement){.verdict = VERDICT_DENY, .why = "broker"};
    snprintf(ret->reason, sizeof(ret->reason), "%.500s", err->text);
}

/* It is the call that was allowed before, and nobody can ask about that once more. */
static void door_confirm(struct door_call *c)
{
    c->key.name[0] = '\0';
    door_answer(c, true, "confirmed", "");
}

static void door_judge(struct door_call *c, struct call_request *request)
{
    struct door *d = c->door;
    struct judgement j = {0};
    struct policy_place place;
    struct err err = ERR_INIT;
    door_place(&place, d);
    /* Who asks is known by the socket; what the message claims would choose the rules. */
    free(request->agent);
    request->agent = xstrdup(d->config->agent);
    free(request->worktree);
    request->worktree = xstrdup(d->config->worktree);
    c->number = records_next(d->records);
    confirm_key_of(&c->key, request);
    if (confirm_is_asked(request)) {
        if (confirm_take(&d->confirm, request, &c->key)) {
            door_confirm(c);
            return;
        }
        c->key.name[0] = '\0';
    }
    c->is_for_broker = broker_is_call(request);
    bool is_whole = !c->is_for_broker || broker_complete(request, d->config->remotes, &err);
    if (c->is_for_broker && is_whole) {
        call_action_digest(c->action, request);
        if (door_take_up(c))
            return;
    }
    call_digest(c->digest, d->config->attempt, c->number, request);
    if (is_whole)
        policy_judge(&j, &d->policy, request, &place);
    else
        door_refuse(&j, &err);
    if (j.verdict != VERDICT_DENY && confirm_follows(&d->confirm, request, &c->key)) {
        door_confirm(c);
        return;
    }
    switch (j.verdict) {
    case VERDICT_ALLOW:
    case VERDICT_DENY:
        door_settle(c, request, &j);
        break;
    case VERDICT_ASK:
        door_ask(c, request, &j);
        break;
    }
}

/* A call that waited and will not be decided any more. */
static void door_orphan(struct door_call *c)
{
    struct err err = ERR_INIT;
    if (!records_call(c->door->records, "orphaned", c->number, &err))
        return; /* the server orphans what waits when the keeper has ended */
}

/* What comes through the socket is what an agent says. Programs and connections are what the kernel
 * and the proxy say: a person must not be shown the one as the other. */
static bool read_request(struct call_request *ret, const char *line, size_t len, struct err *err)
{
    static const char *const ours[] = {"exec", "net"};
    if (!call_request_parse(ret, line, len, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (strcmp(ret->source, ours[i]) == 0)
            return err_set(err, ERR_FORMAT, "calls of source %s are not an agent's to make",
                           ours[i]);
    return true;
}

/* As the kernel says: who connected. */
static pid_t pid_of(const struct conn *conn)
{
    struct ucred peer = {0};
    socklen_t len = sizeof peer;
    return getsockopt(conn_fd(conn), SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

/* What a hook says that asks nothing (PROTOCOL.md): that it is there, that its agent rests. */
static bool door_is_told(struct door_call *c, const char *line, size_t len)
{
    AUTO_JSON json_t *message = NULL;
    struct err ignored = ERR_INIT;
    struct door *d = c->door;
    if (len > DOOR_TOLD_BYTES || !jx_parse(&message, line, len, &ignored))
        return false;
    const char *rest = jx_str(message, "rest", NULL);
    if (jx_bool(message, "hello", false)) {
        if (d->greeted)
            d->greeted(d->greeted_arg, pid_of(c->conn));
        door_answer(c, true, "hello", "");
        return true;
    }
    if (!rest || json_object_size(message) != 2) /* news carries nothing else: no call */
        return false;
    if (d->rested)
        d->rested(d->rested_arg, rest);
    door_answer(c, true, "rest", "");
    return true;
}

static void door_on_line(struct conn *conn, const char *line, size_t len, void *arg)
{
    struct door_call *c = arg;
    struct err err = ERR_INIT;
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    (void)conn;
    if (c->number) {
        if (c->is_waiting)
            door_orphan(c);
        door_deny(c, "closed", "A second request came on the connection of a call");
    } else if (door_is_too_fast(c->door)) {
        door_deny_excess(c,
                         "Too many calls of this attempt within a second; try again more slowly");
    } else if (door_is_told(c, line, len)) {
        return;
    } else if (!read_request(&request, line, len, &err)) {
        door_deny(c, err.code == ERR_LIMIT ? "quota" : "closed", err.text);
    } else {
        if (c->door->called)
            c->door->called(c->door->rested_arg);
        door_judge(c, &request);
    }
}

static void door_on_broken(struct conn *conn, const struct err *err, void *arg)
{
    struct door_call *c = arg;
    (void)conn;
    if (c->is_waiting)
        door_orphan(c);
    door_deny(c, err->code == ERR_LIMIT ? "quota" : "closed", err->text);
}

static void door_on_closed(struct conn *conn, const struct err *err, void *arg)
{
    struct door_call *c = arg;
    struct door *d = c->door;
    (void)conn;
    (void)err;
    if (door_leave(c))
        return;
    if (c->is_waiting) {
        d->n_waiting--;
        door_orphan(c);
        if (d->lost)
            d->lost(d->lost_arg);
        door_set_deadline(d);
    }
    for (size_t i = 0; i < d->n_calls; i++) {
        if (d->calls[i] == c) {
            d->calls[i] = d->calls[--d->n_calls];
            break;
        }
    }
    door_call_free(c);
}

static void door_on_accept(void *arg, int fd)
{
    struct door *d = arg;
    if (d->n_calls >= LIMIT_GATE_CONNECTIONS) {
        door_turn_away(d, fd);
        return;
    }
    const struct conn_ops ops = {.line = door_on_line,
                                 .broken = door_on_broken,
                                 .closed = door_on_closed,
                                 .max_line_bytes = LIMIT_CALL_BYTES,
                                 .max_queue_bytes = LIMIT_CALL_BYTES,
                                 .pool = &d->pool};
    struct door_call *c = xcalloc(1, sizeof *c);
    c->door = d;
    d->calls[d->n_calls++] = c;
    c->conn = conn_open(d->loop, fd, &ops, c);
}

static void door_expire(struct door_call *c)
{
    AUTO_BUF struct buf reason = BUF_INIT;
    struct err err = ERR_INIT;
    buf_adds(&reason, "Nobody decided ");
    buf_addf(&reason, c->name ? "call %s" : "this call", c->name);
    buf_adds(&reason, " within ");
    clock_add_duration(&reason, clock_mono_ms() - c->asked_ms);
    buf_adds(&reason, ". This is a timeout and no person's denial: go on with something else, and "
                      "try the same again after it was approved");
    if (!records_call(c->door->records, "expired", c->number, &err))
        buf_addf(&reason, " (not recorded: %s)", err.text);
    door_deny(c, "deadline", reason.ptr);
}

/* The person is told again, and the call waits on. False when nobody would learn of it. */
static bool door_remind(struct door_call *c)
{
    struct door *d = c->door;
    struct err err = ERR_INIT;
    if (c->is_overdue || d->config->patience_ms <= d->config->deadline_ms ||
        !records_call(d->records, "overdue", c->number, &err))
        return false;
    c->is_overdue = true;
    c->deadline_ms = c->asked_ms + d->config->patience_ms;
    return true;
}

static void door_on_deadline(uv_timer_t *timer)
{
    struct door *d = timer->data;
    int64_t now_ms = clock_mono_ms();
    for (size_t i = 0; i < d->n_calls; i++) {
        struct door_call *c = d->calls[i];
        if (c->is_waiting && c->deadline_ms <= now_ms && !door_remind(c))
            door_expire(c);
    }
    door_set_deadline(d);
}

/* Wake for the nearest deadline, or not at all. */
static void door_set_deadline(struct door *d)
{
    int64_t nearest_ms = INT64_MAX;
    if (d->is_closed)
        return;
    for (size_t i = 0; i < d->n_calls; i++) {
        if (d->calls[i]->is_waiting && d->calls[i]->deadline_ms < nearest_ms)
            nearest_ms = d->calls[i]->deadline_ms;
    }
    int64_t left_ms = nearest_ms - clock_mono_ms();
    if (nearest_ms == INT64_MAX)
        uv_timer_stop(&d->deadline);
    else
        uv_timer_start(&d->deadline, door_on_deadline, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
}

static struct door_call *door_find(const struct door *d, int64_t number)
{
    for (size_t i = 0; i < d->n_calls; i++) {
        if (d->calls[i]->is_waiting && d->calls[i]->number == number)
            return d->calls[i];
    }
    return NULL;
}

static bool door_has_hung_up(const struct door_call *c)
{
    if (c->is_for_broker)
        return false; /* nobody needs to wait for it */
    struct pollfd p = {.fd = conn_fd(c->conn), .events = 0};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static void door_consume(struct door_call *c, const char *why, const char *reason)
{
    struct err err = ERR_INIT;
    if (door_has_hung_up(c))
        return; /* its end of file, a moment from now, makes it orphaned */
    json_t *body = json_object();
    jx_set_int(body, "call", c->number);
    jx_set_str(body, "digest", c->digest);
    if (!records_add(c->door->records, "consumed", body, &err)) {
        door_deny_unrecorded(c, &err);
        return;
    }
    door_tell(c->door, c->number, &c->request);
    door_allow(c, why, reason);
}

void door_name(struct door *d, const json_t *msg)
{
    struct door_call *c = door_find(d, jx_int(msg, "call", 0));
    if (c)
        door_rename(c, jx_str(msg, "name", NULL));
}

void door_decide(struct door *d, const json_t *msg)
{
    struct door_call *c = door_find(d, jx_int(msg, "call", 0));
    const char *decision = jx_str(msg, "decision", "");
    const char *why = jx_str(msg, "why", "person");
    const char *reason = jx_str(msg, "reason", "");
    if (!c)
        return;
    door_rename(c, jx_str(msg, "name", NULL));
    if (strcmp(decision, "deny") == 0) {
        door_deny(c, why, reason);
    } else if (strcmp(decision, "allow") == 0 &&
               strcmp(jx_str(msg, "digest", ""), c->digest) == 0) {
        door_consume(c, why, reason);
    } else {
        records_note(d->records, "a decision for call %" PRId64 " does not fit what was asked",
                     c->number);
        door_orphan(c);
        door_deny(c, "closed", "The decision that came does not fit the call that was asked");
    }
    door_set_deadline(d);
}

json_t *door_waiting(const struct door *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_calls; i++) {
        if (!d->calls[i]->is_waiting && !d->calls[i]->is_carried)
            continue;
        json_t *entry = json_object();
        jx_set_int(entry, "call", d->calls[i]->number);
        jx_set_str(entry, "name", d->calls[i]->name);
        json_array_append_new(list, entry);
    }
    return list;
}

bool door_open(struct door *ret, uv_loop_t *loop, int listen_fd, struct keep_config *config,
               struct records *records, struct err *err)
{
    *ret = (struct door){.loop = loop, .config = config, .records = records};
    ret->pool.max_bytes = DOOR_UNREAD_BYTES;
    ret->listener = listener_open(loop, listen_fd, door_on_accept, ret, err);
    if (!ret->listener)
        return false;
    ret->policy = config->policy;
    config->policy = (struct policy)POLICY_INIT;
    ret->calls = xcalloc(LIMIT_GATE_CONNECTIONS, sizeof(struct door_call *));
    uv_timer_init(loop, &ret->deadline);
    ret->deadline.data = ret;
    return true;
}

void door_close(struct door *d)
{
    if (d->is_closed)
        return;
    d->is_closed = true;
    listener_close(d->listener);
    uv_close((uv_handle_t *)&d->deadline, NULL);
    for (size_t i = 0; i < d->n_calls; i++) {
        if (d->calls[i]->is_waiting)
            door_orphan(d->calls[i]);
        door_deny(d->calls[i], "closed", "The attempt is ending");
    }
}

void door_release(struct door *d)
{
    policy_release(&d->policy);
    confirm_release(&d->confirm);
    for (size_t i = 0; i < d->n_calls; i++)
        door_call_free(d->calls[i]); /* left behind: the others went with their connections */
    free(d->calls);
    d->calls = NULL;
}
