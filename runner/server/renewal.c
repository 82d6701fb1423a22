#include "runner/server/renewal.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/digest.h"
#include "runner/base/proc.h"
#include "runner/server/idle.h"
#include "runner/server/link.h"
#include "runner/store/attempt_row.h"

enum {
    PROGRAM_MS = 120 * 1000,
    ANSWER_BYTES = 64 * 1024,
    MARGIN_MS = 10 * 60 * 1000, /* as the relays' */
    PAUSE_MS = 5000,            /* after an issuer that did not answer */
    FRESH_MS = 60 * 1000,       /* a token that is refused so soon is not cured by another one */
    PERSON_MS =
        1000, /* after a login that the person has to make anew: looked for a second later */
};

struct waiter {
    char *attempt;
    int64_t model;
    char *refused; /* digest; NULL: none */
};

struct renewal {
    struct renewal *next;
    struct server *server;
    char *agent, *file;
    struct waiter *waiters;
    size_t n_waiters;
    char *spent;       /* digest of a refresh token that is of no use; NULL: none */
    int64_t margin_ms; /* half of what its tokens live for, at most MARGIN_MS */
    json_t *failure; /* the last answer, where it was none; given to who asks in the next moment */
    int64_t failed_ms;            /* when that was */
    char newest[DIGEST_HEX_SIZE]; /* of the token that was renewed last; "": none */
    int64_t newest_ms;            /* when that was */
    char *logged;                 /* the last trouble in the log, until it is over; NULL: none */
    bool is_asking;
    uv_work_t req; /* while is_asking; so are the next four */
    json_t *want;
    json_t *answer; /* NULL: err says why */
    struct err err;
};

static void waiter_release(struct waiter *w)
{
    free(w->attempt);
    free(w->refused);
}

static struct renewal *find(struct server *s, const char *agent, const char *file)
{
    for (struct renewal *r = s->renewals; r; r = r->next)
        if (strcmp(r->file, file) == 0 && strcmp(r->agent, agent) == 0)
            return r;
    struct renewal *r = xcalloc(1, sizeof(*r));
    *r = (struct renewal){.next = s->renewals,
                          .server = s,
                          .agent = xstrdup(agent),
                          .file = xstrdup(file),
                          .margin_ms = MARGIN_MS};
    return s->renewals = r;
}

/* ---- on a worker ---- */

static bool run_program(struct renewal *r, struct err *err)
{
    AUTO_FREE char *program = paths_program("headgate-login", err);
    AUTO_STRV struct strv argv = STRV_INIT, env = STRV_INIT;
    AUTO_BUF struct buf input = BUF_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    if (!program)
        return false;
    strv_push(&argv, program);
    strv_push(&env, "LC_ALL=C.UTF-8");
    jx_dump(&input, r->want);
    const struct proc_cmd cmd = {.argv = &argv,
                                 .env = &env,
                                 .cwd = "/",
                                 .input = input.ptr,
                                 .input_len = input.len,
                                 .max_output_bytes = ANSWER_BYTES,
                                 .timeout_ms = PROGRAM_MS,
                                 .new_session = true};
    bool ok = proc_run(&result, &cmd, err);
    if (ok && result.status != 0)
        ok = err_set(err, ERR_INTERNAL, "headgate-login ended with status %d: %s", result.status,
                     result.errout.ptr);
    ok = ok && jx_parse(&r->answer, result.out.ptr, result.out.len, err);
    explicit_bzero(result.out.ptr, result.out.len);
    return ok;
}

static void on_work(uv_work_t *req)
{
    struct renewal *r = req->data;
    bool ok = run_program(r, &r->err);
    (void)ok; /* answer tells */
}

/* ---- on the loop ---- */

static void tell(struct renewal *r, const struct waiter *w, const json_t *answer)
{
    struct live *live = live_find(r->server, w->attempt);
    AUTO_JSON json_t *message = json_copy((json_t *)(uintptr_t)answer);
    jx_set_int(message, "model", w->model);
    json_object_del(message, "spent");
    if (live)
        link_tell_token(live, message);
}

static bool is_refused(const struct waiter *w, const json_t *answer)
{
    char hex[DIGEST_HEX_SIZE];
    const char *token = jx_str(answer, "token", NULL);
    if (!w->refused || !token)
        return false;
    digest_bytes(hex, token, strlen(token));
    return strcmp(hex, w->refused) == 0;
}

/* Those to whom the answer is one; the others wait for the next. */
static void tell_all(struct renewal *r, const json_t *answer)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_waiters; i++) {
        if (is_refused(&r->waiters[i], answer)) {
            r->waiters[n++] = r->waiters[i];
            continue;
        }
        tell(r, &r->waiters[i], answer);
        waiter_release(&r->waiters[i]);
    }
    r->n_waiters = n;
}

static void note(struct renewal *r, const json_t *answer)
{
    const char *failed = jx_str(answer, "failed", jx_str(answer, "trouble", NULL)),
               *spent = jx_str(answer, "spent", NULL);
    int64_t left_ms = jx_int(answer, "expires_ms", 0) - clock_unix_ms();
    bool is_renewed = jx_bool(answer, "renewed", false);
    if (failed && (!r->logged || strcmp(r->logged, failed) != 0))
        server_log("%s", failed);
    else if (is_renewed)
        server_log("the login of %s in %s was renewed", r->agent, r->file);
    free(r->logged);
    r->logged = failed ? xstrdup(failed) : NULL;
    if (is_renewed) {
        const char *token = jx_str(answer, "token", "");
        digest_bytes(r->newest, token, strlen(token));
        r->newest_ms = clock_mono_ms();
    }
    if (is_renewed && left_ms > 0)
        r->margin_ms = left_ms / 2 < MARGIN_MS ? left_ms / 2 : MARGIN_MS;
    free(r->spent);
    r->spent = spent ? xstrdup(spent) : NULL;
    json_decref(r->failure);
    r->failure = NULL;
    if (jx_str(answer, "failed", NULL)) {
        r->failure = json_copy((json_t *)(uintptr_t)answer);
        r->failed_ms = clock_mono_ms();
    }
}

static void ask_next(struct renewal *r);

static void on_worked(uv_work_t *req, int status)
{
    struct renewal *r = req->data;
    struct server *s = r->server;
    AUTO_JSON json_t *answer = steal_json(&r->answer);
    (void)status; /* never cancelled */
    s->works_running--;
    r->is_asking = false;
    json_decref(r->want);
    r->want = NULL;
    if (!answer)
        answer = json_pack("{s:s}", "failed", r->err.text);
    note(r, answer);
    tell_all(r, answer);
    ask_next(r);
    idle_touch(s);
}

static json_t *want_of(const struct renewal *r, const char *refused)
{
    const struct config *config = r->server->config;
    AUTO_FREE char *issuer = xasprintf("agent.%s.issuer", r->agent);
    AUTO_FREE char *ca = xasprintf("agent.%s.ca", r->agent);
    bool is_fresh = r->newest[0] && clock_mono_ms() - r->newest_ms < FRESH_MS;
    json_t *want = json_object();
    jx_set_str(want, "agent", r->agent);
    jx_set_str(want, "file", r->file);
    jx_set_str(want, "issuer", config_str(config, issuer, NULL));
    jx_set_str(want, "ca", config_str(config, ca, NULL));
    jx_set_str(want, "refused", refused);
    jx_set_str(want, "spent", r->spent);
    jx_set_str(want, "fresh", is_fresh ? r->newest : NULL);
    jx_set_int(want, "margin_ms", r->margin_ms);
    return want;
}

static void ask_next(struct renewal *r)
{
    if (r->is_asking || r->n_waiters == 0 || r->server->is_stopping)
        return;
    int64_t pause_ms = jx_bool(r->failure, "again", false) ? PERSON_MS : PAUSE_MS;
    if (r->failure && clock_mono_ms() - r->failed_ms < pause_ms) {
        tell_all(r, r->failure);
        return;
    }
    r->want = want_of(r, r->waiters[0].refused);
    r->err = (struct err)ERR_INIT;
    r->req.data = r;
    r->is_asking = true;
    r->server->works_running++;
    uv_queue_work(&r->server->loop, &r->req, on_work, on_worked);
}

static struct waiter *waiter_of(struct renewal *r, const char *attempt, int64_t model)
{
    for (size_t i = 0; i < r->n_waiters; i++)
        if (r->waiters[i].model == model && strcmp(r->waiters[i].attempt, attempt) == 0)
            return &r->waiters[i];
    r->waiters = xreallocarray(r->waiters, r->n_waiters + 1, sizeof(*r->waiters));
    struct waiter *w = &r->waiters[r->n_waiters++];
    *w = (struct waiter){.attempt = xstrdup(attempt), .model = model};
    return w;
}

void renewal_ask(struct live *live, const json_t *question)
{
    struct server *s = live->server;
    struct err err = ERR_INIT;
    struct attempt_spec spec;
    int64_t model = jx_int(question, "model", -1);
    const char *refused = jx_str(question, "refused", NULL);
    if (!attempt_row_spec(&spec, s->db, live->id, &err)) {
        server_log("attempt %s: %s", live->id, err.text);
        return;
    }
    if (model >= 0 && (size_t)model < spec.models.n && spec.models.v[model].login) {
        struct renewal *r = find(s, spec.agent, spec.models.v[model].login);
        struct waiter *w = waiter_of(r, live->id, model);
        free(w->refused);
        w->refused = refused ? xstrdup(refused) : NULL;
        ask_next(r);
    }
    attempt_spec_release(&spec);
}

void renewal_release(struct server *s)
{
    while (s->renewals) {
        struct renewal *r = s->renewals;
        s->renewals = r->next;
        for (size_t i = 0; i < r->n_waiters; i++)
            waiter_release(&r->waiters[i]);
        json_decref(r->failure);
        json_decref(r->answer);
        json_decref(r->want);
        free(r->waiters);
        free(r->spent);
        free(r->logged);
        free(r->agent);
        free(r->file);
        free(r);
    }
}
