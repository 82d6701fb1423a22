#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/keep/door_call.h"

enum { DOOR_PROTOCOL = 1, DOOR_NOTE_EVERY_MS = 60 * 1000 };

static json_t *door_answer_json(bool allow, const char *why, const char *reason, const char *name)
{
    json_t *answer = json_object();
    jx_set_int(answer, "v", DOOR_PROTOCOL);
    jx_set_str(answer, "decision", allow ? "allow" : "deny");
    jx_set_str(answer, "reason", reason);
    jx_set_str(answer, "why", why);
    jx_set_str(answer, "call", name);
    return answer;
}

static void door_wait_no_more(struct door_call *c)
{
    if (c->is_waiting)
        c->door->n_waiting--;
    c->is_waiting = false;
}

void door_call_free(struct door_call *c)
{
    call_request_release(&c->request);
    json_decref(c->kept);
    free(c->name);
    free(c);
}

void door_send(struct door_call *c, const json_t *answer)
{
    if (c->is_answered)
        return;
    c->is_answered = true;
    c->is_carried = false;
    door_wait_no_more(c);
    if (!c->conn) {
        c->kept = json_copy((json_t *)(uintptr_t)answer);
        return;
    }
    conn_send(c->conn, answer);
    conn_finish(c->conn);
}

/* Who connected, as the kernel saw it then. */
static void door_tell_answer(const struct door *d, int fd, bool allow)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (d->answered && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
        d->answered(d->answered_arg, peer.pid, allow);
}

void door_answer(struct door_call *c, bool allow, const char *why, const char *reason)
{
    AUTO_JSON json_t *answer = door_answer_json(allow, why, reason, c->name);
    if (allow && !c->is_answered)
        confirm_add(&c->door->confirm, &c->key);
    if (c->conn && !c->is_answered)
        door_tell_answer(c->door, conn_fd(c->conn), allow);
    door_send(c, answer);
}

void door_allow(struct door_call *c, const char *why, const char *reason)
{
    if (!c->is_for_broker) {
        door_answer(c, true, why, reason);
        return;
    }
    door_wait_no_more(c);
    c->is_carried = true;
}

void door_deny(struct door_call *c, const char *why, const char *reason)
{
    door_answer(c, false, why, reason);
}

void door_deny_excess(struct door_call *c, const char *reason)
{
    struct door *d = c->door;
    int64_t now_ms = clock_mono_ms();
    door_deny(c, "quota", reason);
    if (d->excess_noted_ms && now_ms - d->excess_noted_ms < DOOR_NOTE_EVERY_MS)
        return;
    d->excess_noted_ms = now_ms;
    records_note(d->records, "calls are denied: %s", reason);
}

void door_deny_unrecorded(struct door_call *c, const struct err *err)
{
    AUTO_FREE char *reason = xasprintf(
        "The call could not be recorded (%s), and nothing is allowed without a record", err->text);
    door_deny(c, err->code == ERR_LIMIT ? "quota" : "closed", reason);
}

void door_rename(struct door_call *c, const char *name)
{
    if (!name)
        return;
    free(c->name);
    c->name = xstrdup(name);
}

void door_turn_away(const struct door *d, int fd)
{
    AUTO_BUF struct buf line = BUF_INIT;
    AUTO_JSON json_t *answer = door_answer_json(
        false, "quota", "Too many gate connections of this attempt are open", NULL);
    jx_dump(&line, answer);
    buf_addch(&line, '\n');
    door_tell_answer(d, fd, false);
    ssize_t sent = send(fd, line.ptr, line.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* the end of the stream is a denial too */
    close(fd);
}

void door_broker(struct door *d, const json_t *msg)
{
    int64_t number = jx_int(msg, "call", 0);
    for (size_t i = 0; i < d->n_calls; i++) {
        struct door_call *c = d->calls[i];
        if (!c->is_carried || c->number != number)
            continue;
        door_rename(c, jx_str(msg, "name", NULL));
        const char *failed = jx_str(msg, "failed", NULL);
        AUTO_JSON json_t *answer =
            door_answer_json(!failed, "broker", failed ? failed : "", c->name);
        if (jx_obj(msg, "result"))
            json_object_update_missing(answer, jx_obj(msg, "result"));
        door_send(c, answer);
        return;
    }
}
