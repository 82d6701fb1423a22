/*
 * What create.h says of a single attempt: its rung, its spec, its title.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/base/text.h"
#include "runner/server/create.h"

enum { TITLE_COLUMNS = 72, COLUMNS_DEFAULT = 80, ROWS_DEFAULT = 24 };

bool create_task_rung(enum ladder *ret, const struct create *c, const json_t *task, struct err *err)
{
    const char *name = jx_str(task, "ladder", NULL);
    enum ladder ladder = *ret;
    if (name && !ladder_parse(&ladder, name, err))
        return false;
    *ret = ladder < c->loosest ? ladder : c->loosest;
    return true;
}

static char *dup_or_null(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

static int size_or(const json_t *body, const char *member, int fallback)
{
    int64_t value = jx_int(body, member, fallback);
    return value > 0 && value <= INT16_MAX ? (int)value : fallback;
}

void create_spec(struct attempt_spec *ret, const struct create *c, const json_t *task, int64_t n)
{
    const json_t *limits = jx_obj(c->body, "limits");
    struct attempt_spec spec = {
        .id = xasprintf("%lld.%lld", (long long)c->number, (long long)n),
        .run = c->number,
        .n = n,
        .repo = xstrdup(c->repo.toplevel ? c->repo.toplevel : c->repo.common_dir),
        .subdir = xstrdup(jx_str(c->body, "subdir", c->repo.subdir ? c->repo.subdir : "")),
        .branch = xasprintf(CREATE_BRANCH_FORMAT, (long long)c->number, (long long)n),
        .base = xstrdup(c->base.oid),
        .base_ref = dup_or_null(c->base.ref),
        .into = dup_or_null(jx_str(c->body, "into", NULL)),
        .is_base_held = jx_bool(c->body, "hold", false),
        .is_base_wip = jx_bool(c->body, "base_wip", false),
        .engine = dup_or_null(jx_str(c->body, "engine", NULL)),
        .agent = xstrdup(c->agent->name),
        .prompt = xstrdup(jx_str(task, "text", "")),
        .interactive = jx_bool(c->body, "interactive", false),
        .cols = size_or(c->body, "cols", COLUMNS_DEFAULT),
        .rows = size_or(c->body, "rows", ROWS_DEFAULT),
        .ladder = c->ladder,
        .exec = c->exec,
        .exec_required = c->exec_required,
        .has_no_canary = c->has_no_canary,
        .ask_ms = c->ask_ms,
        .ask_waits = c->ask_waits,
        .memory_bytes = jx_int(limits, "memory", 0),
        .pids = jx_int(limits, "pids", 0),
        .time_ms = c->time_ms,
        .output_bytes = jx_int(limits, "output", 0),
        .require = dup_or_null(c->require),
        .setup = dup_or_null(c->setup),
        .teardown = dup_or_null(c->teardown),
    };
    jx_strv(&spec.command, c->body, "argv");
    jx_strv(&spec.ro, c->body, "ro");
    jx_strv(&spec.rw, c->body, "rw");
    jx_strv(&spec.mask, c->body, "mask");
    strv_push_all(&spec.net, strv_array(&c->net));
    for (size_t i = 0; i < c->secrets.n; i++) /* names: the values stay in memory (keyring.h) */
        strv_push_n(&spec.secrets, c->secrets.v[i], strcspn(c->secrets.v[i], "="));
    AUTO_JSON json_t *models = model_ways_json(&c->models);
    model_ways_parse(&spec.models, models);
    create_add_services(&spec.services, c);
    *ret = spec;
}

char *create_title(const struct create *c, const json_t *task)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_BUF struct buf words = BUF_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    const char *text = jx_str(task, "title", "");
    if (!text[0])
        text = jx_str(task, "text", "");
    jx_strv(&argv, c->body, "argv");
    for (size_t i = 0; i < argv.n; i++)
        buf_addf(&words, "%s%s", i ? " " : "", argv.v[i]);
    if (!text[0])
        text = words.ptr;
    AUTO_FREE char *line = xstrndup(text, strcspn(text, "\r\n"));
    text_add_clipped(&out, line, TITLE_COLUMNS);
    return buf_steal(&out);
}
