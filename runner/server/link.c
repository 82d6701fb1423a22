#include "runner/server/link.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/limits.h"
#include "runner/server/broker.h"
#include "runner/server/epoch.h"
#include "runner/server/events.h"
#include "runner/server/executor.h"
#include "runner/server/renewal.h"
#include "runner/server/say.h"
#include "runner/wire/conn.h"

enum {
    RETRY_FIRST_MS = 20,
    RETRY_LAST_MS = 2000,
    QUIT_MS = 10 * 1000,       /* from "quit" to the end of the stream */
    STOP_EXTRA_MS = 15 * 1000, /* beyond the grace that the keeper gives its agent */
    DEFAULT_GRACE_MS = 5000,
};

struct link {
    struct live *live; /* NULL: closing */
    struct server *server;
    struct conn *conn; /* NULL: not connected */
    bool is_welcome;
    bool wants_stop;
    bool wants_quit;
    int64_t epoch;
    struct proc_id keeper;
    json_t *records; /* that came in this turn of the loop */
    char *line;      /* the last that the keeper told, NULL: none */
    bool is_again;   /* it may tell that one once more, since the stream is new */
    bool is_unkept;  /* records cannot be written, and it was told */
    uint64_t retry_ms;
    uv_timer_t flush, retry, guard;
    int parts_open; /* handles that still refer to this */
};

static void connect_now(struct link *link);

static void release(struct link *link)
{
    if (--link->parts_open > 0)
        return;
    json_decref(link->records);
    free(link->line);
    free(link);
}

static void on_timer_closed(uv_handle_t *handle)
{
    release(handle->data);
}

/* The link is over for its attempt; what is left of it frees itself. */
static void end(struct link *link)
{
    struct live *live = link->live;
    live->link = NULL;
    link->live = NULL;
    if (link->conn)
        conn_close(link->conn);
    uv_close((uv_handle_t *)&link->flush, on_timer_closed);
    uv_close((uv_handle_t *)&link->retry, on_timer_closed);
    uv_close((uv_handle_t *)&link->guard, on_timer_closed);
    epoch_judge(link->server);
}

static void end_and_settle(struct link *link)
{
    struct live *live = link->live;
    end(link);
    executor_kick(live);
    live_settle(live);
}

static void tell(struct link *link, json_t *message)
{
    AUTO_JSON json_t *owned = message;
    if (link->conn && link->is_welcome)
        conn_send(link->conn, owned);
}

static void kill_keeper(const struct link *link)
{
    AUTO_FD int pidfd = link->keeper.pid > 0 ? proc_pidfd(link->keeper.pid) : -1;
    if (pidfd < 0 || !proc_id_alive(&link->keeper))
        return;
    server_log("the keeper of attempt %s (pid %d) does not end: killed", link->live->id,
               (int)link->keeper.pid);
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

static void on_guard(uv_timer_t *timer)
{
    kill_keeper(timer->data);
}

/* ---- what the keeper says ---- */

static void on_flush(uv_timer_t *timer)
{
    struct link *link = timer->data;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *records = link->records;
    link->records = json_array();
    if (!link->conn || json_array_size(records) == 0)
        return;
    const json_t *last = json_array_get(records, json_array_size(records) - 1);
    int64_t seq = jx_int(last, "seq", 0);
    if (!executor_merge(link->live, records, &err)) {
        /* The keeper has them still, and sends all of them again when the stream is new. */
        server_log("records of attempt %s: %s (tried again)", link->live->id, err.text);
        if (!link->is_unkept) {
            AUTO_FREE char *text =
                xasprintf("headgate: %s; the attempt cannot end before that is mended", err.text);
            events_notice(link->live, text);
        }
        link->is_unkept = true;
        link->retry_ms = RETRY_LAST_MS / 4;
        conn_close(link->conn);
        return;
    }
    link->is_unkept = false;
    tell(link, json_pack("{s:s, s:I}", "t", "ack", "seq", (json_int_t)seq));
    if (link->live && link->wants_quit) /* again, now that it knows that all is merged */
        tell(link, json_pack("{s:s}", "t", "quit"));
}

static void on_record(struct link *link, const json_t *msg)
{
    json_t *record = jx_obj(msg, "record");
    if (!record)
        return;
    json_array_append(link->records, record);
    uv_timer_start(&link->flush, on_flush, 0, 0);
}

static void fill_keeper(struct attempt_row *row, void *arg)
{
    const struct link *link = arg;
    row->keeper = link->keeper;
}

/* Tell what a keeper missed while nobody was connected. Calls that are asked in records still to
 * come are told then. */
static void tell_waiting(struct link *link, const json_t *msg)
{
    size_t i;
    const json_t *item;
    json_array_foreach(jx_arr(msg, "waiting"), i, item)
    {
        struct ledger_call call;
        struct err err = ERR_INIT;
        if (!ledger_find(&call, link->server->db, link->live->id, jx_int(item, "call", 0), &err))
            continue;
        link_tell_call(link->live, &call);
        broker_tell(link->live, &call);
        ledger_call_release(&call);
    }
}

static void say_stop(struct link *link)
{
    int64_t grace_ms = config_int(link->server->config, "run.grace", DEFAULT_GRACE_MS);
    tell(link, json_pack("{s:s, s:s, s:I}", "t", "stop", "cause", "stopped", "grace_ms",
                         (json_int_t)grace_ms));
}

static void on_welcome(struct link *link, const json_t *msg)
{
    struct err err = ERR_INIT;
    const char *id = jx_str(msg, "attempt", "");
    if (strcmp(id, link->live->id) != 0) {
        server_log("the keeper at the socket of attempt %s is that of '%s'", link->live->id, id);
        conn_close(link->conn);
        return;
    }
    const char *boot = jx_str(msg, "boot_id", "");
    link->keeper = (struct proc_id){.pid = (pid_t)jx_int(msg, "pid", 0),
                                    .start_ticks = (uint64_t)jx_int(msg, "start_ticks", 0)};
    memcpy(link->keeper.boot_id, boot, strnlen(boot, sizeof(link->keeper.boot_id) - 1));
    link->is_welcome = true;
    link->is_again = true;
    link->retry_ms = RETRY_FIRST_MS;
    if (!executor_update(link->server, link->live->id, fill_keeper, link, &err))
        server_log("attempt %s: %s", link->live->id, err.text);
    link_tell_policy(link->live);
    tell_waiting(link, msg);
    if (strcmp(jx_str(msg, "state", ""), "running") == 0)
        say_tell(link->live);
    if (link->wants_stop)
        link_stop(link->live);
    if (link->wants_quit)
        tell(link, json_pack("{s:s}", "t", "quit"));
}

static void on_epoch(struct link *link, const json_t *msg)
{
    link->epoch = jx_int(msg, "epoch", 0);
    epoch_judge(link->server);
}

static void on_line(struct link *link, const json_t *msg)
{
    const char *line = jx_str(msg, "line", "");
    bool is_known = link->is_again && link->line && strcmp(link->line, line) == 0;
    link->is_again = false;
    if (is_known)
        return;
    free(link->line);
    link->line = xstrdup(line);
    events_line(link->live, line);
}

static void on_token(struct link *link, const json_t *msg)
{
    renewal_ask(link->live, msg);
}

static const struct kind {
    const char *name;
    void (*handle)(struct link *link, const json_t *msg);
} kinds[] = {
    {"record", on_record}, {"welcome", on_welcome}, {"epoch", on_epoch},
    {"line", on_line},     {"token", on_token},
};

static void on_message(struct conn *conn, json_t *msg, void *arg)
{
    struct link *link = arg;
    const char *name = jx_str(msg, "t", "");
    if (!link->live || link->conn != conn)
        return;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            kinds[i].handle(link, msg);
}

/* ---- the stream ---- */

static void on_retry(uv_timer_t *timer)
{
    connect_now(timer->data);
}

static void retry(struct link *link)
{
    uv_timer_start(&link->retry, on_retry, link->retry_ms, 0);
    link->retry_ms = link->retry_ms * 2 < RETRY_LAST_MS ? link->retry_ms * 2 : RETRY_LAST_MS;
}

static void on_closed(struct conn *conn, const struct err *err, void *arg)
{
    struct link *link = arg;
    (void)conn;
    link->conn = NULL;
    link->is_welcome = false;
    if (!link->live) { /* ended meanwhile */
        release(link);
        return;
    }
    link->parts_open--;
    if (err->code != ERR_NONE)
        server_log("the stream of attempt %s: %s", link->live->id, err->text);
    if (link->server->is_stopping)
        end_and_settle(link);
    else
        retry(link);
}

/* Nobody listens. A keeper that is known to live may be between two listens, or its socket was
 * removed under it. */
static void nobody_there(struct link *link)
{
    struct live *live = link->live;
    if (proc_id_alive(&link->keeper)) {
        retry(link);
        return;
    }
    bool was_done = link->wants_quit;
    end(link);
    if (was_done)
        live_remove_sockets(&live->server->paths, live->id);
    else
        executor_want(live, JOB_REPLAY);
    executor_kick(live);
    live_settle(live);
}

static void hello(struct link *link)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    struct err err = ERR_INIT;
    if (!attempt_row_get(&row, link->server->db, link->live->id, &err)) {
        server_log("attempt %s: %s", link->live->id, err.text);
        conn_close(link->conn);
        return;
    }
    AUTO_JSON json_t *msg = json_pack("{s:s, s:i, s:s, s:I}", "t", "hello", "v", 1, "role",
                                      "server", "acked", (json_int_t)row.spool_seq);
    conn_send(link->conn, msg);
}

static void connect_now(struct link *link)
{
    static const struct conn_ops conn_ops = {
        .message = on_message,
        .closed = on_closed,
        .max_line_bytes = LIMIT_LINE_BYTES,
        .max_queue_bytes = 4 * LIMIT_LINE_BYTES,
    };
    struct err err = ERR_INIT;
    AUTO_FREE char *path = paths_keeper_socket(&link->server->paths, link->live->id);
    int fd = conn_connect(path, &err);
    if (fd < 0 && (err.sys_errno == ECONNREFUSED || err.sys_errno == ENOENT)) {
        nobody_there(link);
        return;
    }
    if (fd < 0) {
        server_log("the keeper of attempt %s: %s", link->live->id, err.text);
        retry(link);
        return;
    }
    json_array_clear(link->records);
    link->conn = conn_open(&link->server->loop, fd, &conn_ops, link);
    link->parts_open++;
    hello(link);
}

static struct link *link_new(struct live *live)
{
    struct server *s = live->server;
    struct link *link = xcalloc(1, sizeof(*link));
    *link = (struct link){
        .live = live, .server = s, .records = json_array(), .retry_ms = RETRY_FIRST_MS};
    uv_timer_t *const timers[] = {&link->flush, &link->retry, &link->guard};
    for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
        uv_timer_init(&s->loop, timers[i]);
        timers[i]->data = link;
        link->parts_open++;
    }
    live->link = link;
    return link;
}

/* Who the keeper was when it was last seen, and whether its end is wanted. */
static void load(struct link *link)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    struct err err = ERR_INIT;
    if (!attempt_row_get(&row, link->server->db, link->live->id, &err)) {
        server_log("attempt %s: %s", link->live->id, err.text);
        return;
    }
    link->keeper = row.keeper;
    link->wants_stop = row.state == ATTEMPT_STOPPING;
}

/* ---- what the server wants ---- */

void link_open(struct live *live)
{
    if (live->link || live->server->is_stopping)
        return;
    struct link *link = link_new(live);
    load(link);
    uv_timer_start(&link->retry, on_retry, 0, 0);
}

static void guard(struct link *link, int64_t ms)
{
    if (!uv_is_active((uv_handle_t *)&link->guard))
        uv_timer_start(&link->guard, on_guard, (uint64_t)ms, 0);
}

void link_stop(struct live *live)
{
    struct link *link = live->link;
    if (!link) /* no keeper yet: the state tells it once there is one */
        return;
    link->wants_stop = true;
    say_stop(link);
    guard(link, config_int(live->server->config, "run.grace", DEFAULT_GRACE_MS) + STOP_EXTRA_MS);
}

void link_quit(struct live *live)
{
    if (!live->link)
        link_open(live);
    struct link *link = live->link;
    if (!link) /* the server ends: the next one says it */
        return;
    link->wants_quit = true;
    link->wants_stop = false;
    uv_timer_stop(&link->guard);
    guard(link, QUIT_MS);
    tell(link, json_pack("{s:s}", "t", "quit"));
}

void link_tell_call(struct live *live, const struct ledger_call *call)
{
    if (!live->link)
        return;
    AUTO_FREE char *name = xasprintf("c%lld", (long long)call->id);
    json_t *msg = json_object();
    jx_set_int(msg, "call", call->local);
    jx_set_str(msg, "name", name);
    if (call->state == CALL_APPROVED || call->state == CALL_DENIED) {
        jx_set_str(msg, "t", "decide");
        jx_set_str(msg, "decision", call->state == CALL_APPROVED ? "allow" : "deny");
        jx_set_str(msg, "reason", call->reason);
        jx_set_str(msg, "why", call->why ? call->why : "person");
        jx_set_str(msg, "by", call->decided_by);
        jx_set_str(msg, "digest", call->digest);
    } else {
        jx_set_str(msg, "t", "name");
    }
    tell(live->link, msg);
}

void link_tell_broker(struct live *live, const struct ledger_call *call, const json_t *message)
{
    if (!live->link)
        return;
    AUTO_FREE char *name = xasprintf("c%lld", (long long)call->id);
    json_t *msg = json_copy((json_t *)(uintptr_t)message);
    jx_set_str(msg, "t", "broker");
    jx_set_int(msg, "call", call->local);
    jx_set_str(msg, "name", name);
    tell(live->link, msg);
}

void link_tell_policy(struct live *live)
{
    struct policy policy = POLICY_INIT;
    struct err err = ERR_INIT;
    if (!live->link)
        return;
    if (!epoch_policy(&policy, live->server, live->id, &err)) {
        server_log("the policy of attempt %s: %s", live->id, err.text);
        return;
    }
    json_t *msg = policy_to_json(&policy);
    jx_set_str(msg, "t", "policy");
    tell(live->link, msg);
    policy_release(&policy);
}

void link_tell_token(struct live *live, const json_t *answer)
{
    if (!live->link)
        return;
    json_t *msg = json_copy((json_t *)(uintptr_t)answer);
    jx_set_str(msg, "t", "token");
    tell(live->link, msg);
}

bool link_say(struct live *live, int64_t message, const char *text, struct err *err)
{
    if (!live->link || !live->link->is_welcome)
        return err_set(err, ERR_CONFLICT, "attempt %s has no keeper to speak to now", live->id);
    tell(live->link, json_pack("{s:s, s:I, s:o}", "t", "say", "message", (json_int_t)message,
                               "text", jx_bytes(text, strlen(text))));
    return true;
}

int64_t link_epoch(const struct link *link)
{
    return link->wants_quit ? INT64_MAX : link->epoch;
}

void link_drop(struct live *live)
{
    if (live->link)
        end_and_settle(live->link);
}
