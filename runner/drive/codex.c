/*
 * codex: a client of `codex app-server` (newline-delimited JSON-RPC without its version member;
 * checked with 0.171.0).
 *
 *   initialize -> hooks/list (our hook must be in force) -> thread/start or thread/resume ->
 * turn/start -> turn/completed
 *
 * What a person says meanwhile goes into the turn that is under way (turn/steer), else it is the
 * next one.
 *
 * With the approval policy `untrusted` Codex asks for each command and each patch, of subagents
 * too, and runs nothing without a yes. Its hook was asked before and carries a person's words; what
 * the gate allowed there it confirms here (gate/confirm.h), and what comes without is asked as a
 * call of its own. A question of a kind that is not known gets an error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/drive/codex_words.h"
#include "runner/drive/drive.h"
#include "runner/wire/conn.h"

enum { CODEX_LINE_BYTES = 64 * 1024 * 1024, THREAD_ID_BYTES = 128 };
enum { ID_INITIALIZE = 1, ID_HOOKS, ID_THREAD, ID_TURN, ID_FIRST_STEER };

struct codex {
    struct drive *drive;
    struct conn *conn; /* NULL: closed */
    char *thread;      /* the main one, NULL: not told yet */
    char *thread_file;
    char *turn;      /* the one under way in it, NULL: none, or not told yet */
    json_t *said;    /* messages that no turn has taken: they are the next one */
    json_t *steered; /* request id -> message that is on its way into the present turn */
    int next_id;
    json_t *changes; /* item id -> fileChange item that was started */
};

static void send_request(struct codex *c, int id, const char *method, json_t *params)
{
    AUTO_JSON json_t *msg = json_object();
    jx_set_int(msg, "id", id);
    jx_set_str(msg, "method", method);
    jx_set(msg, "params", params);
    if (c->conn)
        conn_send(c->conn, msg);
}

static void send_answer(struct codex *c, const json_t *id, const char *member, json_t *value)
{
    AUTO_JSON json_t *msg = json_object();
    jx_set(msg, "id", json_incref((json_t *)(uintptr_t)id));
    jx_set(msg, member, value);
    if (c->conn)
        conn_send(c->conn, msg);
}

static void finish(struct codex *c, int status)
{
    drive_end(c->drive, status);
    if (c->conn)
        conn_finish(c->conn); /* app-server ends with its input */
}

/* ---- what it answers ---- */

static void initialize(struct codex *c)
{
    send_request(c, ID_INITIALIZE, "initialize",
                 json_pack("{s:{s:s, s:s, s:s}, s:{s:b, s:b}}", "clientInfo", "name", "headgate",
                           "title", "Headgate", "version", HEADGATE_VERSION, "capabilities",
                           "experimentalApi", 1, "requestAttestation", 0));
}

static void start_thread(struct codex *c)
{
    AUTO_BUF struct buf last = BUF_INIT;
    struct err err = ERR_INIT;
    json_t *params = json_pack("{s:s, s:s, s:s}", "cwd", c->drive->cwd, "approvalPolicy",
                               "untrusted", "sandbox", "danger-full-access");
    bool has_last = c->drive->is_resumed &&
                    fs_read_file(&last, AT_FDCWD, c->thread_file, THREAD_ID_BYTES, &err);
    if (has_last)
        jx_set_str(params, "threadId", last.ptr);
    send_request(c, ID_THREAD, has_last ? "thread/resume" : "thread/start", params);
}

static json_t *input_of(const char *text)
{
    return json_pack("[{s:s, s:o, s:[]}]", "type", "text", "text", jx_bytes(text, strlen(text)),
                     "text_elements");
}

static void begin_turn(struct codex *c, const char *text)
{
    send_request(c, ID_TURN, "turn/start",
                 json_pack("{s:s, s:o, s:s, s:{s:s}}", "threadId", c->thread, "input",
                           input_of(text), "approvalPolicy", "untrusted", "sandboxPolicy", "type",
                           "dangerFullAccess"));
}

static void start_turn(struct codex *c, const json_t *answer)
{
    struct err err = ERR_INIT;
    const char *thread = jx_str(jx_obj(jx_obj(answer, "result"), "thread"), "id", NULL);
    if (!thread) {
        drive_fail(c->drive, "Codex opened no conversation");
        finish(c, 1);
        return;
    }
    c->thread = xstrdup(thread);
    /* Lost, it is a new conversation at the next resume. */
    bool is_kept = fs_write_plain(AT_FDCWD, c->thread_file, thread, strlen(thread), 0600, &err);
    (void)is_kept;
    begin_turn(c, c->drive->prompt);
}

/* ---- what is said to it meanwhile ---- */

static void tell_heard(const json_t *message)
{
    AUTO_JSON json_t *line = json_pack("{s:s, s:{s:I}}", "method", "headgate/heard", "params", "id",
                                       (json_int_t)jx_int(message, "id", 0));
    drive_tell(line);
}

static void steer(struct codex *c, json_t *message)
{
    char key[32];
    int id = c->next_id++;
    snprintf(key, sizeof key, "%d", id);
    jx_set(c->steered, key, json_incref(message));
    send_request(c, id, "turn/steer",
                 json_pack("{s:s, s:o, s:s}", "threadId", c->thread, "input",
                           input_of(jx_str(message, "text", "")), "expectedTurnId", c->turn));
}

/* Into the turn that is under way; without one they wait for it, or begin the next. */
static void pass_on(struct codex *c)
{
    size_t i;
    json_t *message;
    if (!c->turn)
        return;
    json_array_foreach(c->said, i, message)
    {
        steer(c, message);
    }
    json_array_clear(c->said);
}

static void on_heard(struct drive *d, int64_t id, const char *text)
{
    struct codex *c = d->arg;
    json_array_append_new(c->said, json_pack("{s:I, s:o}", "id", (json_int_t)id, "text",
                                             jx_bytes(text, strlen(text))));
    pass_on(c);
}

/* What no turn took is the next one. False: nothing was said. */
static bool go_on(struct codex *c)
{
    AUTO_BUF struct buf text = BUF_INIT;
    size_t i;
    const json_t *message;
    if (json_array_size(c->said) == 0)
        return false;
    json_array_foreach(c->said, i, message)
    {
        buf_addf(&text, "%s%s", i ? "\n\n" : "", jx_str(message, "text", ""));
        tell_heard(message);
    }
    json_array_clear(c->said);
    begin_turn(c, text.ptr);
    return true;
}

/* The turn is over, and so is what was on its way into it: on with what was said, else the task is
 * done. */
static void on_rest(struct codex *c)
{
    if (!c->turn && json_object_size(c->steered) == 0 && !go_on(c))
        finish(c, 0);
}

static void on_steered(struct codex *c, const json_t *msg)
{
    char key[32];
    snprintf(key, sizeof key, "%d", (int)jx_int(msg, "id", 0));
    AUTO_JSON json_t *message = json_incref(json_object_get(c->steered, key));
    if (!message)
        return;
    json_object_del(c->steered, key);
    if (jx_obj(msg, "error"))
        json_array_append(c->said, message); /* it came too late for that turn */
    else
        tell_heard(message);
    on_rest(c);
}

static void on_answer(struct codex *c, const json_t *msg)
{
    struct err err = ERR_INIT;
    const json_t *error = jx_obj(msg, "error");
    if (jx_int(msg, "id", 0) >= ID_FIRST_STEER) {
        on_steered(c, msg);
        return;
    }
    if (error) {
        drive_fail(c->drive, "Codex refused a request of its client: %s",
                   jx_str(error, "message", "without words"));
        finish(c, 1);
        return;
    }
    switch (jx_int(msg, "id", 0)) {
    case ID_INITIALIZE: {
        AUTO_JSON json_t *note = json_pack("{s:s}", "method", "initialized");
        conn_send(c->conn, note);
        send_request(c, ID_HOOKS, "hooks/list", json_pack("{s:[s]}", "cwds", c->drive->cwd));
        break;
    }
    case ID_HOOKS:
        if (codex_hook_is_active(msg, c->drive->hook, &err)) {
            start_thread(c);
        } else {
            drive_fail(c->drive, "%s", err.text);
            finish(c, 1);
        }
        break;
    case ID_THREAD:
        start_turn(c, msg);
        break;
    default:
        break;
    }
}

/* ---- what it asks ---- */

static void on_decided(void *arg, const json_t *about, bool allow, const char *reason)
{
    struct codex *c = arg;
    (void)reason; /* there is no place for it: the hook is what carries words */
    send_answer(c, about, "result", json_pack("{s:s}", "decision", allow ? "accept" : "decline"));
}

static void on_question(struct codex *c, const char *method, const json_t *id, const json_t *params)
{
    json_t *request = NULL;
    const char *item = jx_str(params, "itemId", "");
    if (strcmp(method, "item/commandExecution/requestApproval") == 0 &&
        strcmp(jx_str(params, "kind", "command"), "command") == 0)
        request = codex_command_request(params, c->thread ? c->thread : "");
    else if (strcmp(method, "item/fileChange/requestApproval") == 0)
        request = codex_change_request(params, json_object_get(c->changes, item),
                                       c->thread ? c->thread : "", c->drive->cwd);
    if (!request) {
        send_answer(c, id, "error",
                    json_pack("{s:i, s:s}", "code", -32601, "message", "not answered by Headgate"));
        return;
    }
    question_ask(c->drive, request, json_incref((json_t *)(uintptr_t)id), on_decided, c);
}

/* ---- what it tells ---- */

static void on_item(struct codex *c, const char *method, const json_t *item)
{
    const char *id = jx_str(item, "id", "");
    if (strcmp(jx_str(item, "type", ""), "fileChange") != 0)
        return;
    if (strcmp(method, "item/started") == 0)
        jx_set(c->changes, id, json_incref((json_t *)(uintptr_t)item));
    else if (strcmp(method, "item/completed") == 0)
        json_object_del(c->changes, id);
}

static bool is_of_main(const struct codex *c, const json_t *params)
{
    return c->thread && strcmp(jx_str(params, "threadId", ""), c->thread) == 0;
}

static void on_turn_started(struct codex *c, const json_t *params)
{
    if (!is_of_main(c, params))
        return;
    free(c->turn);
    c->turn = xstrdup(jx_str(jx_obj(params, "turn"), "id", ""));
    pass_on(c);
}

static void on_turn_completed(struct codex *c, const json_t *params)
{
    const json_t *turn = jx_obj(params, "turn");
    const char *status = jx_str(turn, "status", "");
    if (!is_of_main(c, params))
        return;
    free(c->turn);
    c->turn = NULL;
    if (strcmp(status, "completed") == 0) {
        on_rest(c);
        return;
    }
    drive_fail(c->drive, "Codex's turn ended as '%s': %s", status,
               jx_str(jx_obj(turn, "error"), "message", "it says no more"));
    finish(c, 1);
}

static void on_told(struct codex *c, const char *method, const json_t *msg)
{
    const json_t *params = jx_obj(msg, "params");
    if (codex_is_told(method))
        drive_tell(msg);
    on_item(c, method, jx_obj(params, "item"));
    if (strcmp(method, "turn/started") == 0)
        on_turn_started(c, params);
    if (strcmp(method, "turn/completed") == 0)
        on_turn_completed(c, params);
}

static void on_message(struct conn *conn, json_t *msg, void *arg)
{
    struct codex *c = arg;
    const char *method = jx_str(msg, "method", NULL);
    const json_t *id = json_object_get(msg, "id");
    (void)conn;
    if (method && id)
        on_question(c, method, id, jx_obj(msg, "params"));
    else if (method)
        on_told(c, method, msg);
    else
        on_answer(c, msg);
}

static void on_closed(struct conn *conn, const struct err *err, void *arg)
{
    struct codex *c = arg;
    (void)conn;
    c->conn = NULL;
    drive_fail(c->drive, "Codex ended before its task was done%s%s",
               err->code == ERR_NONE ? "" : ": ", err->code == ERR_NONE ? "" : err->text);
}

static void on_exited(struct drive *d)
{
    struct codex *c = d->arg;
    if (c->conn)
        conn_close(c->conn);
    uv_stop(&d->loop); /* questions that wait have nobody to tell */
}

bool drive_codex(struct drive *d, struct err *err)
{
    static const struct conn_ops ops = {.message = on_message,
                                        .closed = on_closed,
                                        .max_line_bytes = CODEX_LINE_BYTES,
                                        .max_queue_bytes = LIMIT_LINE_BYTES};
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return err_sys(err, errno, "cannot make a pair of sockets");
    struct codex *c = xcalloc(1, sizeof *c);
    *c = (struct codex){.drive = d,
                        .changes = json_object(),
                        .said = json_array(),
                        .steered = json_object(),
                        .next_id = ID_FIRST_STEER};
    c->thread_file = fs_join(d->home, ".codex/headgate-thread");
    d->arg = c;
    d->exited = on_exited;
    const int std_fds[] = {fds[1], fds[1]};
    bool ok = drive_spawn(d, std_fds, err);
    close(fds[1]);
    if (!ok) {
        close(fds[0]);
        return false;
    }
    c->conn = conn_open(&d->loop, fds[0], &ops, c);
    drive_listen(d, on_heard);
    initialize(c);
    return true;
}
