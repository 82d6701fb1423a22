#include "worktree/treediff.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"

void treediff_release(struct treediff *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->v[i].old_oid);
        free(d->v[i].new_oid);
        free(d->v[i].path);
    }
    free(d->v);
    *d = (struct treediff)TREEDIFF_INIT;
}

/* ":OLDMODE NEWMODE OLDOID NEWOID STATUS", then the path as the next string. */
static bool add_entry(struct treediff *d, const char *line, const char *path)
{
    AUTO_STRV struct strv words = STRV_INIT;
    strv_split(&words, line + (*line == ':'), ' ', false);
    if (words.n != 5 || *path == '\0')
        return false;
    if (d->n == d->cap) {
        d->cap = d->cap ? d->cap * 2 : 64;
        d->v = xreallocarray(d->v, d->cap, sizeof(*d->v));
    }
    d->v[d->n++] = (struct treediff_entry){
        .old_mode = (unsigned)strtoul(words.v[0], NULL, 8),
        .new_mode = (unsigned)strtoul(words.v[1], NULL, 8),
        .old_oid = xstrdup(words.v[2]),
        .new_oid = xstrdup(words.v[3]),
        .path = xstrdup(path),
    };
    return true;
}

bool treediff_get(struct treediff *ret, const char *common_dir, const char *from, const char *to,
                  struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct gitrun g = {.git_dir = common_dir, .bare = true};
    const char *const *args = GIT_ARGS("diff-tree", "-r", "-z", "--raw", "--no-renames",
                                       "--no-abbrev", "--no-ext-diff", from, to);
    if (!gitrun_out(&out, &g, args, err))
        return false;
    AUTO_TREEDIFF struct treediff d = TREEDIFF_INIT;
    for (const char *p = out.ptr; p < out.ptr + out.len;) {
        const char *path = p + strlen(p) + 1;
        if (path >= out.ptr + out.len || !add_entry(&d, p, path))
            return err_set(err, ERR_INTERNAL, "git diff-tree answered in an unknown form");
        p = path + strlen(path) + 1;
    }
    *ret = d;
    d = (struct treediff)TREEDIFF_INIT;
    return true;
}
