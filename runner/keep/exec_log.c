#include "runner/keep/exec_log.h"

#include <stdlib.h>
#include <string.h>
#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

enum { EXEC_LOG_EVERY_MS = 2000 };

struct exec_log_program {
    char *path;
    int64_t n, first_ms;
    json_t *who; /* started it first; NULL: not known, or told */
};

void exec_log_init(struct exec_log *log, uv_loop_t *loop, struct records *records)
{
    *log = (struct exec_log){.records = records};
    uv_timer_init(loop, &log->timer);
    log->timer.data = log;
    uv_unref((uv_handle_t *)&log->timer);
}

/* Programs from number `first` on. */
static json_t *programs_json(const struct exec_log *log, size_t first, bool has_counts)
{
    json_t *list = json_array();
    for (size_t i = first; i < log->n; i++) {
        json_t *program = json_object();
        jx_set_str(program, "path", log->all[i].path);
        if (has_counts)
            jx_set_int(program, "n", log->all[i].n);
        else
            jx_set_int(program, "at_ms", log->all[i].first_ms);
        if (log->all[i].who && !has_counts)
            json_object_update(program, log->all[i].who);
        json_array_append_new(list, program);
    }
    return list;
}

static void on_timer(uv_timer_t *timer)
{
    struct exec_log *log = timer->data;
    struct err err = ERR_INIT;
    json_t *body = json_object();
    jx_set_int(body, "total", log->n_execs);
    jx_set(body, "new", programs_json(log, log->n_told, false));
    if (records_add(log->records, "execs", body, &err))
        log->n_told = log->n;
}

bool exec_log_add(struct exec_log *log, const char *program)
{
    log->n_execs++;
    for (size_t i = 0; i < log->n; i++)
        if (strcmp(log->all[i].path, program) == 0) {
            log->all[i].n++;
            return false;
        }
    if (log->n == EXEC_LOG_PROGRAMS) {
        log->n_others++;
        return false;
    }
    if (!log->all)
        log->all = xcalloc(EXEC_LOG_PROGRAMS, sizeof *log->all);
    log->all[log->n++] =
        (struct exec_log_program){.path = xstrdup(program), .n = 1, .first_ms = clock_unix_ms()};
    if (!uv_is_active((uv_handle_t *)&log->timer))
        uv_timer_start(&log->timer, on_timer, EXEC_LOG_EVERY_MS, 0);
    return true;
}

void exec_log_tell(struct exec_log *log, json_t *who)
{
    json_t **at = &log->all[log->n - 1].who;
    json_decref(*at);
    *at = who;
}

void exec_log_finish(struct exec_log *log, const char *policy)
{
    struct err err = ERR_INIT;
    if (log->n_execs + log->n_denied == 0)
        return;
    json_t *body = json_object();
    jx_set_str(body, "policy", policy);
    jx_set_int(body, "total", log->n_execs);
    jx_set_int(body, "denied", log->n_denied);
    jx_set_int(body, "raced", log->n_raced);
    jx_set_int(body, "unverified", log->n_unverified);
    jx_set_int(body, "others", log->n_others);
    jx_set(body, "new", programs_json(log, log->n_told, false));
    jx_set(body, "programs", programs_json(log, 0, true));
    bool is_kept = records_add(log->records, "execs", body, &err);
    (void)is_kept; /* as a note: never worth a failure */
}

void exec_log_close(struct exec_log *log)
{
    if (!uv_is_closing((uv_handle_t *)&log->timer))
        uv_close((uv_handle_t *)&log->timer, NULL);
}

void exec_log_release(struct exec_log *log)
{
    for (size_t i = 0; i < log->n; i++) {
        free(log->all[i].path);
        json_decref(log->all[i].who);
    }
    free(log->all);
    log->all = NULL;
    log->n = 0;
}
