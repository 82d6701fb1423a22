/*
 * take: some files and hunks of an attempt as one commit on the target. The chosen part of the
 * patch is applied to the base in an index of its own; the commit that results is then squashed
 * into the target like a whole attempt. It is referenced by nothing, and git's own gc clears it
 * away.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/patch.h"
#include "worktree/worktree.h"

enum { PATCH_MAX_BYTES = 256 * 1024 * 1024 };

/* "FILE:N", or "FILE" with 0. Allocated. */
static char *split_pick(const char *pick, size_t *ret_hunk)
{
    const char *colon = strrchr(pick, ':');
    char *end;
    *ret_hunk = 0;
    if (!colon || colon == pick || colon[1] < '1' || colon[1] > '9')
        return xstrdup(pick);
    unsigned long n = strtoul(colon + 1, &end, 10);
    if (*end)
        return xstrdup(pick);
    *ret_hunk = n;
    return xstrndup(pick, (size_t)(colon - pick));
}

static bool check_picks(const struct patch *p, const struct strv *picks, struct err *err)
{
    for (size_t i = 0; i < picks->n; i++) {
        size_t hunk;
        AUTO_FREE char *path = split_pick(picks->v[i], &hunk);
        AUTO_FREE char *shown = text_clean(picks->v[i]);
        const struct patch_file *whole = patch_find(p, picks->v[i]);
        const struct patch_file *file = whole ? whole : patch_find(p, path);
        if (!file || (!whole && hunk > file->n))
            return err_set(err, ERR_NOT_FOUND,
                           "the attempt changed no %s; its diff shows what there is", shown);
    }
    return true;
}

/* hunk from 1; 0: what is not in a hunk (a mode, a rename, binary content, an empty file). */
static bool is_picked(const struct wt_take_ask *ask, const struct patch *p,
                      const struct patch_file *file, size_t hunk)
{
    for (size_t i = 0; i < ask->picks->n; i++) {
        size_t n;
        if (patch_find(p, ask->picks->v[i]) == file)
            return !ask->except;
        AUTO_FREE char *path = split_pick(ask->picks->v[i], &n);
        if (n > 0 && n == hunk && patch_find(p, path) == file)
            return !ask->except;
    }
    return ask->except;
}

/* A hunk whose place follows from those before it that were left out. */
static void add_hunk(struct buf *out, const struct patch_hunk *h, long left_out)
{
    const char *rest = memchr(h->at, '\n', h->len);
    size_t head = rest ? (size_t)(rest - h->at) : h->len;
    buf_addf(out, "@@ -%ld,%ld +%ld,%ld @@", h->old_start, h->old_lines, h->new_start - left_out,
             h->new_lines);
    buf_add(out, h->at + head, h->len - head);
}

static void add_file(struct buf *out, const struct wt_take_ask *ask, const struct patch *p,
                     const struct patch_file *file)
{
    size_t n_picked = 0;
    long left_out = 0;
    for (size_t i = 0; i < file->n; i++)
        n_picked += is_picked(ask, p, file, i + 1);
    if (file->n == 0 ? is_picked(ask, p, file, 0) : n_picked == file->n) {
        buf_add(out, file->at, file->len);
        return;
    }
    if (n_picked == 0)
        return;
    buf_add(out, file->at, file->head_len);
    for (size_t i = 0; i < file->n; i++) {
        const struct patch_hunk *h = &file->v[i];
        if (is_picked(ask, p, file, i + 1))
            add_hunk(out, h, left_out);
        else
            left_out += h->new_lines - h->old_lines;
    }
}

static bool choose(struct buf *out, const struct wt_take_ask *ask, const struct wt_repo *repo,
                   struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_PATCH struct patch p = PATCH_INIT;
    struct gitrun g = {
        .git_dir = repo->common_dir, .bare = true, .max_output_bytes = PATCH_MAX_BYTES};
    const char *const *args =
        GIT_ARGS("diff-tree", "-r", "--patch", "--binary", "--full-index", "--find-renames",
                 "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/",
                 "--dst-prefix=b/", "--submodule=short", ask->base, ask->tip);
    if (!gitrun_out(&text, &g, args, err) || !patch_parse(&p, text.ptr, text.len, err) ||
        !check_picks(&p, ask->picks, err))
        return false;
    for (size_t i = 0; i < p.n; i++)
        add_file(out, ask, &p, &p.v[i]);
    return out->len > 0 || err_set(err, ERR_NOT_FOUND, "nothing is left to take");
}

static bool ask_oid(char ret[65], const struct gitrun *g, const char *const *args, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT;
    if (!gitrun_line(&line, g, args, err))
        return false;
    if (!gitrun_is_oid(line.ptr))
        return err_set(err, ERR_INTERNAL, "git %s answered in an unknown form", args[0]);
    memcpy(ret, line.ptr, strlen(line.ptr) + 1);
    return true;
}

/* The author of the attempt's last commit. */
static bool add_author(struct strv *env, const struct wt_take_ask *ask, const struct wt_repo *repo,
                       struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_STRV struct strv fields = STRV_INIT;
    static const char *const names[] = {"NAME", "EMAIL", "DATE"};
    struct gitrun g = {.git_dir = repo->common_dir};
    if (!gitrun_line(&out, &g,
                     GIT_ARGS("log", "-1", "--date=raw", "--encoding=UTF-8",
                              "--format=%an%x01%ae%x01@%ad", ask->tip, "--"),
                     err))
        return false;
    strv_split(&fields, out.ptr, '\1', true);
    for (size_t i = 0; fields.n == ARRAY_LEN(names) && i < fields.n; i++)
        strv_pushf(env, "GIT_AUTHOR_%s=%s", names[i], fields.v[i]);
    return true;
}

static bool make_commit(char ret[65], const struct wt_take_ask *ask, const struct wt_repo *repo,
                        const char *index, const struct buf *patch, struct err *err)
{
    AUTO_BUF struct buf ignored = BUF_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    char tree[65];
    struct gitrun g = {.git_dir = repo->common_dir, .bare = true, .index_file = index};
    struct gitrun apply = g, commit = g;
    apply.input = patch->ptr;
    apply.input_len = patch->len;
    commit.env = &env;
    return gitrun_out(&ignored, &g, GIT_ARGS("read-tree", ask->base), err) &&
           gitrun_out(&ignored, &apply, GIT_ARGS("apply", "--cached", "--whitespace=nowarn", "-"),
                      err) &&
           ask_oid(tree, &g, GIT_ARGS("write-tree"), err) && add_author(&env, ask, repo, err) &&
           ask_oid(ret, &commit, GIT_ARGS("commit-tree", "-m", "part", "-p", ask->base, tree), err);
}

bool wt_take(struct wt_merge *ret, const struct wt_repo *repo, const struct wt_take_ask *ask,
             struct err *err)
{
    AUTO_BUF struct buf patch = BUF_INIT;
    AUTO_FREE char *index = xasprintf("%s/headgate-take-%d", repo->common_dir, (int)getpid());
    char part[65] = "";
    if (!choose(&patch, ask, repo, err))
        return false;
    unlink(index);
    bool is_made = make_commit(part, ask, repo, index, &patch, err);
    unlink(index);
    const struct wt_merge_ask merge = {
        .branch = ask->branch,
        .tip = part,
        .into = ask->into,
        .how = WT_MERGE_SQUASH,
        .message = ask->message,
        .leave_out = ask->base,
        .dry_run = ask->dry_run,
    };
    return is_made && wt_merge(ret, repo, &merge, err);
}
