#include "runner/keep/keep_config.h"

#include <stdlib.h>
#include <string.h>
#include "gate/net.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

enum {
    KEEP_CONFIG_VERSION = 1,
    KEEP_ATTEMPT_BYTES = 32,
    KEEP_SIDE_MAX = 1000, /* columns or rows */
    KEEP_GRACE_MS = 5000,
    KEEP_GRACE_MAX_MS = 10 * 60 * 1000,
    KEEP_DEADLINE_MS = 10 * 60 * 1000,
    KEEP_EXEC_DEADLINE_MS = 60 * 1000,
    KEEP_LINGER_MS = 60 * 1000,
    KEEP_NET_DEADLINE_MS = 60 * 1000,
    KEEP_LINGER_MAX_MS = 60 * 60 * 1000,
    KEEP_PLAN_BYTES = 16 * 1024 * 1024,
};

struct text_member {
    const char *key;
    char **target;
    bool is_path;
};

static bool load_texts(struct keep_config *c, const json_t *j, struct err *err)
{
    const struct text_member members[] = {
        {"attempt", &c->attempt, false},  {"agent", &c->agent, false},
        {"socket", &c->socket, true},     {"gate_socket", &c->gate_socket, true},
        {"worktree", &c->worktree, true}, {"home", &c->home, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *value = jx_str(j, members[i].key, "");
        if (members[i].is_path ? value[0] != '/' : value[0] == '\0')
            return err_set(err, ERR_FORMAT, "keep.json has no good '%s'", members[i].key);
        *members[i].target = xstrdup(value);
    }
    if (!text_is_name(c->attempt, KEEP_ATTEMPT_BYTES))
        return err_set(err, ERR_FORMAT, "keep.json has no good 'attempt'");
    c->output = xstrdup(jx_str(j, "output", "lines"));
    c->is_guard_strict = jx_bool(j, "guard_strict", false);
    c->guard = jx_str(j, "guard", NULL) ? xstrdup(jx_str(j, "guard", "")) : NULL;
    c->path = xstrdup(jx_str(j, "path", "/usr/local/bin:/usr/bin:/bin"));
    const json_t *input = jx_obj(j, "input");
    const char *task = jx_str(input, "task", NULL);
    c->task = task ? xstrdup(task) : NULL;
    return speech_form_parse(&c->hears, jx_str(input, "form", ""), err) ||
           err_prefix(err, "keep.json");
}

/* An absent member is 0 and takes the fallback; a negative one or one above the bound is refused.
 */
static bool load_int(int64_t *ret, const json_t *j, const char *key, int64_t fallback, int64_t max,
                     struct err *err)
{
    int64_t value = jx_int(j, key, 0);
    if (value < 0 || value > max)
        return err_set(err, ERR_FORMAT, "keep.json: '%s' is not within 0 and %lld", key,
                       (long long)max);
    *ret = value ? value : fallback;
    return true;
}

static bool load_side(uint16_t *ret, const json_t *j, const char *key, int64_t fallback,
                      struct err *err)
{
    int64_t value = 0;
    if (!load_int(&value, j, key, fallback, KEEP_SIDE_MAX, err))
        return false;
    *ret = (uint16_t)value;
    return true;
}

static bool load_numbers(struct keep_config *c, const json_t *j, struct err *err)
{
    const json_t *limits = jx_obj(j, "limits");
    c->is_interactive = jx_bool(j, "interactive", false);
    c->freezes = jx_bool(j, "freeze", false);
    c->is_unasked = jx_bool(j, "unasked", false);
    c->has_no_canary = jx_bool(j, "no_canary", false);
    c->has_setup = jx_bool(j, "setup", false);
    return load_side(&c->cols, j, "cols", 80, err) && load_side(&c->rows, j, "rows", 24, err) &&
           load_int(&c->memory_bytes, limits, "memory", 0, INT64_MAX, err) &&
           load_int(&c->pids, limits, "pids", 0, INT32_MAX, err) &&
           load_int(&c->time_ms, limits, "time_ms", 0, INT64_MAX / 2, err) &&
           load_int(&c->output_bytes, limits, "output", LIMIT_LOG_BYTES, INT64_MAX, err) &&
           load_int(&c->grace_ms, j, "grace_ms", KEEP_GRACE_MS, KEEP_GRACE_MAX_MS, err) &&
           load_int(&c->linger_ms, j, "linger_ms", KEEP_LINGER_MS, KEEP_LINGER_MAX_MS, err) &&
           load_int(&c->hello_ms, j, "hello_ms", 0, INT32_MAX, err) &&
           load_int(&c->patience_ms, j, "patience_ms", 0, INT64_MAX / 4, err) &&
           load_int(&c->deadline_ms, j, "deadline_ms", KEEP_DEADLINE_MS, INT64_MAX / 2, err);
}

/* A list of lists of words; one that cannot be read is an error and not a shorter list. */
static bool load_forms(struct exec_forms *ret, const json_t *exec, const char *key, struct err *err)
{
    const json_t *list = jx_arr(exec, key);
    ret->v = xcalloc(json_array_size(list) + 1, sizeof *ret->v);
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO_JSON json_t *form = json_pack("{s:O}", "f", json_array_get(list, i));
        jx_strv(&ret->v[ret->n++], form, "f");
        if (ret->v[i].n == 0 || ret->v[i].n != json_array_size(jx_arr(form, "f")))
            return err_set(err, ERR_FORMAT, "keep.json: '%s' holds no list of words", key);
    }
    return true;
}

static void release_forms(struct exec_forms *f)
{
    for (size_t i = 0; i < f->n; i++)
        strv_release(&f->v[i]);
    free(f->v);
}

static bool load_exec(struct keep_config *c, const json_t *j, struct err *err)
{
    const json_t *exec = jx_obj(j, "exec");
    c->is_exec_required = jx_bool(exec, "required", false);
    c->is_exec_unverified = !jx_bool(exec, "verify", true);
    c->may_debug = jx_bool(exec, "debugger", false);
    if (!load_int(&c->exec_deadline_ms, exec, "deadline_ms", KEEP_EXEC_DEADLINE_MS, INT32_MAX,
                  err) ||
        !load_forms(&c->exec_calls, exec, "calls", err) ||
        !load_forms(&c->exec_helpers, exec, "helpers", err) ||
        !load_forms(&c->exec_selves, exec, "selves", err))
        return false;
    return exec_policy_parse(&c->exec, jx_str(exec, "policy", exec_policy_name(EXEC_OFF)), err) ||
           err_prefix(err, "keep.json");
}

static bool load_services(struct keep_config *c, const json_t *j, struct err *err)
{
    const json_t *list = jx_arr(j, "services");
    c->services = xcalloc(json_array_size(list) + 1, sizeof *c->services);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        int64_t port = jx_int(entry, "port", 0);
        int64_t target = jx_int(entry, "target", port);
        if (port < 1 || port > UINT16_MAX || target < 1 || target > UINT16_MAX)
            return err_set(err, ERR_FORMAT, "keep.json: 'services' holds no port");
        c->services[c->n_services++] =
            (struct keep_service){.port = (uint16_t)port, .target = (uint16_t)target};
    }
    return true;
}

/* A list that cannot be read is an error and not an empty list, and an absent proxy no network. */
static bool load_proxy(struct keep_config *c, const json_t *j, struct err *err)
{
    const json_t *proxy = jx_obj(j, "proxy");
    int64_t port = jx_int(proxy, "port", 0);
    if (port < 0 || port > UINT16_MAX)
        return err_set(err, ERR_FORMAT, "keep.json: 'proxy' has no good port");
    c->proxy_port = (uint16_t)port;
    jx_strv(&c->net, proxy, "net");
    if (c->net.n != json_array_size(jx_arr(proxy, "net")))
        return err_set(err, ERR_FORMAT, "keep.json: 'net' holds something else than text");
    return load_int(&c->net_deadline_ms, proxy, "deadline_ms", KEEP_NET_DEADLINE_MS, INT64_MAX / 2,
                    err) &&
           (net_add_listed(&c->policy, &c->net, err) || err_prefix(err, "keep.json"));
}

static bool load_models(struct keep_config *c, const json_t *j, struct err *err)
{
    const json_t *models = jx_arr(j, "models"), *model;
    size_t i;
    json_array_foreach(models, i, model)
    {
        int64_t port = jx_int(model, "inside", 0);
        if (port < 1 || port > UINT16_MAX || !jx_str(model, "host", NULL))
            return err_set(err, ERR_FORMAT, "keep.json: one of 'models' names no port and host");
    }
    c->models = models ? json_deep_copy(models) : json_array();
    return true;
}

static bool load_plan(struct keep_config *c, int dirfd, const json_t *j, struct err *err)
{
    const char *name = jx_str(j, "plan", "plan");
    if (!text_is_name(name, 64))
        return err_set(err, ERR_FORMAT, "keep.json has no good 'plan'");
    c->plan_name = xstrdup(name);
    return fs_read_file(&c->plan, dirfd, name, KEEP_PLAN_BYTES, err) ||
           err_prefix(err, "cannot read the box plan");
}

static bool load_all(struct keep_config *c, int dirfd, const json_t *j, struct err *err)
{
    if (jx_int(j, "v", 0) != KEEP_CONFIG_VERSION)
        return err_set(err, ERR_FORMAT, "keep.json is of another version");
    c->remotes = json_incref(jx_arr(jx_obj(j, "broker"), "remotes"));
    return load_texts(c, j, err) && load_numbers(c, j, err) && load_services(c, j, err) &&
           load_exec(c, j, err) && policy_from_json(&c->policy, jx_obj(j, "policy"), err) &&
           load_proxy(c, j, err) && load_models(c, j, err) && load_plan(c, dirfd, j, err);
}

bool keep_config_load(struct keep_config *ret, int dirfd, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_JSON json_t *j = NULL;
    struct keep_config c = KEEP_CONFIG_INIT;
    if (!fs_read_file(&text, dirfd, "keep.json", LIMIT_LINE_BYTES, err))
        return err_prefix(err, "cannot read keep.json");
    if (!jx_parse(&j, text.ptr, text.len, err))
        return err_prefix(err, "keep.json");
    if (!load_all(&c, dirfd, j, err)) {
        keep_config_release(&c);
        return false;
    }
    *ret = c;
    return true;
}

void keep_config_release(struct keep_config *c)
{
    free(c->attempt);
    free(c->agent);
    free(c->socket);
    free(c->gate_socket);
    free(c->worktree);
    free(c->home);
    free(c->path);
    free(c->guard);
    free(c->output);
    free(c->task);
    free(c->services);
    release_forms(&c->exec_calls);
    release_forms(&c->exec_helpers);
    release_forms(&c->exec_selves);
    strv_release(&c->net);
    buf_release(&c->plan);
    free(c->plan_name);
    json_decref(c->models);
    json_decref(c->remotes);
    policy_release(&c->policy);
}
