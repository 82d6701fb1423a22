#include "runner/server/say.h"

#include <stdlib.h>
#include <string.h>

#include "runner/agents/agent.h"
#include "runner/base/clock.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/server/executor.h"
#include "runner/server/link.h"
#include "runner/server/ops.h"
#include "runner/server/settings.h"
#include "runner/store/message_row.h"

/* As one paste, so that its lines are one message. */
static bool say_typed(struct server *s, const char *id, const char *text, struct err *err)
{
    struct live *live = live_find(s, id);
    AUTO_FREE char *typed =
        strchr(text, '\n') ? xasprintf("\033[200~%s\033[201~", text) : xstrdup(text);
    if (!live)
        return err_set(err, ERR_CONFLICT, "attempt %s has no keeper to speak to now", id);
    return link_say(live, 0, typed, err);
}

static bool hears(const struct attempt_row *row)
{
    const struct agent *agent = agent_kind(row->agent);
    return agent && agent->hears && !row->interactive;
}

static bool say_kept(const char **ret_how, struct request *r, const struct attempt_row *row,
                     const char *text, struct err *err)
{
    int64_t number;
    struct live *live = live_find(r->server, row->id);
    bool is_ending = row->state == ATTEMPT_STOPPING || row->state == ATTEMPT_HARVESTING;
    if (row->interactive || is_ending)
        return err_set(err, ERR_CONFLICT, "attempt %s is %s; say it when it %s", row->id,
                       attempt_state_name(row->state),
                       is_ending ? "has ended, and it goes on with it" : "runs");
    if (!message_row_add(&number, r->server->db, row->id, text, r->by, clock_unix_ms(), err))
        return false;
    *ret_how = hears(row) ? "said" : "queued";
    if (live && row->state == ATTEMPT_RUNNING)
        say_tell(live);
    return true;
}

bool say_deliver(const char **ret_how, struct request *r, const char *id, const char *text,
                 struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    if (!attempt_row_get(&row, r->server->db, id, err))
        return false;
    if (row.state == ATTEMPT_DONE) {
        *ret_how = "resumed";
        return settings_refresh(r->server, err) && attempt_resume(r, id, text, err);
    }
    *ret_how = "said";
    if (row.state == ATTEMPT_RUNNING && row.interactive)
        return say_typed(r->server, id, text, err);
    return say_kept(ret_how, r, &row, text, err);
}

void op_attempt_say(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    const char *text = jx_str(r->body, "text", ""), *how = "";
    bool ok = request_attempt(&ids, r, &err);
    if (ok && (!text[0] || strlen(text) > LIMIT_PROMPT_BYTES))
        ok = err_set(&err, ERR_USAGE, "what is said has 1 to %d bytes", LIMIT_PROMPT_BYTES);
    if (ok && say_deliver(&how, r, ids.v[0], text, &err))
        request_answer(r, json_pack("{s:s, s:s}", "attempt", ids.v[0], "how", how));
    else
        request_fail(r, &err);
}

void say_tell(struct live *live)
{
    AUTO_JSON json_t *waiting = json_array();
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    struct err err = ERR_INIT;
    size_t i;
    const json_t *m;
    bool ok = attempt_row_get(&row, live->server->db, live->id, &err) &&
              message_row_waiting(waiting, live->server->db, live->id, &err);
    json_array_foreach(waiting, i, m)
    {
        if (ok && hears(&row))
            ok = link_say(live, jx_int(m, "id", 0), jx_str(m, "text", ""), &err);
    }
    if (!ok)
        server_log("what waits for attempt %s: %s", live->id, err.text);
}

bool say_collect(char **ret, struct server *s, const char *id, const char *text, struct err *err)
{
    AUTO_JSON json_t *waiting = json_array();
    AUTO_BUF struct buf all = BUF_INIT;
    size_t i;
    const json_t *m;
    if (!message_row_waiting(waiting, s->db, id, err))
        return false;
    json_array_foreach(waiting, i, m)
    {
        buf_addf(&all, "%s%s", i ? "\n\n" : "", jx_str(m, "text", ""));
    }
    if (text)
        buf_addf(&all, "%s%s", all.len ? "\n\n" : "", text);
    *ret = all.len ? buf_steal(&all) : NULL;
    return true;
}

bool say_taken(struct server *s, const char *id, struct err *err)
{
    return message_row_set_heard(s->db, id, INT64_MAX, clock_unix_ms(), err);
}

/* One that a person or a limit ended does not begin again by itself. */
bool say_goes_on(struct server *s, const struct attempt_row *row)
{
    AUTO_JSON json_t *waiting = json_array();
    struct err ignored = ERR_INIT;
    bool is_by_itself = row->outcome == OUTCOME_OK || row->outcome == OUTCOME_FAILED;
    return row->state == ATTEMPT_DONE && is_by_itself && !s->is_stopping && !row->interactive &&
           message_row_waiting(waiting, s->db, row->id, &ignored) && json_array_size(waiting) > 0;
}

static bool go_on(struct server *s, const char *id, struct err *err)
{
    AUTO_FREE char *message = NULL;
    struct attempt_spec spec;
    if (!say_collect(&message, s, id, NULL, err) || !attempt_row_spec(&spec, s->db, id, err))
        return false;
    spec.resume = true;
    attempt_row_set(&spec.message, message);
    bool ok = attempt_row_save_spec(s->db, &spec, &spec.env, err) && say_taken(s, id, err) &&
              executor_post(NULL, s, id, ATTEMPT_EV_RESUME, NULL, NULL, err);
    attempt_spec_release(&spec);
    return ok;
}

bool say_go_on(struct server *s, const char *id)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    struct err err = ERR_INIT;
    if (!attempt_row_get(&row, s->db, id, &err) || !say_goes_on(s, &row))
        return false;
    bool ok = go_on(s, id, &err);
    if (!ok)
        server_log("attempt %s does not go on with what waits for it: %s", id, err.text);
    return ok;
}

bool say_recover(struct server *s, struct err *err)
{
    AUTO_STRV struct strv ids = STRV_INIT;
    if (!message_row_attempts(&ids, s->db, err))
        return false;
    for (size_t i = 0; i < ids.n; i++)
        (void)say_go_on(s, ids.v[i]);
    return true;
}
