/*
 * ops_rule: the rules. A change is answered when every live keeper has it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/server/epoch.h"
#include "runner/server/ops.h"
#include "runner/store/attempt_row.h"
#include "runner/store/run_row.h"
#include "runner/store/store.h"

/* "in repo" means the repository of the run that was named, or of the folder's that the client
 * names. */
static bool fill_scope(struct rule *rule, const struct request *r, struct err *err)
{
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    if (rule->scope != RULE_REPO || rule->scope_value)
        return true;
    const char *repo = jx_str(r->body, "repo", NULL);
    int64_t id = jx_int(r->body, "run", 0);
    if (!repo && id == 0)
        return err_set(err, ERR_USAGE,
                       "'in repo' needs a run whose repository is meant: add --run R");
    if (!repo && !run_row_get(&run, r->server->db, id, err))
        return false;
    rule->scope_value = xstrdup(repo ? repo : run.repo);
    return true;
}

/* A number that is not taken yet would mean a run that somebody starts later. */
static bool check_scope(const struct rule *rule, const struct request *r, struct err *err)
{
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    AUTO_ATTEMPT_ROW struct attempt_row attempt = ATTEMPT_ROW_INIT;
    const char *value = rule->scope_value;
    if (rule->scope == RULE_ATTEMPT)
        return attempt_row_get(&attempt, r->server->db, value, err);
    if (rule->scope != RULE_RUN)
        return true;
    AUTO_FREE char *again = xasprintf("%lld", strtoll(value, NULL, 10));
    if (strcmp(again, value) != 0)
        return err_set(err, ERR_USAGE, "'%s' is not a run, such as 3", value);
    return run_row_get(&run, r->server->db, strtoll(value, NULL, 10), err);
}

static json_t *rule_json(const struct rule *rule, const char *by, int64_t at_ms)
{
    AUTO_BUF struct buf text = BUF_INIT;
    json_t *j = json_object();
    rule_text(&text, rule);
    jx_set_int(j, "id", rule->id);
    jx_set_str(j, "text", text.ptr);
    jx_set_str(j, "by", by);
    jx_set_int(j, "made_ms", at_ms);
    return j;
}

/* Rules that come together are stored together, or none is. */
struct adding {
    struct request *request;
    struct ledger_origin origin;
    json_t *made; /* RULEs, owned */
    bool allows;
};

static bool add_one(struct adding *a, const json_t *text, struct err *err)
{
    AUTO_RULE struct rule rule = RULE_INIT;
    const char *line = json_string_value(text);
    if (!rule_parse(&rule, line ? line : "", err) || !rule_can_meet(&rule, err) ||
        !fill_scope(&rule, a->request, err) || !check_scope(&rule, a->request, err) ||
        !ledger_rule_add(&rule.id, a->request->server->db, &rule, &a->origin, err))
        return false;
    json_array_append_new(a->made, rule_json(&rule, a->request->by, a->origin.at_ms));
    a->allows = a->allows || rule.effect == RULE_ALLOW;
    return true;
}

static bool add_all(struct adding *a, int64_t *ret_epoch, struct err *err)
{
    AUTO_ROLLBACK struct db *db = a->request->server->db;
    const json_t *texts = jx_arr(a->request->body, "texts"), *text;
    size_t i;
    if (json_array_size(texts) == 0)
        return err_set(err, ERR_USAGE, "no rule is given");
    if (!db_begin(db, err))
        return false;
    json_array_foreach(texts, i, text)
    {
        if (!add_one(a, text, err))
            return json_array_size(texts) > 1 ? err_prefix(err, "rule %zu", i + 1) : false;
    }
    return epoch_raise(ret_epoch, a->request->server, err) && db_commit(db, err);
}

/* The rules, and what waits that would not have been asked: deciding it stays with the person. */
void op_rule_add(struct request *r)
{
    struct err err = ERR_INIT, ignored = ERR_INIT;
    AUTO_JSON json_t *made = json_array();
    json_t *covered = NULL;
    int64_t epoch;
    struct adding adding = {.request = r,
                            .origin = {.by = r->by,
                                       .at_ms = clock_unix_ms(),
                                       .from_call = jx_int(r->body, "from_call", 0)},
                            .made = made};
    if (!add_all(&adding, &epoch, &err)) {
        request_fail(r, &err);
        return;
    }
    json_t *answer = json_pack("{s:O}", "rules", made);
    if (adding.allows && explain_covered(&covered, r->server, true, &ignored))
        jx_set(answer, "covered", covered);
    epoch_spread(r->server, epoch, r, answer);
}

void op_rule_list(struct request *r)
{
    struct err err = ERR_INIT;
    json_t *rules;
    if (ledger_rule_list(&rules, r->server->db, &err))
        request_answer(r, json_pack("{s:o}", "rules", rules));
    else
        request_fail(r, &err);
}

/* "r7", "7" or the number itself. */
static bool read_id(int64_t *ret, const json_t *item, struct err *err)
{
    const char *word = json_string_value(item);
    if (json_is_integer(item)) {
        *ret = json_integer_value(item);
        return true;
    }
    const char *digits = word && word[0] == 'r' ? word + 1 : word;
    char *end;
    if (!digits || !isdigit((unsigned char)digits[0]))
        return err_set(err, ERR_USAGE, "'%s' is not a rule; 'headgate gate rule ls' lists them",
                       word ? word : "");
    long long id = strtoll(digits, &end, 10);
    if (*end)
        return err_set(err, ERR_USAGE, "'%s' is not a rule", word);
    *ret = id;
    return true;
}

static bool remove_all(struct request *r, int64_t *ret_epoch, struct err *err)
{
    struct server *s = r->server;
    AUTO_ROLLBACK struct db *db = s->db;
    const json_t *ids = jx_arr(r->body, "ids");
    size_t i;
    const json_t *item;
    if (json_array_size(ids) == 0)
        return err_set(err, ERR_USAGE, "no rule is named");
    if (!db_begin(db, err))
        return false;
    json_array_foreach(ids, i, item)
    {
        int64_t id = 0;
        if (!read_id(&id, item, err) || !ledger_rule_rm(db, id, r->by, clock_unix_ms(), err))
            return false;
    }
    return epoch_raise(ret_epoch, s, err) && db_commit(db, err);
}

void op_rule_rm(struct request *r)
{
    struct err err = ERR_INIT;
    json_t *rules;
    int64_t epoch;
    if (!remove_all(r, &epoch, &err)) {
        request_fail(r, &err);
        return;
    }
    /* Removed they are; a list that cannot be read now must not keep that from the keepers. */
    if (!ledger_rule_list(&rules, r->server->db, &err))
        rules = json_null();
    epoch_spread(r->server, epoch, r, json_pack("{s:o}", "rules", rules));
}
