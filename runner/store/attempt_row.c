#include "runner/store/attempt_row.h"

#include <stdlib.h>
#include <string.h>

#include "runner/agents/pulse.h"
#include "runner/base/mem.h"
#include "runner/store/comment_row.h"
#include "runner/store/message_row.h"

void attempt_row_release(struct attempt_row *row)
{
    char *const owned[] = {
        row->id,           row->title,       row->task,          row->agent,  row->branch,
        row->subdir,       row->engine,      row->tree,          row->tip,    row->note,
        row->engine_why,   row->snapshot,    row->review,        row->layers, row->last_line,
        row->error,        row->merged_into, row->merged_commit, row->repo,   row->base,
        row->base_ref,     row->ladder,      row->into,          row->common, row->pulse,
        row->pulse_before,
    };
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    *row = (struct attempt_row)ATTEMPT_ROW_INIT;
}

void attempt_row_set(char **member, const char *value)
{
    char *copy = value ? xstrdup(value) : NULL;
    free(*member);
    *member = copy;
}

void attempt_row_begin_pulse(struct attempt_row *row)
{
    attempt_row_set(&row->pulse_before, row->pulse);
}

bool attempt_row_set_pulse(struct attempt_row *row, const json_t *pulse)
{
    struct err ignored = ERR_INIT;
    AUTO_JSON json_t *before = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    if (!jx_obj(pulse, "tokens"))
        return false;
    if (row->pulse_before &&
        !jx_parse(&before, row->pulse_before, strlen(row->pulse_before), &ignored))
        before = NULL;
    AUTO_JSON json_t *sum = pulse_json_sum(before, pulse);
    jx_dump(&text, sum);
    attempt_row_set(&row->pulse, text.ptr);
    return true;
}

/* The text of a spec without what is stored beside it. */
static void spec_text(struct buf *out, const struct attempt_spec *spec)
{
    struct attempt_spec bare = *spec; /* borrows; never released */
    char empty[1] = "";
    bare.env = (struct strv)STRV_INIT;
    bare.prompt = empty;
    AUTO_JSON json_t *j = attempt_spec_json(&bare);
    jx_dump(out, j);
}

static void env_text(struct buf *out, const struct strv *env)
{
    AUTO_JSON json_t *list = jx_from_strv(env);
    jx_dump(out, list);
}

bool attempt_row_insert(struct db *db, const struct attempt_spec *spec, const char *title,
                        int64_t at_ms, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    spec_text(&text, spec);
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "INSERT INTO attempt (id, run, n, state, title, task, spec, agent, branch, subdir,"
                 " interactive, created_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 err))
        return false;
    db_bind_text(s, 1, spec->id);
    db_bind_int(s, 2, spec->run);
    db_bind_int(s, 3, spec->n);
    db_bind_text(s, 4, attempt_state_name(ATTEMPT_QUEUED));
    db_bind_text(s, 5, title);
    db_bind_text(s, 6, spec->prompt ? spec->prompt : "");
    db_bind_text(s, 7, text.ptr);
    db_bind_text(s, 8, spec->agent);
    db_bind_text(s, 9, spec->branch);
    db_bind_text(s, 10, spec->subdir ? spec->subdir : "");
    db_bind_int(s, 11, spec->interactive);
    db_bind_int(s, 12, at_ms);
    return db_run(s, err);
}

static char *column_text(struct db_stmt *s, int index)
{
    const char *text = db_col_text(s, index);
    return text ? xstrdup(text) : NULL;
}

static void read_place(struct attempt_row *row, struct db_stmt *s)
{
    row->engine = column_text(s, 11);
    row->engine_why = column_text(s, 12);
    row->tree = column_text(s, 13);
    row->tip = column_text(s, 14);
    row->snapshot = column_text(s, 15);
    row->commits = db_col_int(s, 16);
    row->files = db_col_int(s, 17);
    row->note = column_text(s, 18);
    row->review = column_text(s, 19);
    row->layers = column_text(s, 20);
}

static void read_course(struct attempt_row *row, struct db_stmt *s)
{
    row->last_line = column_text(s, 21);
    row->exit_status = db_col_text(s, 22) ? db_col_int(s, 22) : -1;
    row->error = column_text(s, 23);
    row->started_ms = db_col_int(s, 24);
    row->ended_ms = db_col_int(s, 25);
    row->keeper.pid = (pid_t)db_col_int(s, 26);
    row->keeper.start_ticks = (uint64_t)db_col_int(s, 27);
    const char *boot = db_col_str(s, 28);
    size_t len = strnlen(boot, sizeof(row->keeper.boot_id) - 1);
    memcpy(row->keeper.boot_id, boot, len);
    row->keeper.boot_id[len] = '\0';
    row->spool_seq = db_col_int(s, 29);
    row->merged_into = column_text(s, 30);
    row->merged_commit = column_text(s, 31);
    row->repo = column_text(s, 32);
    row->base = column_text(s, 33);
    row->base_ref = column_text(s, 34);
    row->ladder = column_text(s, 35);
    row->into = column_text(s, 36);
    row->is_base_wip = db_col_int(s, 37) != 0;
    row->common = column_text(s, 38);
    row->pulse = column_text(s, 39);
    row->pulse_before = column_text(s, 40);
}

bool attempt_row_get(struct attempt_row *ret, struct db *db, const char *id, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(
            &s, db,
            "SELECT run, a.n, title, task, a.agent, branch, subdir, a.created_ms, state, outcome,"
            " interactive, engine, engine_why, tree, tip, snapshot, commits, files, note,"
            " review, layers, last_line, exit_status, error, started_ms, ended_ms,"
            " keeper_pid, keeper_ticks, keeper_boot, spool_seq, merged_into, merged_commit,"
            " path, base, base_ref,"
            " coalesce((SELECT rung.ladder FROM rung WHERE rung.attempt = a.id), r.ladder),"
            " json_extract(a.spec, '$.into'), coalesce(json_extract(a.spec, '$.base_wip'), 0), "
            "r.repo,"
            " pulse, pulse_before"
            " FROM attempt a JOIN run r ON r.id = a.run WHERE a.id = ?",
            err))
        return false;
    db_bind_text(s, 1, id);
    if (!db_step(s, &have, err))
        return false;
    enum attempt_state state;
    if (!have || !attempt_state_parse(&state, db_col_str(s, 8))) {
        db_reset(s);
        return err_set(err, ERR_NOT_FOUND, "there is no attempt %s", id);
    }
    struct attempt_row row = {
        .id = xstrdup(id),
        .run = db_col_int(s, 0),
        .n = db_col_int(s, 1),
        .title = column_text(s, 2),
        .task = column_text(s, 3),
        .agent = column_text(s, 4),
        .branch = column_text(s, 5),
        .subdir = column_text(s, 6),
        .created_ms = db_col_int(s, 7),
        .state = state,
        .outcome = attempt_outcome_parse(db_col_text(s, 9)),
        .interactive = db_col_int(s, 10) != 0,
    };
    read_place(&row, s);
    read_course(&row, s);
    db_reset(s);
    *ret = row;
    return true;
}

/* What an event says of how the attempt ended, where no keeper said it. */
static enum attempt_outcome outcome_of_event(const struct attempt_row *row,
                                             enum attempt_event event)
{
    bool was_stopped = row->state == ATTEMPT_STOPPING || row->state == ATTEMPT_QUEUED;
    switch (event) {
    case ATTEMPT_EV_STOP:
    case ATTEMPT_EV_PREPARED:
    case ATTEMPT_EV_RECOVERED:
        return OUTCOME_STOPPED;
    case ATTEMPT_EV_PREPARE_FAILED:
    case ATTEMPT_EV_LAUNCH_FAILED:
        return was_stopped ? OUTCOME_STOPPED : OUTCOME_FAILED;
    case ATTEMPT_EV_GONE:
        return was_stopped ? OUTCOME_STOPPED : OUTCOME_LOST;
    case ATTEMPT_EV_START:
    case ATTEMPT_EV_LAUNCHED:
    case ATTEMPT_EV_STARTED:
    case ATTEMPT_EV_EXITED:
    case ATTEMPT_EV_HARVESTED:
    case ATTEMPT_EV_RESUME:
    case ATTEMPT_EVENT_COUNT:
        break;
    }
    return OUTCOME_FAILED;
}

static void forget_last_try(struct attempt_row *row)
{
    row->outcome = OUTCOME_NONE;
    row->exit_status = -1;
    row->started_ms = row->ended_ms = 0;
    row->keeper = (struct proc_id){0};
    attempt_row_set(&row->error, NULL);
    attempt_row_set(&row->note, NULL);
}

bool attempt_row_apply(struct attempt_row *row, enum attempt_event event, int64_t at_ms,
                       unsigned *ret_effects)
{
    struct lifecycle_step step;
    if (!lifecycle_next(&step, row->state, event))
        return false;
    if (event == ATTEMPT_EV_RESUME)
        forget_last_try(row);
    if (event == ATTEMPT_EV_STARTED && row->started_ms == 0)
        row->started_ms = at_ms;
    bool is_over = step.next == ATTEMPT_HARVESTING || step.next == ATTEMPT_DONE;
    if (is_over && row->outcome == OUTCOME_NONE)
        row->outcome = outcome_of_event(row, event);
    if (is_over && row->ended_ms == 0)
        row->ended_ms = at_ms;
    row->state = step.next;
    *ret_effects = step.effects;
    return true;
}

static void bind_course(struct db_stmt *s, const struct attempt_row *row)
{
    db_bind_text(s, 14, row->last_line);
    if (row->exit_status >= 0)
        db_bind_int(s, 15, row->exit_status);
    db_bind_text(s, 16, row->error);
    db_bind_int(s, 17, row->started_ms);
    db_bind_int(s, 18, row->ended_ms);
    db_bind_int(s, 19, row->keeper.pid);
    db_bind_int(s, 20, (int64_t)row->keeper.start_ticks);
    db_bind_text(s, 21, row->keeper.boot_id);
    db_bind_int(s, 22, row->spool_seq);
    db_bind_text(s, 23, row->merged_into);
    db_bind_text(s, 24, row->merged_commit);
    db_bind_text(s, 25, row->pulse);
    db_bind_text(s, 26, row->pulse_before);
}

bool attempt_row_save(struct db *db, const struct attempt_row *row, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "UPDATE attempt SET state = ?1, outcome = ?2, interactive = ?3, engine = ?4,"
                 " engine_why = ?5, tree = ?6, tip = ?7, snapshot = ?8, commits = ?9, files = ?10,"
                 " note = ?11, review = ?12, layers = ?13, last_line = ?14, exit_status = ?15,"
                 " error = ?16, started_ms = ?17, ended_ms = ?18, keeper_pid = ?19,"
                 " keeper_ticks = ?20, keeper_boot = ?21, spool_seq = ?22, merged_into = ?23,"
                 " merged_commit = ?24, pulse = ?25, pulse_before = ?26 WHERE id = ?27",
                 err))
        return false;
    db_bind_text(s, 1, attempt_state_name(row->state));
    db_bind_text(s, 2, attempt_outcome_name(row->outcome));
    db_bind_int(s, 3, row->interactive);
    db_bind_text(s, 4, row->engine);
    db_bind_text(s, 5, row->engine_why);
    db_bind_text(s, 6, row->tree);
    db_bind_text(s, 7, row->tip);
    db_bind_text(s, 8, row->snapshot);
    db_bind_int(s, 9, row->commits);
    db_bind_int(s, 10, row->files);
    db_bind_text(s, 11, row->note);
    db_bind_text(s, 12, row->review);
    db_bind_text(s, 13, row->layers);
    bind_course(s, row);
    db_bind_text(s, 27, row->id);
    if (!db_run(s, err))
        return false;
    return db_changes(db) == 1 || err_set(err, ERR_NOT_FOUND, "there is no attempt %s", row->id);
}

bool attempt_row_remove(struct db *db, const char *id, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "DELETE FROM attempt WHERE id = ?", err))
        return false;
    db_bind_text(s, 1, id);
    return db_run(s, err) && comment_row_remove_all(db, id, err) &&
           message_row_remove_all(db, id, err);
}

/* Put back what spec_text left out. */
static bool complete_spec(struct attempt_spec *spec, const char *task, const char *env,
                          const char *ladder, struct err *err)
{
    AUTO_JSON json_t *wrap = json_object();
    json_t *list;
    if (!ladder_parse(&spec->ladder, ladder, err) || !jx_parse(&list, env, strlen(env), err))
        return false;
    jx_set(wrap, "env", list);
    jx_strv(&spec->env, wrap, "env");
    attempt_row_set(&spec->prompt, task);
    return true;
}

bool attempt_row_spec(struct attempt_spec *ret, struct db *db, const char *id, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT a.spec, a.task, coalesce(a.env, r.env),"
                 " coalesce((SELECT rung.ladder FROM rung WHERE rung.attempt = a.id), r.ladder)"
                 " FROM attempt a JOIN run r ON r.id = a.run WHERE a.id = ?",
                 err))
        return false;
    db_bind_text(s, 1, id);
    if (!db_step(s, &have, err))
        return false;
    if (!have) {
        db_reset(s);
        return err_set(err, ERR_NOT_FOUND, "there is no attempt %s", id);
    }
    struct attempt_spec spec = ATTEMPT_SPEC_INIT;
    json_t *parsed = NULL;
    bool ok = jx_parse(&parsed, db_col_str(s, 0), strlen(db_col_str(s, 0)), err) &&
              attempt_spec_parse(&spec, parsed, err) &&
              complete_spec(&spec, db_col_str(s, 1), db_col_str(s, 2), db_col_str(s, 3), err);
    json_decref(parsed);
    db_reset(s);
    if (!ok) {
        attempt_spec_release(&spec);
        return err_prefix(err, "the stored attempt %s", id);
    }
    *ret = spec;
    return true;
}

bool attempt_row_save_spec(struct db *db, const struct attempt_spec *spec, const struct strv *env,
                           struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_BUF struct buf env_json = BUF_INIT;
    spec_text(&text, spec);
    if (env)
        env_text(&env_json, env);
    struct db_stmt *s;
    if (!db_stmt(&s, db, "UPDATE attempt SET spec = ?1, interactive = ?2, env = ?3 WHERE id = ?4",
                 err))
        return false;
    db_bind_text(s, 1, text.ptr);
    db_bind_int(s, 2, spec->interactive);
    db_bind_text(s, 3, env ? env_json.ptr : NULL);
    db_bind_text(s, 4, spec->id);
    return db_run(s, err);
}

/* One literal each, since a statement is cached under its address. */
static bool ids_statement(struct db_stmt **ret, struct db *db, enum attempt_which which,
                          struct err *err)
{
    switch (which) {
    case ATTEMPTS_ALL:
        return db_stmt(ret, db,
                       "SELECT id FROM attempt WHERE ?1 = 0 OR run = ?1"
                       " ORDER BY state = 'done', run DESC, n LIMIT ?2",
                       err);
    case ATTEMPTS_OPEN:
        return db_stmt(ret, db,
                       "SELECT id FROM attempt WHERE state <> 'done' AND (?1 = 0 OR run = ?1)"
                       " ORDER BY run, n LIMIT ?2",
                       err);
    case ATTEMPTS_QUEUED:
        return db_stmt(ret, db,
                       "SELECT id FROM attempt WHERE state <> 'done' AND state = 'queued'"
                       " AND (?1 = 0 OR run = ?1) ORDER BY run, n LIMIT ?2",
                       err);
    case ATTEMPTS_DONE:
        return db_stmt(ret, db,
                       "SELECT id FROM attempt WHERE state = 'done' AND (?1 = 0 OR run = ?1)"
                       " ORDER BY run, n LIMIT ?2",
                       err);
    }
    return err_set(err, ERR_INTERNAL, "an unknown selection of attempts");
}

static bool collect(struct strv *ret, struct db_stmt *s, struct err *err)
{
    bool have;
    while (db_step(s, &have, err)) {
        if (!have) {
            db_reset(s);
            return true;
        }
        strv_push(ret, db_col_str(s, 0));
    }
    return false;
}

bool attempt_row_ids(struct strv *ret, struct db *db, enum attempt_which which, int64_t run,
                     int64_t limit, struct err *err)
{
    struct db_stmt *s;
    if (!ids_statement(&s, db, which, err))
        return false;
    db_bind_int(s, 1, run);
    db_bind_int(s, 2, limit);
    return collect(ret, s, err);
}

static bool ids_with_prefix(struct strv *ret, struct db *db, const char *prefix, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "SELECT id FROM attempt WHERE substr(id, 1, length(?1)) = ?1"
                 " ORDER BY run, n",
                 err))
        return false;
    db_bind_text(s, 1, prefix);
    return collect(ret, s, err);
}

bool attempt_row_resolve(struct strv *ret, struct db *db, const char *word, struct err *err)
{
    AUTO_STRV struct strv found = STRV_INIT;
    AUTO_FREE char *as_run = xasprintf("%s%s", word, strchr(word, '.') ? "" : ".");
    if (!word[0] || word[0] == '.')
        return err_set(err, ERR_USAGE,
                       "'%s' is not an attempt; give RUN.N, or RUN for all of its attempts", word);
    if (!ids_with_prefix(&found, db, as_run, err))
        return false;
    if (strchr(word, '.') && strv_has(&found, word)) {
        strv_push(ret, word);
        return true;
    }
    if (!strchr(word, '.') && found.n > 0) { /* a run: all of its attempts */
        strv_push_all(ret, strv_array(&found));
        return true;
    }
    if (found.n == 0 && !ids_with_prefix(&found, db, word, err))
        return false;
    if (found.n == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no attempt '%s'; 'headgate ls' lists them",
                       word);
    if (found.n > 1)
        return err_set(err, ERR_USAGE, "'%s' could be %s, %s%s; give more of it", word, found.v[0],
                       found.v[1], found.n > 2 ? " or others" : "");
    strv_push(ret, found.v[0]);
    return true;
}
