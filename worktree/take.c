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

/* As people write a folder or what a shell completes: "./src/" is "src", and "." is everything. */
static char *plain_name(const char *pick)
{
    while (strncmp(pick, "./", 2) == 0)
        pick += 2 + strspn(pick + 2, "/");
    size_t len = strlen(pick);
    while (len > 0 && pick[len - 1] == '/')
        len--;
    return strncmp(pick, ".", len) == 0 ? xstrdup("") : xstrndup(pick, len);
}

static bool is_at_or_below(const char *path, const char *name)
{
    size_t len = strlen(name);
    return len == 0 || (strncmp(path, name, len) == 0 && (!path[len] || path[len] == '/'));
}

/* Whether all of a file is meant, by its name, one that it had, or a folder above it. */
static bool names_whole(const char *pick, const struct patch_file *file)
{
    AUTO_FREE char *name = plain_name(pick);
    return is_at_or_below(file->path, name) || is_at_or_below(file->old_path, name);
}

static bool names_any(const struct patch *p, const char *pick)
{
    for (size_t i = 0; i < p->n; i++)
        if (names_whole(pick, &p->v[i]))
            return true;
    return false;
}

static bool check_pick(const struct patch *p, const char *pick, struct err *err)
{
    size_t hunk;
    AUTO_FREE char *place = split_pick(pick, &hunk);
    AUTO_FREE char *path = plain_name(place);
    AUTO_FREE char *shown = text_clean(path);
    const struct patch_file *file = patch_find(p, path);
    if (names_any(p, pick))
        return true;
    if (!file) {
        AUTO_FREE char *whole = text_clean(pick);
        return err_set(err, ERR_NOT_FOUND,
                       "the attempt changed no %s; its diff shows what there is", whole);
    }
    if (file->is_retyped || file->n == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "%s has no hunks that could be taken apart (%s); take it as a whole, by its "
                       "name",
                       shown,
                       file->is_retyped  ? "it became another type of file"
                       : file->is_binary ? "it is binary"
                                         : "only its name or mode changed");
    return hunk <= file->n || err_set(err, ERR_NOT_FOUND, "%s has %zu hunk%s and no number %zu",
                                      shown, file->n, file->n == 1 ? "" : "s", hunk);
}

static bool check_picks(const struct patch *p, const struct strv *picks, struct err *err)
{
    for (size_t i = 0; i < picks->n; i++)
        if (!check_pick(p, picks->v[i], err))
            return false;
    return true;
}

/* hunk from 1; 0: what is not in a hunk (a mode, a rename, binary content, an empty file). */
static bool is_picked(const struct wt_take_ask *ask, const struct patch *p,
                      const struct patch_file *file, size_t hunk)
{
    for (size_t i = 0; i < ask->picks->n; i++) {
        size_t n;
        if (names_whole(ask->picks->v[i], file))
            return !ask->except;
        AUTO_FREE char *place = split_pick(ask->picks->v[i], &n);
        AUTO_FREE char *path = plain_name(place);
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

/* A change of the mode belongs to no hunk: who takes hunks does not take it along. */
static void add_head(struct buf *out, const struct patch_file *file, bool with_mode)
{
    static const char *const modes[] = {"old mode ", "new mode "};
    const char *end = file->at + file->head_len;
    for (const char *line = file->at; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t len = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);
        bool is_mode = false;
        for (size_t i = 0; i < ARRAY_LEN(modes); i++)
            is_mode |= len > strlen(modes[i]) && memcmp(line, modes[i], strlen(modes[i])) == 0;
        if (with_mode || !is_mode)
            buf_add(out, line, len);
        line += len;
    }
}

static void add_file(struct buf *out, const struct wt_take_ask *ask, const struct patch *p,
                     const struct patch_file *file)
{
    size_t n_picked = 0;
    long left_out = 0;
    bool is_whole = is_picked(ask, p, file, 0);
    for (size_t i = 0; i < file->n; i++)
        n_picked += is_picked(ask, p, file, i + 1);
    if (file->n == 0 || file->is_retyped || (is_whole && n_picked == file->n)) {
        if (is_whole)
            buf_add(out, file->at, file->len);
        return;
    }
    if (n_picked == 0)
        return;
    add_head(out, file, is_whole);
    for (size_t i = 0; i < file->n; i++) {
        const struct patch_hunk *h = &file->v[i];
        if (is_picked(ask, p, file, i + 1))
            add_hunk(out, h, left_out);
        else
            left_out += h->new_lines - h->old_lines;
    }
}

static bool check_seen(const struct wt_take_ask *ask, const struct patch_file *file,
                       struct err *err)
{
    AUTO_BUF struct buf path = BUF_INIT;
    text_sanitise(&path, file->path, strlen(file->path), TEXT_EXACT);
    for (size_t i = 0; ask->unseen && i < ask->unseen->n; i++) {
        const char *line = ask->unseen->v[i], *tab = strchr(line, '\t');
        bool is_in_commit = !strstr(line, "left out\t");
        if (tab && is_in_commit && strcmp(tab + 1, path.ptr) == 0)
            return err_set(err, ERR_REFUSED,
                           "%s could run on this host next (%.*s); look at it first (headgate "
                           "review), then take it with --reviewed",
                           tab + 1, (int)(tab - line), line);
    }
    return true;
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
    for (size_t i = 0; i < p.n; i++) {
        size_t before = out->len;
        add_file(out, ask, &p, &p.v[i]);
        if (out->len > before && !check_seen(ask, &p.v[i], err))
            return false;
    }
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
           (gitrun_out(&ignored, &apply, GIT_ARGS("apply", "--cached", "--whitespace=nowarn", "-"),
                       err) ||
            err_prefix(err, "these parts do not stand without the others")) &&
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
        .ref_only = ask->ref_only,
        .dry_run = ask->dry_run,
    };
    return is_made && wt_merge(ret, repo, &merge, err);
}
