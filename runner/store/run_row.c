#include "runner/store/run_row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/store/store.h"

void run_row_release(struct run_row *run)
{
    free(run->path);
    free(run->repo);
    free(run->base);
    free(run->base_ref);
    free(run->agent);
    strv_release(&run->env);
    strv_release(&run->desktop);
    *run = (struct run_row)RUN_ROW_INIT;
}

bool run_row_insert(struct db *db, const struct run_row *run, struct err *err)
{
    AUTO_BUF struct buf env = BUF_INIT;
    AUTO_BUF struct buf desktop = BUF_INIT;
    jx_dump_strv(&env, &run->env);
    jx_dump_strv(&desktop, &run->desktop);
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "INSERT INTO run (id, path, repo, base, base_ref, agent, ladder, jobs, n,"
                 " created_ms, env, desktop) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 err))
        return false;
    db_bind_int(s, 1, run->id);
    db_bind_text(s, 2, run->path);
    db_bind_text(s, 3, run->repo);
    db_bind_text(s, 4, run->base);
    db_bind_text(s, 5, run->base_ref);
    db_bind_text(s, 6, run->agent);
    db_bind_text(s, 7, ladder_name(run->ladder));
    db_bind_int(s, 8, run->jobs);
    db_bind_int(s, 9, run->n);
    db_bind_int(s, 10, run->created_ms);
    db_bind_text(s, 11, env.ptr);
    db_bind_text(s, 12, desktop.ptr);
    return db_run(s, err) && store_set_setting(db, "last_run", run->id, err);
}

bool run_row_get(struct run_row *ret, struct db *db, int64_t id, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(
            &s, db,
            "SELECT path, repo, base, base_ref, agent, ladder, jobs, n, created_ms, env, desktop"
            " FROM run WHERE id = ?",
            err))
        return false;
    db_bind_int(s, 1, id);
    if (!db_step(s, &have, err))
        return false;
    if (!have) {
        db_reset(s);
        return err_set(err, ERR_NOT_FOUND, "there is no run %" PRId64, id);
    }
    AUTO_RUN_ROW struct run_row run = {
        .id = id,
        .path = db_col_copy(s, 0),
        .repo = db_col_copy(s, 1),
        .base = db_col_copy(s, 2),
        .base_ref = db_col_copy(s, 3),
        .agent = db_col_copy(s, 4),
        .jobs = db_col_int(s, 6),
        .n = db_col_int(s, 7),
        .created_ms = db_col_int(s, 8),
    };
    bool is_whole = ladder_parse(&run.ladder, db_col_str(s, 5), err) &&
                    jx_parse_strv(&run.env, db_col_str(s, 9), err) &&
                    jx_parse_strv(&run.desktop, db_col_str(s, 10), err);
    db_reset(s);
    if (!is_whole)
        return err_prefix(err, "the stored run %" PRId64, id);
    *ret = run;
    run = (struct run_row)RUN_ROW_INIT;
    return true;
}

bool run_row_set_ladder(struct db *db, int64_t id, enum ladder ladder, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "UPDATE run SET ladder = ? WHERE id = ?", err))
        return false;
    db_bind_text(s, 1, ladder_name(ladder));
    db_bind_int(s, 2, id);
    if (!db_run(s, err))
        return false;
    return db_changes(db) == 1 || err_set(err, ERR_NOT_FOUND, "there is no run %" PRId64, id);
}

bool run_row_last_id(int64_t *ret, struct db *db, struct err *err)
{
    return store_setting(ret, db, "last_run", err);
}

bool run_row_remove_empty(struct db *db, int64_t id, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "DELETE FROM run WHERE id = ?1"
                 " AND NOT EXISTS (SELECT 1 FROM attempt WHERE run = ?1)",
                 err))
        return false;
    db_bind_int(s, 1, id);
    return db_run(s, err);
}

bool run_row_list(json_t *array, struct db *db, int64_t id, int64_t limit, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT id, path, base, base_ref, agent, ladder, jobs, n, created_ms,"
                 " (SELECT count(*) FROM attempt a WHERE a.run = run.id AND a.state <> 'done')"
                 " FROM run WHERE ?1 = 0 OR id = ?1 ORDER BY id DESC LIMIT ?2",
                 err))
        return false;
    db_bind_int(s, 1, id);
    db_bind_int(s, 2, limit);
    while (db_step(s, &have, err)) {
        if (!have) {
            db_reset(s);
            return true;
        }
        json_t *run = json_object();
        jx_set_int(run, "id", db_col_int(s, 0));
        jx_set_str(run, "repo", db_col_text(s, 1));
        jx_set_str(run, "base", db_col_text(s, 2));
        jx_set_str(run, "base_ref", db_col_text(s, 3));
        jx_set_str(run, "agent", db_col_text(s, 4));
        jx_set_str(run, "ladder", db_col_text(s, 5));
        jx_set_int(run, "jobs", db_col_int(s, 6));
        jx_set_int(run, "n", db_col_int(s, 7));
        jx_set_int(run, "created_ms", db_col_int(s, 8));
        jx_set_int(run, "open", db_col_int(s, 9));
        json_array_append_new(array, run);
    }
    return false;
}
