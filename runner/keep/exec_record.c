#include "runner/keep/exec_record.h"

#include <stdlib.h>
#include <string.h>
#include "runner/base/jx.h"
#include "runner/base/mem.h"

enum { EXEC_SHOWN_BYTES = 64 * 1024, EXEC_SHOWN_ARGS = 1024 };

void exec_record_release(struct exec_record *r)
{
    call_request_release(&r->request);
}

/* Text of any bytes as the text that a request holds. */
static char *encode(const char *text)
{
    AUTO_JSON json_t *string = jx_bytes(text, strlen(text));
    return xstrdup(json_string_value(string));
}

static json_t *argv_json(const struct exec_args *args, bool *ret_is_cut)
{
    json_t *list = json_array();
    const char *end = args->argv.ptr + args->argv.len;
    const char *at = args->argv.ptr;
    while (at < end && at - args->argv.ptr + (ssize_t)strlen(at) < EXEC_SHOWN_BYTES &&
           json_array_size(list) < EXEC_SHOWN_ARGS) {
        size_t len = strlen(at);
        json_array_append_new(list, jx_bytes(at, len));
        at += len + 1;
    }
    *ret_is_cut = at < end;
    return list;
}

void exec_record_make(struct exec_record *ret, const struct keep_config *config,
                      const struct records *records, const struct exec_image *image,
                      const struct exec_args *args, const char *cwd, const struct strv *parents,
                      const struct exec_call *below)
{
    bool is_cut;
    json_t *members = json_object();
    jx_set_str(members, "program", image->names.all.n ? image->names.all.v[0] : args->path);
    jx_set(members, "argv", argv_json(args, &is_cut));
    if (is_cut)
        jx_set_str(members, "argv_digest", image->args_digest);
    if (image->content.digest[0])
        jx_set_str(members, "content", image->content.digest);
    json_t *line = json_array();
    for (size_t i = 0; i < parents->n; i++)
        json_array_append_new(line, jx_bytes(parents->v[i], strlen(parents->v[i])));
    jx_set(members, "parents", line);
    *ret = (struct exec_record){
        .number = records_next(records),
        .request = {.source = xstrdup("exec"),
                    .agent = xstrdup(config->agent),
                    .tool = xstrdup("exec"),
                    .args = members,
                    .cwd = encode(cwd),
                    .worktree = xstrdup(config->worktree),
                    .call_id = xstrdup(below ? below->who.call_id : ""),
                    .session = xstrdup(below ? below->who.session : ""),
                    .sub_id = xstrdup(below ? below->who.sub_id : ""),
                    .sub_type = xstrdup(below ? below->who.sub_type : ""),
                    .sub_depth = below ? below->who.sub_depth : 0},
        .below = below ? below->number : 0,
    };
    call_action_digest(ret->action, &ret->request);
    call_digest(ret->digest, config->attempt, ret->number, &ret->request);
}

json_t *exec_record_body(const struct exec_record *r, const struct judgement *j)
{
    json_t *body = json_object();
    jx_set_int(body, "call", r->number);
    jx_set(body, "request", call_request_json(&r->request));
    jx_set_str(body, "action", r->action);
    jx_set_str(body, "digest", r->digest);
    jx_set_str(body, "why", j->why);
    jx_set_str(body, "reason", j->reason);
    jx_set_int(body, "rule", j->rule);
    if (r->below)
        jx_set_int(body, "below", r->below);
    return body;
}
