#include "worktree/left.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/attempt.h"
#include "worktree/record.h"
#include "worktree/review.h"
#include "worktree/subs.h"

enum { TEXT_MAX = 64 * 1024 };

static void add_part(struct buf *out, const char *separator, const char *text)
{
    if (out->len > 0)
        buf_adds(out, separator);
    buf_adds(out, text);
}

/* "TEXT (FIRST and N more)"; nothing of no paths. */
static void add_paths(struct buf *out, const char *separator, const char *text,
                      const struct strv *paths)
{
    if (paths->n == 0)
        return;
    AUTO_FREE char *shown = text_clean(paths->v[0]);
    add_part(out, separator, text);
    buf_addf(out, " (%s", shown);
    if (paths->n > 1)
        buf_addf(out, " and %zu more", paths->n - 1);
    buf_addch(out, ')');
}

/* As a list of nouns; "" when nothing was left. */
static void describe(struct buf *out, const struct harvest_box *box)
{
    const struct unread *u = &box->unread;
    if (u->large.n > 0)
        add_part(out, ", ", "files that are too large to be brought home");
    add_paths(out, ", ", "folders that cannot be entered", &u->closed);
    add_paths(out, ", ", "repositories of their own", &u->nested);
    if (box->is_partial)
        add_part(out, ", ", "files that git could not record");
}

void left_add_note(struct buf *note, const struct harvest_box *box)
{
    const struct unread *u = &box->unread;
    if (u->large.n > 0)
        add_part(note, "; ",
                 "files that are too large were left out (see the review list); they are in the "
                 "worktree alone");
    if (u->special.n > 0)
        add_part(note, "; ", "pipes, sockets or devices were left out");
    add_paths(note, "; ", "folders that cannot be entered are in the worktree alone", &u->closed);
    add_paths(note, "; ",
              "repositories inside the worktree come home by the name of their commit at most; "
              "what is in them is in the worktree alone",
              &u->nested);
}

void left_add_review(struct strv *review, const struct harvest_box *box)
{
    for (size_t i = 0; i < box->unread.special.n; i++)
        review_add(review, "special file, left out", box->unread.special.v[i]);
    for (size_t i = 0; i < box->unread.large.n; i++)
        review_add(review, "too large, left out", box->unread.large.v[i]);
}

bool left_keep(const struct wt_attempt *a, const struct harvest_box *box, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = fs_join(a->dir, RECORD_LEFT);
    describe(&text, box);
    if (text.len > 0)
        return fs_write_plain(AT_FDCWD, path, text.ptr, text.len, 0600, err);
    return unlink(path) == 0 || errno == ENOENT || err_sys(err, errno, "cannot remove %s", path);
}

static bool refuse_one(const struct wt_attempt *a, const char *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err why = ERR_INIT;
    AUTO_FREE char *path = fs_join(a->dir, RECORD_LEFT);
    if (!fs_exists(path))
        return true;
    if (!fs_read_file(&text, AT_FDCWD, path, TEXT_MAX, &why) || text.len == 0)
        buf_adds(&text, "files that were not brought home");
    return err_set(err, ERR_REFUSED,
                   "attempt %s has %s, in %s; copy them, or remove it all the same with --force",
                   a->id, text.ptr, files);
}

bool left_refuse(const struct wt_attempt *a, struct err *err)
{
    if (!refuse_one(a, attempt_files(a), err))
        return false;
    for (size_t i = 0; i < a->subs.n; i++) {
        AUTO_WT_ATTEMPT struct wt_attempt s = WT_ATTEMPT_INIT;
        subs_view(&s, a, i);
        AUTO_FREE char *files = fs_join(attempt_files(a), a->subs.v[i].path);
        if (!refuse_one(&s, files, err))
            return false;
    }
    return true;
}
