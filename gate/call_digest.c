/* Apart from call.c, so that the hook client carries no hash function. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gate/call.h"
#include "runner/base/text.h"

static struct digest_part text_part(const char *text)
{
    return (struct digest_part){text, strlen(text)};
}

/* Text with the worktree's path under one name. Injective: the mark is doubled where the text holds
 * it. */
static void add_placed(struct buf *out, const char *text, size_t len, const char *worktree)
{
    enum { MARK = 1 };
    for (size_t i = 0; i < len;) {
        if (text_has_path_at(text, len, i, worktree)) {
            buf_addf(out, "%cw", MARK);
            i += strlen(worktree);
            continue;
        }
        if (text[i] == MARK)
            buf_addch(out, MARK);
        buf_addch(out, text[i++]);
    }
}

/* A copy with every string placed; keys as well, since some tools name files by them. */
static json_t *placed(const json_t *value, const char *worktree)
{
    if (json_is_string(value)) {
        AUTO_BUF struct buf text = BUF_INIT;
        add_placed(&text, json_string_value(value), json_string_length(value), worktree);
        return json_stringn(text.ptr, text.len);
    }
    if (json_is_array(value)) {
        json_t *copy = json_array();
        size_t i;
        const json_t *item;
        json_array_foreach(value, i, item) json_array_append_new(copy, placed(item, worktree));
        return copy;
    }
    if (!json_is_object(value))
        return json_deep_copy(value);
    json_t *copy = json_object();
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)value, key, item)
    {
        AUTO_BUF struct buf name = BUF_INIT;
        add_placed(&name, key, strlen(key), worktree);
        jx_set(copy, name.ptr, placed(item, worktree));
    }
    return copy;
}

void call_action_digest(char ret[DIGEST_HEX_SIZE], const struct call_request *r)
{
    AUTO_BUF struct buf args = BUF_INIT;
    AUTO_BUF struct buf cwd = BUF_INIT;
    AUTO_JSON json_t *placed_args = placed(r->args, r->worktree);
    jx_canonical(&args, placed_args);
    add_placed(&cwd, r->cwd, strlen(r->cwd), r->worktree);
    const struct digest_part parts[] = {
        text_part(r->tool),
        {args.ptr, args.len},
        {cwd.ptr, cwd.len},
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
        text_part(attempt),   text_part(number),      text_part(r->source),
        text_part(r->agent),  text_part(r->session),  text_part(r->call_id),
        text_part(r->sub_id), text_part(r->sub_type), text_part(depth),
        text_part(action),    text_part(r->worktree),
    };
    digest_parts(ret, parts, sizeof(parts) / sizeof(parts[0]));
}
