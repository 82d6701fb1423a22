#include <string.h>

#include "runner/base/b64.h"
#include "runner/base/jx.h"
#include "runner/base/limits.h"
#include "ui/fixed.h"
#include "ui/host.h"

enum { PROTOCOL_VERSION = 1, QUEUE_BYTES = 4 * 1024 * 1024 };

static void ended(struct host *h, int status, const struct err *err)
{
    h->status = status;
    if (err)
        h->live_err = *err;
    desk_on_live_end(host_desk(h), status, err);
    if (h->ends_with_live)
        host_quit(h);
    host_dirty(h);
}

static void on_data(struct host *h, const json_t *msg)
{
    AUTO_BUF struct buf bytes = BUF_INIT;
    struct err err = ERR_INIT;
    const char *text = jx_str(msg, "b64", "");
    if (!b64_decode(&bytes, text, strlen(text), &err)) {
        ended(h, -1, &err);
        return;
    }
    desk_on_live(host_desk(h), bytes.ptr, bytes.len);
    host_dirty(h);
}

static void send_join(struct host *h)
{
    const struct ui_join *join = h->live.join;
    AUTO_JSON json_t *msg = json_object();
    jx_set_str(msg, "t", "join");
    jx_set(msg, "argv", jx_from_strv(&join->argv));
    jx_set(msg, "env", jx_from_strv(&join->env));
    jx_set_str(msg, "cwd", join->cwd);
    jx_set_int(msg, "cols", h->live.cols);
    jx_set_int(msg, "rows", h->live.rows);
    conn_send(h->live.conn, msg);
}

static void on_end(struct host *h, int status)
{
    struct err err = ERR_INIT;
    if (h->live.note[0])
        err_set(&err, ERR_FAILED, "%s", h->live.note);
    ended(h, status, err.code != ERR_NONE ? &err : NULL);
}

static void on_message(struct conn *conn, json_t *msg, void *arg)
{
    struct host *h = arg;
    if (conn != h->live.conn)
        return; /* of a terminal that was left already */
    const char *type = jx_str(msg, "t", "");
    if (strcmp(type, "data") == 0)
        on_data(h, msg);
    else if (strcmp(type, "exit") == 0)
        on_end(h, (int)jx_int(msg, "status", 0));
    else if (strcmp(type, "note") == 0)
        fixed_set(h->live.note, sizeof(h->live.note), jx_str(msg, "text", ""));
}

static void on_closed(struct conn *conn, const struct err *err, void *arg)
{
    struct host *h = arg;
    struct err gone;
    if (conn != h->live.conn)
        return;
    h->live.conn = NULL;
    if (h->is_quitting)
        return;
    if (err->code == ERR_NONE)
        err_set(&gone, ERR_FAILED,
                "the keeper closed the terminal; headgate ls tells what became of the attempt");
    else
        gone = *err;
    ended(h, -1, &gone);
}

void host_live_open(void *arg, const char *keeper_socket, int rows, int cols)
{
    static const struct conn_ops ops = {.message = on_message,
                                        .closed = on_closed,
                                        .max_line_bytes = LIMIT_LINE_BYTES,
                                        .max_queue_bytes = QUEUE_BYTES};
    struct host *h = arg;
    struct err err = ERR_INIT;
    h->live.rows = rows;
    h->live.cols = cols;
    h->live.note[0] = '\0';
    int fd = conn_connect(keeper_socket, &err);
    if (fd < 0) {
        ended(h, -1, &err);
        return;
    }
    h->live.conn = conn_open(&h->loop, fd, &ops, h);
    AUTO_JSON json_t *hello = json_object();
    jx_set_str(hello, "t", "hello");
    jx_set_int(hello, "v", PROTOCOL_VERSION);
    jx_set_str(hello, "role", "attach");
    if (!h->live.join) { /* who joins a process of his own does not resize the agent's terminal */
        jx_set_int(hello, "cols", cols);
        jx_set_int(hello, "rows", rows);
    }
    conn_send(h->live.conn, hello);
    if (h->live.join)
        send_join(h);
}

void host_live_send(void *arg, const void *bytes, size_t len)
{
    struct host *h = arg;
    if (!h->live.conn)
        return;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_JSON json_t *msg = json_object();
    b64_encode(&text, bytes, len);
    jx_set_str(msg, "t", "data");
    jx_set_str(msg, "b64", text.ptr);
    conn_send(h->live.conn, msg);
}

void host_live_resize(void *arg, int rows, int cols)
{
    struct host *h = arg;
    if (!h->live.conn)
        return;
    AUTO_JSON json_t *msg = json_object();
    jx_set_str(msg, "t", "resize");
    jx_set_int(msg, "cols", cols);
    jx_set_int(msg, "rows", rows);
    conn_send(h->live.conn, msg);
}

void host_live_close(void *arg)
{
    struct host *h = arg;
    struct conn *conn = h->live.conn;
    h->live.conn = NULL;
    if (conn)
        conn_finish(conn);
}
