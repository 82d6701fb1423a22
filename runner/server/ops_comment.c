/*
 * ops_comment: what a person writes about an attempt's work, until it is sent to the agent as its
 * next message.
 */
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/server/link.h"
#include "runner/server/ops.h"
#include "runner/server/settings.h"
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

/* To an agent whose terminal is read: as one paste, so that its lines are one message. */
static bool say(struct server *s, const char *id, const char *message, struct err *err)
{
    struct live *live = live_find(s, id);
    AUTO_FREE char *paste = xasprintf("\033[200~%s\033[201~", message);
    if (!live)
        return err_set(err, ERR_CONFLICT, "attempt %s has no keeper to speak to now", id);
    return link_say(live, paste, err);
}

/* One that has ended goes on with the message; *ret_how tells which way it was. */
static bool deliver(struct request *r, const char *id, const char *message, const char **ret_how,
                    struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    if (!attempt_row_get(&row, r->server->db, id, err))
        return false;
    if (row.state == ATTEMPT_DONE) {
        *ret_how = "resumed";
        return settings_refresh(r->server, err) && attempt_resume(r, id, message, err);
    }
    *ret_how = "said";
    if (row.state != ATTEMPT_RUNNING || !row.interactive)
        return err_set(
            err, ERR_CONFLICT,
            "attempt %s is %s and reads no messages; they are kept: send them when it has "
            "ended (headgate comment %s --send)",
            id, attempt_state_name(row.state), id);
    return say(r->server, id, message, err);
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
        ok = deliver(r, ids.v[0], message.ptr, &how, &err) &&
             comment_row_set_sent(s->db, ids.v[0], clock_unix_ms(), &err);
    }
    if (ok)
        request_answer(r, json_pack("{s:s, s:s, s:I}", "attempt", ids.v[0], "how", how, "sent",
                                    (json_int_t)json_array_size(waiting)));
    else
        request_fail(r, &err);
}
