/*
 * A call from inside a box, judged on each rung with rules of each kind: a verdict with a reason
 * that can be shown and sent, and never a looser one on a stricter rung.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/policy.h"
#include "runner/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy_text[] =
    "{\"epoch\":1,\"ladder\":\"confirm\",\"rules\":["
    "{\"id\":1,\"text\":\"allow command git status\"},{\"id\":2,\"text\":\"deny command rm\"},"
    "{\"id\":3,\"text\":\"ask path docs\"},{\"id\":4,\"text\":\"allow path src\"},"
    "{\"id\":5,\"text\":\"allow host *.example.com\"},{\"id\":6,\"text\":\"allow exactly make "
    "test\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct policy_place place = {.worktree = "/w", .home = "/home/u"};
    AUTO_CALL_REQUEST struct call_request call = CALL_REQUEST_INIT;
    AUTO_JSON json_t *message = NULL;
    struct policy p = POLICY_INIT;
    struct err err = ERR_INIT;
    if (!call_request_parse(&call, (const char *)data, size, &err))
        return 0;
    if (!jx_parse(&message, policy_text, sizeof(policy_text) - 1, &err) ||
        !policy_from_json(&p, message, &err))
        abort();
    enum verdict before = VERDICT_DENY;
    for (int rung = LADDER_CONFIRM; rung <= LADDER_AUTO; rung++) {
        struct judgement j;
        p.ladder = (enum ladder)rung;
        policy_judge(&j, &p, &call, &place);
        AUTO_JSON json_t *reason = json_string(j.reason);
        if (!reason || !j.reason[0] || j.verdict > before)
            abort();
        before = j.verdict;
    }
    policy_release(&p);
    return 0;
}
