#include "runner/server/control.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/limits.h"
#include "runner/server/idle.h"
#include "runner/server/ops.h"
#include "runner/wire/conn.h"
#include "runner/wire/listener.h"

enum { QUEUE_BYTES = 3 * LIMIT_LINE_BYTES };

static const struct op {
    const char *name;
    void (*handle)(struct request *r);
} ops[] = {
    {"hello", op_hello},
    {"snapshot", op_snapshot},
    {"subscribe", op_subscribe},
    {"server.info", op_server_info},
    {"server.stop", op_server_stop},
    {"run.create", op_run_create},
    {"run.list", op_run_list},
    {"ladder.set", op_ladder_set},
    {"attempt.list", op_attempt_list},
    {"attempt.show", op_attempt_show},
    {"attempt.stop", op_attempt_stop},
    {"attempt.resume", op_attempt_resume},
    {"attempt.say", op_attempt_say},
    {"attempt.harvest", op_attempt_harvest},
    {"attempt.trace", op_attempt_trace},
    {"attempt.merged", op_attempt_merged},
    {"attempt.discard", op_attempt_discard},
    {"clean", op_clean},
    {"comment.add", op_comment_add},
    {"comment.list", op_comment_list},
    {"comment.rm", op_comment_rm},
    {"comment.send", op_comment_send},
    {"call.list", op_call_list},
    {"call.show", op_call_show},
    {"call.decide", op_call_decide},
    {"call.explain", op_call_explain},
    {"rule.add", op_rule_add},
    {"rule.list", op_rule_list},
    {"rule.propose", op_rule_propose},
    {"rule.rm", op_rule_rm},
    {"gate.log", op_gate_log},
    {"gate.export", op_gate_export},
    {"gate.export_calls", op_gate_export_calls},
    {"gate.verify", op_gate_verify},
    {"gate.stats", op_gate_stats},
};

static struct request *request_new(struct client *c, json_t *msg)
{
    struct request *r = xcalloc(1, sizeof(*r));
    r->server = c->server;
    r->client = c;
    r->id = jx_int(msg, "id", 0);
    r->body = json_incref(msg);
    r->by = xasprintf("%s (%s, pid %d)", c->uid == 0 ? "root" : c->server->user,
                      c->kind ? c->kind : "shell", (int)c->pid);
    r->next = c->requests;
    c->requests = r;
    return r;
}

static void request_free(struct request *r)
{
    if (r->client) {
        struct request **at = &r->client->requests;
        while (*at != r)
            at = &(*at)->next;
        *at = r->next;
    }
    json_decref(r->body);
    free(r->by);
    free(r);
}

/* False: it is longer than any reader takes; nothing was sent. */
static bool reply(struct client *c, json_t *message)
{
    AUTO_JSON json_t *owned = message;
    AUTO_BUF struct buf line = BUF_INIT;
    jx_dump(&line, owned);
    buf_addch(&line, '\n');
    if (line.len > LIMIT_LINE_BYTES)
        return false;
    conn_send_raw(c->conn, line.ptr, line.len);
    return true;
}

void request_answer(struct request *r, json_t *result)
{
    AUTO_JSON json_t *owned = result ? result : json_object();
    struct err err = ERR_INIT;
    if (r->client && !reply(r->client, json_pack("{s:I, s:b, s:O}", "id", (json_int_t)r->id, "ok",
                                                 1, "result", owned))) {
        err_set(&err, ERR_LIMIT, "the answer is longer than %d bytes; ask for less at once",
                LIMIT_LINE_BYTES);
        request_fail(r, &err);
        return;
    }
    request_free(r);
}

static json_t *error_json(const struct err *err)
{
    json_t *error = json_object();
    jx_set_str(error, "code", err_code_name(err->code));
    jx_set_str(error, "message", err->text);
    return error;
}

void request_fail(struct request *r, const struct err *err)
{
    if (r->client)
        (void)reply(r->client, json_pack("{s:I, s:b, s:o}", "id", (json_int_t)r->id, "ok", 0,
                                         "error", error_json(err)));
    request_free(r);
}

struct work {
    uv_work_t req;
    struct server *server;
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
};

static void on_work(uv_work_t *req)
{
    struct work *w = req->data;
    w->work(w->arg);
}

static void on_work_done(uv_work_t *req, int status)
{
    struct work *w = req->data;
    (void)status; /* never cancelled */
    w->server->jobs_running--;
    w->done(w->arg);
    idle_touch(w->server);
    free(w);
}

void request_work(struct request *r, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
    struct work *w = xcalloc(1, sizeof(*w));
    *w = (struct work){.server = r->server, .work = work, .done = done, .arg = arg};
    w->req.data = w;
    r->server->jobs_running++;
    uv_queue_work(&r->server->loop, &w->req, on_work, on_work_done);
}

void client_send_event(struct client *c, const json_t *event)
{
    AUTO_BUF struct buf line = BUF_INIT;
    buf_addf(&line, "{\"id\":%lld,\"event\":", (long long)c->subscription);
    jx_dump(&line, event);
    buf_adds(&line, "}\n");
    conn_send_raw(c->conn, line.ptr, line.len);
}

static const struct op *find_op(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

static void on_message(struct conn *conn, json_t *msg, void *arg)
{
    struct client *c = arg;
    struct err err = ERR_INIT;
    (void)conn;
    struct request *r = request_new(c, msg);
    const char *name = jx_str(msg, "op", "");
    const struct op *op = find_op(name);
    if (!op)
        err_set(&err, ERR_USAGE, "the server knows no operation '%.64s'", name);
    else if (!c->kind && op->handle != op_hello)
        err_set(&err, ERR_USAGE, "the first request of a connection is 'hello'");
    if (err.code != ERR_NONE)
        request_fail(r, &err);
    else
        op->handle(r);
}

static void on_broken(struct conn *conn, const struct err *err, void *arg)
{
    struct client *c = arg;
    (void)conn;
    (void)reply(c, json_pack("{s:n, s:b, s:o}", "id", "ok", 0, "error", error_json(err)));
}

static void on_closed(struct conn *conn, const struct err *err, void *arg)
{
    struct client *c = arg;
    struct server *s = c->server;
    (void)conn;
    (void)err;
    for (struct request *r = c->requests; r; r = r->next)
        r->client = NULL;
    struct client **at = &s->clients;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c->kind);
    free(c);
    idle_touch(s);
}

/* Whoever may enter the socket's folder may connect; the kernel says who it is (unix(7)). */
static void on_accept(void *arg, int fd)
{
    static const struct conn_ops conn_ops = {
        .message = on_message,
        .broken = on_broken,
        .closed = on_closed,
        .max_line_bytes = LIMIT_LINE_BYTES,
        .max_queue_bytes = QUEUE_BYTES,
    };
    struct server *s = arg;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (s->is_stopping || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ||
        (peer.uid != geteuid() && peer.uid != 0)) {
        close(fd);
        return;
    }
    struct client *c = xcalloc(1, sizeof(*c));
    c->server = s;
    c->uid = peer.uid;
    c->pid = peer.pid;
    c->next = s->clients;
    s->clients = c;
    c->conn = conn_open(&s->loop, fd, &conn_ops, c);
    idle_touch(s);
}

bool control_listen(struct server *s, struct err *err)
{
    int fd = conn_listen(s->paths.control, 0600, err);
    if (fd < 0)
        return false;
    s->listen_fd = fd;
    s->listener = listener_open(&s->loop, fd, on_accept, s, err);
    return s->listener != NULL;
}

bool control_withdraw(struct server *s)
{
    AUTO_FREE char *aside = xasprintf("%s.end", s->paths.control);
    struct pollfd knock = {.fd = s->listen_fd, .events = POLLIN};
    /* Aside first and then looked: between the two nobody can begin to wait unseen. */
    if (rename(s->paths.control, aside) != 0)
        return true;
    if (poll(&knock, 1, 0) == 1 && rename(aside, s->paths.control) == 0)
        return false;
    unlink(aside);
    return true;
}

void control_close(struct server *s)
{
    if (s->listener) {
        unlink(s->paths.control);
        listener_close(s->listener);
        s->listener = NULL;
    }
    for (struct client *c = s->clients; c; c = c->next)
        conn_finish(c->conn);
}

bool control_has_clients(const struct server *s)
{
    return s->clients != NULL;
}
