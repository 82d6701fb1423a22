/*
 * ops_comment: what a person writes about an attempt's work, until it is sent to the agent as its
 * next message.
 */
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/server/ops.h"
#include "runner/server/say.h"
#include "runner/store/attempt_row.h"
#include "runner/store/comment_row.h"

static void answer_list(struct request *r, const char *attempt)
{
    struct err err = ERR_INIT;
    json_t *list = json_array();
    if (comment_row_list(list, r->server->db, attempt, false, &err)) {
        request_answer(r, json_pack("{s:s, s:o}", "attempt", attempt, "comments", list));
        return;
    }
    json_decref(list);
    request_fail(r, &err);
}

void op_comment_add(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    AUTO_JSON json_t *comment = json_copy(r->body);
    const char *text = jx_str(r->body, "text", "");
    int64_t id;
    bool ok = request_attempt(&ids, r, &err);
    if (ok && (!*text || strlen(text) > LIMIT_PROMPT_BYTES))
        ok = err_set(&err, ERR_USAGE, "a comment has 1 to %d bytes", LIMIT_PROMPT_BYTES);
    jx_set_str(comment, "by", r->by);
    if (ok && comment_row_add(&id, r->server->db, ids.v[0], comment, clock_unix_ms(), &err))
        request_answer(r, json_pack("{s:I, s:s}", "comment", (json_int_t)id, "attempt", ids.v[0]));
    else
        request_fail(r, &err);
}

void op_comment_list(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    if (request_attempt(&ids, r, &err))
        answer_list(r, ids.v[0]);
    else
        request_fail(r, &err);
}

void op_comment_rm(struct request *r)
{
    struct err err = ERR_INIT;
    if (comment_row_remove(r->server->db, jx_int(r->body, "comment", 0), &err))
        request_answer(r, NULL);
    else
        request_fail(r, &err);
}

void op_comment_send(struct request *r)
{
    struct server *s = r->server;
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    AUTO_JSON json_t *waiting = json_array();
    AUTO_BUF struct buf message = BUF_INIT;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    const char *how = "";
    bool ok =
        request_attempt(&ids, r, &err) && comment_row_list(waiting, s->db, ids.v[0], true, &err);
    if (ok && json_array_size(waiting) == 0)
        ok = err_set(&err, ERR_NOT_FOUND, "no comment on attempt %s waits to be sent", ids.v[0]);
    ok = ok && attempt_row_get(&row, s->db, ids.v[0], &err);
    if (ok) {
        comment_message(&message, waiting, row.tip ? row.tip : row.base);
        ok = say_deliver(&how, r, ids.v[0], message.ptr, &err) &&
             comment_row_set_sent(s->db, ids.v[0], clock_unix_ms(), &err);
    }
    if (ok)
        request_answer(r, json_pack("{s:s, s:s, s:I}", "attempt", ids.v[0], "how", how, "sent",
                                    (json_int_t)json_array_size(waiting)));
    else
        request_fail(r, &err);
}
