#include "runner/store/comment_row.h"

#include <inttypes.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"

enum { COMMENTS_MAX = 500 };

const char comment_schema[] = "CREATE TABLE comment ("
                              "  id INTEGER PRIMARY KEY,"
                              "  attempt TEXT NOT NULL,"
                              "  path TEXT," /* NULL: about all of it */
                              "  line INTEGER NOT NULL,"
                              "  tip TEXT,"
                              "  quote TEXT,"
                              "  text TEXT NOT NULL,"
                              "  made_by TEXT NOT NULL,"
                              "  at_ms INTEGER NOT NULL,"
                              "  sent_ms INTEGER NOT NULL DEFAULT 0"
                              ") STRICT;"
                              "CREATE INDEX comment_attempt ON comment(attempt);";

static bool count(int64_t *ret, struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db, "SELECT count(*) FROM comment WHERE attempt = ?", err))
        return false;
    db_bind_text(s, 1, attempt);
    if (!db_step(s, &have, err))
        return false;
    *ret = have ? db_col_int(s, 0) : 0;
    db_reset(s);
    return true;
}

bool comment_row_add(int64_t *ret_id, struct db *db, const char *attempt, const json_t *comment,
                     int64_t at_ms, struct err *err)
{
    struct db_stmt *s;
    int64_t n;
    if (!count(&n, db, attempt, err))
        return false;
    if (n >= COMMENTS_MAX)
        return err_set(err, ERR_LIMIT, "attempt %s has %d comments already", attempt, COMMENTS_MAX);
    if (!db_stmt(&s, db,
                 "INSERT INTO comment (attempt, path, line, tip, quote, text, made_by, at_ms)"
                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    db_bind_text(s, 2, jx_str(comment, "path", NULL));
    db_bind_int(s, 3, jx_int(comment, "line", 0));
    db_bind_text(s, 4, jx_str(comment, "tip", NULL));
    db_bind_text(s, 5, jx_str(comment, "quote", NULL));
    db_bind_text(s, 6, jx_str(comment, "text", ""));
    db_bind_text(s, 7, jx_str(comment, "by", ""));
    db_bind_int(s, 8, at_ms);
    if (!db_run(s, err))
        return false;
    *ret_id = db_last_rowid(db);
    return true;
}

bool comment_row_list(json_t *array, struct db *db, const char *attempt, bool waiting,
                      struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT id, path, line, tip, quote, text, made_by, at_ms, sent_ms FROM comment"
                 " WHERE attempt = ?1 AND (?2 = 0 OR sent_ms = 0) ORDER BY id",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    db_bind_int(s, 2, waiting);
    while (db_step(s, &have, err)) {
        if (!have)
            return true;
        json_t *c = json_object();
        jx_set_int(c, "id", db_col_int(s, 0));
        jx_set_str(c, "attempt", attempt);
        jx_set_text(c, "path", db_col_text(s, 1));
        jx_set_int(c, "line", db_col_int(s, 2));
        jx_set_str(c, "tip", db_col_text(s, 3));
        jx_set_text(c, "quote", db_col_text(s, 4));
        jx_set_text(c, "text", db_col_str(s, 5));
        jx_set_str(c, "by", db_col_str(s, 6));
        jx_set_int(c, "at_ms", db_col_int(s, 7));
        jx_set_int(c, "sent_ms", db_col_int(s, 8));
        json_array_append_new(array, c);
    }
    return false;
}

bool comment_row_set_sent(struct db *db, const char *attempt, int64_t at_ms, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "UPDATE comment SET sent_ms = ? WHERE attempt = ? AND sent_ms = 0", err))
        return false;
    db_bind_int(s, 1, at_ms);
    db_bind_text(s, 2, attempt);
    return db_run(s, err);
}

bool comment_row_remove(struct db *db, int64_t id, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db, "SELECT sent_ms FROM comment WHERE id = ?", err))
        return false;
    db_bind_int(s, 1, id);
    if (!db_step(s, &have, err))
        return false;
    bool was_sent = have && db_col_int(s, 0) != 0;
    db_reset(s);
    if (!have)
        return err_set(err, ERR_NOT_FOUND, "there is no comment %" PRId64, id);
    if (was_sent)
        return err_set(err, ERR_CONFLICT, "comment %" PRId64 " was sent already", id);
    if (!db_stmt(&s, db, "DELETE FROM comment WHERE id = ?", err))
        return false;
    db_bind_int(s, 1, id);
    return db_run(s, err);
}

bool comment_row_remove_all(struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "DELETE FROM comment WHERE attempt = ?", err))
        return false;
    db_bind_text(s, 1, attempt);
    return db_run(s, err);
}

/* Each line behind a mark, as in a mail. */
static void add_quote(struct buf *out, const char *quote)
{
    AUTO_FREE char *clean = text_clean(quote);
    if (*clean)
        buf_addf(out, "> %s\n", clean);
}

/* FILE:LINE, or FILE; nothing for a comment on all. */
static void add_place(struct buf *out, const json_t *comment, const char *tip)
{
    const char *path = jx_str(comment, "path", NULL), *seen = jx_str(comment, "tip", "");
    int64_t line = jx_int(comment, "line", 0);
    if (!path)
        return;
    AUTO_FREE char *shown = text_clean(path);
    buf_adds(out, shown);
    if (line > 0)
        buf_addf(out, ":%" PRId64, line);
    if (*seen && strcmp(seen, tip) != 0)
        buf_addf(out, " (as it was at commit %.12s)", seen);
    buf_addch(out, '\n');
}

void comment_message(struct buf *out, const json_t *comments, const char *tip)
{
    size_t i;
    const json_t *c;
    buf_adds(out, "A person reviewed your work. Address each of these comments, then commit.\n");
    json_array_foreach(comments, i, c)
    {
        buf_addch(out, '\n');
        add_place(out, c, tip);
        add_quote(out, jx_str(c, "quote", ""));
        buf_addf(out, "%s\n", jx_str(c, "text", ""));
    }
}
