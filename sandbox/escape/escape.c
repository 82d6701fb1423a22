#include "sandbox/escape/escape.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "sandbox/profile.h"

enum { TRY_TIMEOUT_MS = 15000, MEMORY_BYTES = 192 * 1024 * 1024, PIDS = 64, OPEN_FILES = 256 };

char *escape_fill(const struct escape_scene *scene, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT;
    while (*text) {
        size_t plain = strcspn(text, "{");
        buf_add(&out, text, plain);
        text += plain;
        size_t len = strcspn(text, "}");
        if (!*text || !text[len])
            break;
        AUTO_FREE char *name = xstrndup(text + 1, len - 1);
        const char *value = strv_env_get(&scene->values, name);
        buf_adds(&out, value ? value : name);
        text += len + 1;
    }
    return buf_steal(&out);
}

bool escape_spec(struct box_spec *ret, struct escape_try *t, struct err *err)
{
    const struct escape_scene *s = t->scene;
    box_spec_init(ret);
    ret->uid = s->uid;
    ret->gid = s->gid;
    ret->without = t->without;
    ret->cwd = xstrdup("/");
    ret->hostname = xstrdup("headgate-escape");
    ret->limits = (struct box_limits){.memory_bytes = MEMORY_BYTES,
                                      .pids = PIDS,
                                      .open_files = OPEN_FILES,
                                      .tmp_bytes = MEMORY_BYTES / 16};
    profile_env_filter(&ret->env, &s->env);
    box_spec_bind(ret, s->launcher, ESCAPE_INSIDE, 0);
    box_spec_bind(ret, s->work, s->work, BOX_BIND_WRITE);
    box_spec_bind(ret, s->shown, s->shown, 0);
    const char *bin = strv_env_get(&s->values, "bin");
    box_spec_bind(ret, bin, bin, 0);
    return !t->row->box || t->row->box(t, ret, err);
}

static char *take_outcome(struct proc_result *result)
{
    buf_rtrim(&result->out);
    if (result->out.len == 0 && result->status >= 128)
        return xasprintf("SIG%s", sigabbrev_np(result->status - 128));
    return buf_steal(&result->out);
}

bool escape_in_box(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    AUTO_FREE char *word = escape_fill(t->scene, t->row->word);
    const struct proc_cmd cmd = {.timeout_ms = TRY_TIMEOUT_MS};
    if (!escape_spec(&spec, t, err))
        return false;
    bool has_root = !(t->without & ESCAPE_BIT(LAYER_MOUNT));
    strv_push(&spec.argv, has_root ? ESCAPE_INSIDE : t->scene->launcher);
    strv_push(&spec.argv, "--probe");
    strv_push(&spec.argv, word);
    if (!box_run(&result, &t->scene->report, t->scene->launcher, &spec, &cmd, err))
        return false;
    *ret_outcome = take_outcome(&result);
    return true;
}

bool escape_on_host(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_FREE char *word = escape_fill(t->scene, t->row->word);
    const struct proc_cmd cmd = {
        .argv = &argv, .env = &t->scene->env, .cwd = "/", .timeout_ms = TRY_TIMEOUT_MS};
    strv_push(&argv, t->scene->launcher);
    strv_push(&argv, "--probe");
    strv_pushf(&argv, "as:%u:%u", t->scene->uid, t->scene->gid);
    strv_push(&argv, word);
    if (!proc_run(&result, &cmd, err))
        return false;
    *ret_outcome = take_outcome(&result);
    return true;
}

bool escape_plain(struct escape_try *t, char **ret_outcome, struct err *err)
{
    return t->on_host ? escape_on_host(t, ret_outcome, err) : escape_in_box(t, ret_outcome, err);
}

/* The outcome of a try; that of one that came through quietly names what changed outside. NULL with
 * err filled when it could not be made. */
static char *make_try(struct escape_try *t, struct err *err)
{
    AUTO_FREE char *outcome = NULL;
    escape_stage_fn stage = t->row->stage ? t->row->stage : escape_plain;
    if (!stage(t, &outcome, err))
        return NULL;
    AUTO_FREE char *changed = escape_scene_changed(t->scene);
    t->has_changed = changed != NULL;
    if (changed) {
        struct err ignored = ERR_INIT;
        char *told = xasprintf("%s, and changed %s", outcome, changed);
        free(outcome);
        outcome = told;
        if (!escape_scene_reset(t->scene, &ignored))
            *err = ignored;
    }
    return steal_ptr(&outcome);
}

static bool is_held(const struct escape_row *row, const struct escape_scene *scene,
                    const char *outcome)
{
    AUTO_FREE char *held = escape_fill(scene, row->held);
    AUTO_STRV struct strv words = STRV_INIT;
    strv_split(&words, held, ' ', false);
    return strcmp(held, outcome) == 0 || strv_has(&words, outcome);
}

/* A refusal of another kind is one too, and a script that did not work proves nothing. */
static bool is_refusal(const char *outcome)
{
    return strcmp(outcome, "ECANCELED") == 0 || strcmp(outcome, "EPERM") == 0 ||
           strcmp(outcome, "EACCES") == 0 || strcmp(outcome, "EROFS") == 0;
}

/* What the control says about the attempt; *ret_proven when it came out otherwise. Allocated. */
static char *control(char **ret_got, bool *ret_proven, const struct escape_row *row,
                     struct escape_scene *scene)
{
    struct err err = ERR_INIT;
    struct escape_try t = {.row = row, .scene = scene, .is_control = true};
    t.on_host = row->control == ESCAPE_ON_HOST;
    t.without = row->base | row->also | (row->wall ? 0 : ESCAPE_BIT(row->layer));
    if (row->control == ESCAPE_NONE)
        return xasprintf("not possible here: %s", row->why);
    char *got = make_try(&t, &err);
    if (!got)
        return xasprintf("not possible here: %s", err.text);
    *ret_got = got;
    if (is_held(row, scene, got) || is_refusal(got))
        return xasprintf("not possible here: the kernel answers %s by itself", got);
    *ret_proven = true;
    return xstrdup("escapes");
}

/* The layer is known not to be whole here. */
static bool is_layer_degraded(const struct escape_row *row, const struct escape_scene *scene)
{
    return !row->wall && scene->report.layer[row->layer].state != LAYER_ACTIVE;
}

static const char *judge(const struct escape_try *t, const char *got)
{
    if (!got)
        return "failed";
    if (strncmp(got, ESCAPE_UNTRIED, strlen(ESCAPE_UNTRIED)) == 0)
        return "untried";
    if (is_held(t->row, t->scene, got))
        return "contained";
    return !t->has_changed && is_layer_degraded(t->row, t->scene) ? "degraded" : "escaped";
}

/* Why an attempt came through. Allocated, in place of got. */
static char *explain(const struct escape_row *row, const struct escape_scene *scene, char *got)
{
    const struct layer_status *layer = &scene->report.layer[row->layer];
    char *told = xasprintf("%s; %s is %s: %s", got, layer_name(row->layer),
                           layer_state_name(layer->state), layer->reason);
    free(got);
    return told;
}

static bool run_row(json_t *attempts, const struct escape_row *row, struct escape_scene *scene)
{
    struct err err = ERR_INIT;
    struct escape_try t = {.row = row, .scene = scene, .without = row->base};
    bool is_proven = false;
    AUTO_FREE char *control_got = NULL;
    AUTO_FREE char *got = make_try(&t, &err);
    const char *result = judge(&t, got);
    bool is_untried = strcmp(result, "untried") == 0;
    if (strcmp(result, "degraded") == 0)
        got = explain(row, scene, got);
    AUTO_FREE char *said = is_untried ? xstrdup("not possible here: the attempt is not either")
                                      : control(&control_got, &is_proven, row, scene);
    json_t *attempt = json_object();
    jx_set_str(attempt, "id", row->id);
    jx_set_str(attempt, "what", row->what);
    jx_set_str(attempt, "layer", row->wall ? row->wall : layer_name(row->layer));
    jx_set_str(attempt, "result", result);
    jx_set_str(attempt, "got", !got ? err.text : is_untried ? got + strlen(ESCAPE_UNTRIED) : got);
    jx_set_str(attempt, "control", said);
    jx_set_str(attempt, "control_got", control_got);
    jx_set_int(attempt, "tries", row->tries ? row->tries : 1);
    jx_set_bool(attempt, "proven", is_proven);
    json_array_append_new(attempts, attempt);
    return strcmp(result, "escaped") != 0 && strcmp(result, "failed") != 0;
}

/* "N01" means each of its letters. */
static bool is_chosen(const struct escape_row *row, const struct strv *only)
{
    size_t len = strlen(row->id);
    if (strv_has(only, row->id))
        return true;
    AUTO_FREE char *group = xstrndup(row->id, len - 1);
    return only->n == 0 ||
           (strcspn(row->id, "abcdefghijklmnopqrstuvwxyz") == len - 1 && strv_has(only, group));
}

bool escape_run(json_t *attempts, const struct escape_rows *rows, struct escape_scene *scene,
                const struct strv *only)
{
    bool all = true;
    for (size_t i = 0; i < rows->n; i++)
        if (is_chosen(&rows->row[i], only) && !run_row(attempts, &rows->row[i], scene))
            all = false;
    return all;
}

size_t escape_count(const struct escape_rows *rows, const struct strv *only)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++)
        n += is_chosen(&rows->row[i], only);
    return n;
}
