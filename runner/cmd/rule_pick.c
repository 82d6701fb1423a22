#include "runner/cmd/rule_pick.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"

bool rule_proposals(json_t **ret, struct client *c, const char *call, struct err *err)
{
    json_t *request = json_object();
    jx_set_str(request, "call", call);
    return client_call(ret, c, "rule.propose", request, err);
}

void rule_report_covered(struct buf *report, const json_t *answer)
{
    AUTO_BUF struct buf ids = BUF_INIT;
    size_t i;
    const json_t *id;
    json_array_foreach(jx_arr(answer, "covered"), i, id)
    {
        AUTO_FREE char *name = text_clean(json_string_value(id));
        buf_addf(&ids, " %s", name);
    }
    if (ids.len)
        buf_addf(report, "it covers what waits already: headgate gate approve%s\n", ids.ptr);
}

bool rule_store(struct buf *report, struct client *c, json_t *request_stolen, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    size_t i;
    const json_t *rule;
    if (!client_call(&result, c, "rule.add", request_stolen, err))
        return false;
    json_array_foreach(jx_arr(result, "rules"), i, rule)
    {
        AUTO_FREE char *clean = text_clean(jx_str(rule, "text", ""));
        buf_addf(report, "r%" PRId64 ": %s\n", jx_int(rule, "id", 0), clean);
    }
    rule_report_covered(report, result);
    return client_in_force(result, err);
}

bool rule_pick(struct buf *report, struct client *c, const json_t *proposals, int64_t number,
               struct err *err)
{
    const json_t *all = jx_arr(proposals, "proposals");
    size_t n = json_array_size(all);
    if (n == 0) {
        AUTO_FREE char *why = text_clean(jx_str(proposals, "why", ""));
        return err_set(err, ERR_USAGE, "no rule can cover such a call: %s", why);
    }
    if (number < 1 || (size_t)number > n)
        return err_set(err, ERR_USAGE,
                       "there are %zu proposals; 'headgate gate rule add --from %s' lists them", n,
                       jx_str(proposals, "call", "C"));
    json_t *request = json_object();
    jx_set(request, "texts",
           json_incref(json_object_get(json_array_get(all, (size_t)number - 1), "rules")));
    jx_set_str(request, "repo", jx_str(proposals, "repo", NULL));
    jx_set_int(request, "from_call", strtoll(jx_str(proposals, "call", "c0") + 1, NULL, 10));
    return rule_store(report, c, request, err);
}
