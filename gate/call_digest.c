/* Apart from call.c, so that the hook client carries no hash function. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gate/call.h"

static struct digest_part text_part(const char *text)
{
    return (struct digest_part){text, strlen(text)};
}

void call_action_digest(char ret[DIGEST_HEX_SIZE], const struct call_request *r)
{
    AUTO_BUF struct buf args = BUF_INIT;
    jx_canonical(&args, r->args);
    const struct digest_part parts[] = {
        text_part(r->tool),
        {args.ptr, args.len},
        text_part(r->cwd),
    };
    digest_parts(ret, parts, sizeof(parts) / sizeof(parts[0]));
}

void call_digest(char ret[DIGEST_HEX_SIZE], const char *attempt, int64_t local,
                 const struct call_request *r)
{
    char action[DIGEST_HEX_SIZE], number[24], depth[24];
    call_action_digest(action, r);
    snprintf(number, sizeof(number), "%" PRId64, local);
    snprintf(depth, sizeof(depth), "%" PRId64, r->sub_depth);
    const struct digest_part parts[] = {
        text_part(attempt),    text_part(number),     text_part(r->source), text_part(r->agent),
        text_part(r->session), text_part(r->call_id), text_part(r->sub_id), text_part(r->sub_type),
        text_part(depth),      text_part(action),
    };
    digest_parts(ret, parts, sizeof(parts) / sizeof(parts[0]));
}
