/*
 * question: one request to the gate and its answer, as an event.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/drive/drive.h"
#include "runner/wire/conn.h"

struct question {
    json_t *about;
    question_fn answered;
    void *arg;
    bool is_answered;
};

static void answer(struct question *q, bool allow, const char *reason)
{
    if (q->is_answered)
        return;
    q->is_answered = true;
    q->answered(q->arg, q->about, allow, reason);
}

static void on_message(struct conn *c, json_t *msg, void *arg)
{
    bool allow = jx_int(msg, "v", 0) == 1 && strcmp(jx_str(msg, "decision", ""), "allow") == 0;
    answer(arg, allow, jx_str(msg, "reason", ""));
    conn_close(c);
}

static void on_closed(struct conn *c, const struct err *err, void *arg)
{
    struct question *q = arg;
    (void)c;
    answer(q, false,
           err->code == ERR_NONE ? "the gate closed the connection without an answer" : err->text);
    json_decref(q->about);
    free(q);
}

void question_ask(struct drive *d, json_t *request, json_t *about, question_fn answered, void *arg)
{
    static const struct conn_ops ops = {.message = on_message,
                                        .closed = on_closed,
                                        .max_line_bytes = LIMIT_LINE_BYTES,
                                        .max_queue_bytes = LIMIT_LINE_BYTES};
    AUTO_JSON json_t *owned = request;
    struct err err = ERR_INIT;
    int fd = conn_connect(d->gate, &err);
    if (fd < 0) {
        answered(arg, about, false, err.text);
        json_decref(about);
        return;
    }
    struct question *q = xcalloc(1, sizeof *q);
    *q = (struct question){.about = about, .answered = answered, .arg = arg};
    jx_set_int(owned, "v", 1);
    conn_send(conn_open(&d->loop, fd, &ops, q), owned);
}
