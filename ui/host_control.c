#include <stdlib.h>
#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "ui/fixed.h"
#include "ui/host.h"

enum {
    PROTOCOL_VERSION = 1,
    ID_HELLO = 0,
    ID_SUBSCRIBE = 1,
    ID_FIRST = 2,
    RETRY_MS = 1000,
    QUEUE_BYTES = 16 * 1024 * 1024
};
/* A snapshot is one message and grows with what there is. */
enum { SNAPSHOT_BYTES = 256 * 1024 * 1024 };

static void connect_now(struct host *h);

static void on_retry(uv_timer_t *timer)
{
    connect_now(timer->data);
}

static void retry_later(struct host *h)
{
    desk_on_link(host_desk(h), LINK_GONE);
    uv_timer_start(&h->control.retry, on_retry, RETRY_MS, 0);
    host_dirty(h);
}

/* The answer of a request that is no longer waited for. */
static struct host_pending take_pending(struct host_control *c, size_t at)
{
    struct host_pending pending = c->pending[at];
    c->pending[at] = c->pending[--c->n_pending];
    return pending;
}

static void fail_pending(struct host *h)
{
    struct err err;
    err_set(&err, ERR_SYS, "the server went away before it answered; look before you press again");
    while (h->control.n_pending > 0) {
        struct host_pending p = take_pending(&h->control, 0);
        desk_on_answer(host_desk(h), p.ask, p.subject, NULL, &err);
    }
}

/* A server of another version says so; what it shows stays empty. */
static void refused(struct host *h, const json_t *msg)
{
    desk_on_link(host_desk(h), LINK_UP);
    desk_complain(&h->desk, "%s", jx_str(jx_obj(msg, "error"), "message", "the server refused"));
}

static void on_answer(struct host *h, int64_t id, const json_t *msg)
{
    struct host_control *c = &h->control;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *nothing = json_object();
    const json_t *error = jx_obj(msg, "error"), *result = json_object_get(msg, "result");
    bool is_ok = jx_bool(msg, "ok", false);
    if (!is_ok)
        err_set(&err, err_code_from_name(jx_str(error, "code", "")), "%s",
                jx_str(error, "message", "failed"));
    for (size_t i = 0; i < c->n_pending; i++) {
        if (c->pending[i].id != id)
            continue;
        struct host_pending p = take_pending(c, i);
        desk_on_answer(host_desk(h), p.ask, p.subject,
                       is_ok ? (json_is_object(result) ? result : nothing) : NULL, &err);
        return;
    }
}

static void on_message(struct conn *conn, json_t *msg, void *arg)
{
    struct host *h = arg;
    (void)conn;
    int64_t id = jx_int(msg, "id", -1);
    const json_t *event = jx_obj(msg, "event"), *result = jx_obj(msg, "result");
    if (event) {
        desk_on_event(host_desk(h), event);
    } else if (id == ID_HELLO || id == ID_SUBSCRIBE) {
        if (!jx_bool(msg, "ok", false)) {
            refused(h, msg);
        } else if (id == ID_SUBSCRIBE) {
            desk_on_link(host_desk(h), LINK_UP);
            desk_on_snapshot(host_desk(h), result);
        }
    } else {
        on_answer(h, id, msg);
    }
    host_dirty(h);
}

static void on_closed(struct conn *conn, const struct err *err, void *arg)
{
    struct host *h = arg;
    (void)conn;
    (void)err;
    h->control.conn = NULL;
    if (h->is_quitting)
        return;
    fail_pending(h);
    retry_later(h);
}

static void send_op(struct host *h, int64_t id, const char *op, json_t *request)
{
    jx_set_int(request, "id", id);
    jx_set_str(request, "op", op);
    conn_send(h->control.conn, request);
}

static void connect_now(struct host *h)
{
    static const struct conn_ops ops = {.message = on_message,
                                        .closed = on_closed,
                                        .max_line_bytes = SNAPSHOT_BYTES,
                                        .max_queue_bytes = QUEUE_BYTES};
    struct err err = ERR_INIT;
    int fd = conn_connect(h->control.path, &err);
    if (fd < 0) {
        retry_later(h);
        return;
    }
    h->control.conn = conn_open(&h->loop, fd, &ops, h);
    AUTO_JSON json_t *hello = json_object(), *subscribe = json_object();
    jx_set_int(hello, "v", PROTOCOL_VERSION);
    jx_set_str(hello, "client", "dashboard");
    jx_set_str(hello, "ssh", getenv("SSH_CONNECTION")); /* a label for the log, and no proof */
    send_op(h, ID_HELLO, "hello", hello);
    send_op(h, ID_SUBSCRIBE, "subscribe", subscribe);
}

void host_control_start(struct host *h, const char *path)
{
    h->control.path = path;
    h->control.next_id = ID_FIRST;
    desk_on_link(host_desk(h), LINK_CONNECTING);
    connect_now(h);
}

void host_control_stop(struct host *h)
{
    uv_timer_stop(&h->control.retry);
    if (h->control.conn)
        conn_close(h->control.conn);
}

void host_control_request(void *arg, enum desk_ask ask, const char *subject, const char *op,
                          json_t *request)
{
    struct host *h = arg;
    struct host_control *c = &h->control;
    AUTO_JSON json_t *owned = request;
    if (!c->conn) {
        struct err err;
        err_set(&err, ERR_SYS, "the server is gone, nothing was sent");
        desk_on_answer(&h->desk, ask, subject, NULL, &err);
        return;
    }
    c->pending = xreallocarray(c->pending, c->n_pending + 1, sizeof(*c->pending));
    struct host_pending *p = &c->pending[c->n_pending++];
    *p = (struct host_pending){.id = c->next_id++, .ask = ask};
    fixed_set(p->subject, sizeof(p->subject), subject);
    send_op(h, p->id, op, owned);
}
