#include "runner/keep/attach.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/b64.h"
#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

enum {
    ATTACH_CHUNK_BYTES = 48 * 1024, /* of one data message */
    ATTACH_SIDE_MAX = 1000,
    ATTACH_EARLY_BYTES = 64 * 1024,
    ATTACH_QUEUE_BYTES = 1024 * 1024,
    ATTACH_FAILED_STATUS = 125,
};

struct attach {
    struct attach_room *room;
    struct conn *conn;
    int joined_id;         /* 0: watches the agent */
    bool forwards;         /* a port, and looks at nothing */
    struct stream *stream; /* of the joined process, once its terminal came */
    struct buf early;      /* typed before that */
};

static void attach_send_data(struct attach *client, const char *bytes, size_t len)
{
    for (size_t done = 0; done < len; done += ATTACH_CHUNK_BYTES) {
        size_t part = len - done < ATTACH_CHUNK_BYTES ? len - done : ATTACH_CHUNK_BYTES;
        AUTO_BUF struct buf text = BUF_INIT;
        AUTO_JSON json_t *msg = json_object();
        b64_encode(&text, bytes + done, part);
        jx_set_str(msg, "t", "data");
        jx_set_str(msg, "b64", text.ptr);
        if (conn_queued_bytes(client->conn) > ATTACH_QUEUE_BYTES) {
            conn_close(client->conn);
            return;
        }
        conn_send(client->conn, msg);
    }
}

bool attach_room_is_watched(const struct attach_room *room)
{
    for (size_t i = 0; i < room->n_clients; i++)
        if (!room->clients[i]->joined_id && !room->clients[i]->forwards)
            return true;
    return false;
}

static void attach_send_exit(struct attach *client, int status)
{
    AUTO_JSON json_t *msg = json_object();
    jx_set_str(msg, "t", "exit");
    jx_set_int(msg, "status", status);
    conn_send(client->conn, msg);
}

static void attach_fail(struct attach *client, const char *why)
{
    AUTO_JSON json_t *msg = json_object();
    jx_set_str(msg, "t", "note");
    jx_set_str(msg, "text", why);
    conn_send(client->conn, msg);
    attach_send_exit(client, ATTACH_FAILED_STATUS);
}

static uint16_t attach_side(const json_t *msg, const char *key, uint16_t fallback)
{
    int64_t value = jx_int(msg, key, fallback);
    return value < 1 || value > ATTACH_SIDE_MAX ? fallback : (uint16_t)value;
}

/* After a wrapped ring the screen's beginning is lost: a change of size makes full-screen programs
 * draw all of it again, and a size that did not change would send no SIGWINCH. */
static void attach_resize_agent(struct attach_room *room, uint16_t cols, uint16_t rows, bool redraw)
{
    room->cols = cols;
    room->rows = rows;
    if (!room->agent)
        return;
    if (redraw)
        stream_resize(room->agent, cols, (uint16_t)(rows + 1));
    stream_resize(room->agent, cols, rows);
}

/* What a program does not read is dropped, as a terminal's full queue drops what is typed. Before
 * its terminal is there, it is held. */
static void attach_type(struct stream *to, struct buf *early, const struct buf *bytes)
{
    if (to) {
        bool is_taken = stream_write(to, bytes->ptr, bytes->len);
        (void)is_taken;
    } else if (early->len + bytes->len <= ATTACH_EARLY_BYTES) {
        buf_add(early, bytes->ptr, bytes->len);
    }
}

static void attach_type_early(struct stream *to, struct buf *early)
{
    AUTO_BUF struct buf typed = *early;
    buf_init(early);
    attach_type(to, early, &typed);
}

void attach_room_agent(struct attach_room *room, struct stream *agent)
{
    room->agent = agent;
    if (!agent)
        return;
    if (room->cols)
        stream_resize(agent, room->cols, room->rows);
    attach_type_early(agent, &room->early);
}

struct attach *attach_enter(struct attach_room *room, struct conn *conn, const json_t *hello)
{
    AUTO_BUF struct buf shown = BUF_INIT;
    struct attach *client = xcalloc(1, sizeof *client);
    client->room = room;
    client->conn = conn;
    buf_init(&client->early);
    if (room->n_clients == room->cap_clients) {
        room->cap_clients = room->cap_clients ? room->cap_clients * 2 : 4;
        room->clients = xreallocarray(room->clients, room->cap_clients, sizeof(struct attach *));
    }
    room->clients[room->n_clients++] = client;
    ring_copy(&shown, &room->ring);
    attach_send_data(client, shown.ptr, shown.len);
    if (json_object_get(hello, "cols"))
        attach_resize_agent(room, attach_side(hello, "cols", 80), attach_side(hello, "rows", 24),
                            room->ring.is_full);
    if (room->has_exited)
        attach_send_exit(client, room->exit_status);
    return client;
}

void attach_leave(struct attach *client)
{
    struct attach_room *room = client->room;
    for (size_t i = 0; i < room->n_clients; i++) {
        if (room->clients[i] == client) {
            room->clients[i] = room->clients[--room->n_clients];
            break;
        }
    }
    stream_close(client->stream);
    if (client->joined_id)
        room->ops->hang_up(room->arg, client->joined_id);
    room->ops->left(room->arg, client);
    buf_release(&client->early);
    free(client);
}

/* ^C, ^D, or an escape that begins no key's sequence. */
static bool attach_interrupts(const struct buf *typed)
{
    enum { CTRL_C = 3, CTRL_D = 4, ESCAPE = 27 };
    for (size_t i = 0; i < typed->len; i++) {
        char c = typed->ptr[i], next = i + 1 < typed->len ? typed->ptr[i + 1] : '\0';
        if (c == CTRL_C || c == CTRL_D || (c == ESCAPE && next != '[' && next != 'O'))
            return true;
    }
    return false;
}

static void attach_on_data(struct attach *client, const json_t *msg)
{
    AUTO_BUF struct buf bytes = BUF_INIT;
    struct err err = ERR_INIT;
    const char *text = jx_str(msg, "b64", "");
    if (!b64_decode(&bytes, text, strlen(text), &err)) {
        conn_close(client->conn);
        return;
    }
    if (!client->joined_id)
        client->room->typed_ms = clock_mono_ms();
    if (!client->joined_id && attach_interrupts(&bytes))
        client->room->interrupted_ms = client->room->typed_ms;
    if (client->joined_id)
        attach_type(client->stream, &client->early, &bytes);
    else
        attach_type(client->room->agent, &client->room->early, &bytes);
}

static void attach_on_resize(struct attach *client, const json_t *msg)
{
    uint16_t cols = attach_side(msg, "cols", 80), rows = attach_side(msg, "rows", 24);
    if (!client->joined_id)
        attach_resize_agent(client->room, cols, rows, false);
    else if (client->stream)
        stream_resize(client->stream, cols, rows);
}

static void attach_on_join(struct attach *client, const json_t *msg)
{
    struct attach_room *room = client->room;
    struct attach_join join = {.cwd = jx_str(msg, "cwd", "/"),
                               .cols = attach_side(msg, "cols", 80),
                               .rows = attach_side(msg, "rows", 24)};
    struct err err = ERR_INIT;
    if (client->joined_id)
        return;
    jx_strv(&join.argv, msg, "argv");
    jx_strv(&join.env, msg, "env");
    join.id = ++room->last_id;
    if (join.argv.n == 0)
        attach_fail(client, "no program was named");
    else if (!room->ops->join(room->arg, &join, &err))
        attach_fail(client, err.text);
    else
        client->joined_id = join.id;
    strv_release(&join.argv);
    strv_release(&join.env);
}

static void attach_on_forward(struct attach *client, const json_t *msg)
{
    struct attach_room *room = client->room;
    struct err err = ERR_INIT;
    int port = (int)jx_int(msg, "port", 0), got;
    client->forwards = true;
    if (!room->ops->forward(room->arg, client, port, (int)jx_int(msg, "listen", port), &got,
                            &err)) {
        attach_fail(client, err.text);
        return;
    }
    AUTO_JSON json_t *answer = json_object();
    jx_set_str(answer, "t", "forward");
    jx_set_int(answer, "port", port);
    jx_set_int(answer, "listen", got);
    conn_send(client->conn, answer);
}

void attach_message(struct attach *client, const json_t *msg)
{
    static const struct {
        const char *name;
        void (*handle)(struct attach *client, const json_t *msg);
    } kinds[] = {
        {"data", attach_on_data},
        {"resize", attach_on_resize},
        {"join", attach_on_join},
        {"forward", attach_on_forward},
    };
    const char *t = jx_str(msg, "t", "");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(t, kinds[i].name) == 0)
            kinds[i].handle(client, msg);
    }
}

void attach_room_data(struct attach_room *room, const char *bytes, size_t len)
{
    ring_add(&room->ring, bytes, len);
    for (size_t i = 0; i < room->n_clients; i++) {
        if (!room->clients[i]->joined_id)
            attach_send_data(room->clients[i], bytes, len);
    }
}

void attach_room_exited(struct attach_room *room, int status)
{
    room->has_exited = true;
    room->exit_status = status;
    for (size_t i = 0; i < room->n_clients; i++) {
        if (!room->clients[i]->joined_id)
            attach_send_exit(room->clients[i], status);
    }
}

static struct attach *attach_find(const struct attach_room *room, int id)
{
    for (size_t i = 0; i < room->n_clients; i++) {
        if (room->clients[i]->joined_id == id)
            return room->clients[i];
    }
    return NULL;
}

static void attach_stream_data(void *arg, const char *bytes, size_t len)
{
    attach_send_data(arg, bytes, len);
}

/* The exit status comes on its own way. A program may close its terminal before it ends, as cp(1)
 * does; our end stays open until then, else it would get SIGHUP. */
static void attach_stream_ended(void *arg)
{
    (void)arg;
}

void attach_room_pty(struct attach_room *room, int id, int fd)
{
    static const struct stream_ops ops = {.data = attach_stream_data, .ended = attach_stream_ended};
    struct err err = ERR_INIT;
    struct attach *client = attach_find(room, id);
    if (!client) {
        close(fd); /* its client is gone already; the process gets SIGHUP */
        return;
    }
    client->stream = stream_open(room->loop, fd, &ops, client, &err);
    if (!client->stream)
        attach_fail(client, err.text);
    else
        attach_type_early(client->stream, &client->early);
}

void attach_room_joined_failed(struct attach_room *room, int id, const struct err *err)
{
    struct attach *client = attach_find(room, id);
    if (client)
        attach_fail(client, err->text);
}

void attach_room_joined_exited(struct attach_room *room, int id, int status)
{
    struct attach *client = attach_find(room, id);
    if (!client)
        return;
    if (client->stream)
        stream_drain(client->stream);
    attach_send_exit(client, status);
}

void attach_room_init(struct attach_room *room, uv_loop_t *loop, const struct attach_ops *ops,
                      void *arg)
{
    *room = (struct attach_room){.loop = loop, .ops = ops, .arg = arg, .early = BUF_INIT};
}

void attach_room_release(struct attach_room *room)
{
    ring_release(&room->ring);
    buf_release(&room->early);
    free(room->clients);
    room->clients = NULL;
}
