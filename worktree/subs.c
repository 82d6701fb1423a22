#include "worktree/subs.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/attempt.h"
#include "worktree/changed.h"
#include "worktree/gitrun.h"
#include "worktree/moment.h"
#include "worktree/record.h"

#define RECORD_SUBS "subs"

enum { SUBS_MAX = 256, NESTED_MAX = 8, KEY_DEPTH = 6 };

void wt_subs_release(struct wt_subs *subs)
{
    for (size_t i = 0; i < subs->n; i++) {
        free(subs->v[i].name);
        free(subs->v[i].path);
        free(subs->v[i].repo);
    }
    free(subs->v);
    *subs = (struct wt_subs){.v = NULL};
}

static void add(struct wt_subs *subs, const struct wt_sub *sub)
{
    subs->v = xreallocarray(subs->v, subs->n + 1, sizeof(*subs->v));
    subs->v[subs->n++] = *sub;
}

void subs_below(struct wt_subs *ret, const struct wt_subs *subs, const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < subs->n; i++) {
        const struct wt_sub *sub = &subs->v[i];
        if (strncmp(sub->path, path, len) != 0 || sub->path[len] != '/')
            continue;
        struct wt_sub copy = {
            .name = xstrdup(sub->name),
            .path = xstrdup(sub->path + len + 1),
            .repo = xstrdup(sub->repo),
        };
        memcpy(copy.base, sub->base, sizeof(copy.base));
        add(ret, &copy);
    }
}

void subs_describe(struct strv *record, const struct wt_subs *subs)
{
    for (size_t i = 0; i < subs->n; i++) {
        strv_pushf(record, "sub%zu.name=%s", i, subs->v[i].name);
        strv_pushf(record, "sub%zu.path=%s", i, subs->v[i].path);
        strv_pushf(record, "sub%zu.repo=%s", i, subs->v[i].repo);
        strv_pushf(record, "sub%zu.base=%s", i, subs->v[i].base);
    }
}

static const char *field(const struct strv *record, size_t i, const char *name)
{
    AUTO_FREE char *key = xasprintf("sub%zu.%s", i, name);
    return record_get(record, key);
}

void subs_parse(struct wt_subs *ret, const struct strv *record)
{
    for (size_t i = 0; *field(record, i, "name"); i++) {
        const char *base = field(record, i, "base");
        struct wt_sub sub = {
            .name = xstrdup(field(record, i, "name")),
            .path = xstrdup(field(record, i, "path")),
            .repo = xstrdup(field(record, i, "repo")),
        };
        memcpy(sub.base, base, strnlen(base, sizeof(sub.base) - 1));
        add(ret, &sub);
    }
}

bool subs_load(struct wt_subs *ret, const char *folder, struct buf *why, struct err *err)
{
    AUTO_STRV struct strv record = STRV_INIT;
    bool is_found;
    if (!record_load(&record, &is_found, folder, RECORD_SUBS, err))
        return false;
    subs_parse(ret, &record);
    buf_adds(why, record_get(&record, "absent"));
    return true;
}

/* Names of git folders of submodules: what has them may be filled. */
static void add_names(struct buf *out, const char *modules, int depth)
{
    AUTO_STRV struct strv names = STRV_INIT;
    AUTO_DIR DIR *dir = depth > 0 ? opendir(modules) : NULL;
    uint64_t sum = 0; /* whatever the order */
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        AUTO_FREE char *path = fs_join(modules, e->d_name);
        AUTO_FREE char *head = fs_join(path, "HEAD");
        AUTO_FREE char *nested = fs_join(path, "modules");
        if (*e->d_name == '.')
            continue;
        uint64_t hash = 1469598103934665603U;
        for (const char *p = e->d_name; *p; p++)
            hash = (hash ^ (unsigned char)*p) * 1099511628211U;
        sum += hash;
        add_names(out, fs_exists(head) ? nested : path, depth - 1);
    }
    if (sum)
        buf_addf(out, "modules %d %" PRIx64 " ", depth, sum);
}

void subs_add_key(struct buf *out, const struct wt_repo *repo)
{
    AUTO_FREE char *own = fs_join(repo->git_dir, "modules");
    AUTO_FREE char *common = fs_join(repo->common_dir, "modules");
    add_names(out, own, KEY_DEPTH);
    if (strcmp(own, common) != 0)
        add_names(out, common, KEY_DEPTH);
}

/* One walk over a repository and what is nested in it. */
struct walk {
    const struct basetree_want *want;
    const char *folder, *tree;
    struct wt_subs *subs;
    struct buf *absent;
};

/* A repository at some place of the walk. */
struct place {
    const struct wt_repo *repo;
    const char *oid;
    const char *name; /* "" at the top, else the path of its git folder below modules/ */
    const char *path; /* "" at the top, else below the tree */
    int depth;
};

static bool is_safe(const char *path)
{
    AUTO_STRV struct strv parts = STRV_INIT;
    if (!*path || *path == '/')
        return false;
    strv_split(&parts, path, '/', true);
    for (size_t i = 0; i < parts.n; i++)
        if (!*parts.v[i] || strcmp(parts.v[i], "..") == 0 || strcmp(parts.v[i], ".") == 0 ||
            strcasecmp(parts.v[i], ".git") == 0)
            return false;
    return true;
}

/* The commit that is recorded for a path, "" for none. */
static bool recorded_commit(char ret[65], const struct place *at, const char *path, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct gitrun g = {.git_dir = at->repo->git_dir};
    ret[0] = '\0';
    if (!gitrun_out(&out, &g, GIT_ARGS("--literal-pathspecs", "ls-tree", "-z", at->oid, "--", path),
                    err))
        return false;
    static const char kind[] = "160000 commit ";
    size_t len = strlen(at->oid);
    if (strncmp(out.ptr, kind, strlen(kind)) == 0 && out.len > strlen(kind) + len) {
        memcpy(ret, out.ptr + strlen(kind), len);
        ret[len] = '\0';
    }
    return true;
}

/* The person's own git folder of a submodule; NULL when there is none with that commit. Allocated.
 */
static char *find_copy(const struct place *at, const char *name, const char *path, const char *oid)
{
    AUTO_FREE char *own = xasprintf("%s/modules/%s", at->repo->git_dir, name);
    AUTO_FREE char *common = xasprintf("%s/modules/%s", at->repo->common_dir, name);
    AUTO_FREE char *inside =
        at->repo->toplevel ? xasprintf("%s/%s/.git", at->repo->toplevel, path) : xstrdup("");
    const char *const candidates[] = {own, common, inside};
    AUTO_FREE char *commit = xasprintf("%s^{commit}", oid);
    for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
        AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
        struct err ignored = ERR_INIT;
        struct gitrun g = {.git_dir = candidates[i]};
        if (fs_is_dir(candidates[i]) &&
            gitrun(&r, &g, GIT_ARGS("cat-file", "-e", commit), &ignored) && r.status == 0)
            return fs_realpath(candidates[i], &ignored);
    }
    return NULL;
}

static void note_absent(const struct walk *w, const char *path)
{
    AUTO_FREE char *shown = text_clean(path);
    buf_addf(w->absent, "%s%s", w->absent->len ? ", " : "", shown);
}

static bool walk_place(struct walk *w, const struct place *at, struct err *err);

static bool fill(struct walk *w, const struct place *at, const struct wt_sub *sub, struct err *err)
{
    AUTO_GITCFG struct gitcfg cfg = GITCFG_INIT;
    AUTO_FREE char *tree = fs_join(w->tree, sub->path);
    AUTO_FREE char *index = xasprintf("%s/sub%zu", w->folder, w->subs->n);
    struct wt_repo repo = {
        .common_dir = sub->repo,
        .git_dir = sub->repo,
        .object_format = at->repo->object_format,
    };
    struct checkout c = {
        .repo = &repo,
        .cfg = &cfg,
        .oid = sub->base,
        .tree = tree,
        .index = index,
        .uid = w->want->uid,
        .gid = w->want->gid,
    };
    const struct place below = {
        .repo = &repo,
        .oid = sub->base,
        .name = sub->name,
        .path = sub->path,
        .depth = at->depth + 1,
    };
    if (!gitcfg_load(&cfg, sub->repo, err) || !fs_mkdirs(tree, 0755, err) ||
        !checkout_files(&c, NULL, err))
        return err_prefix(err, "submodule %s", sub->path);
    add(w->subs, sub);
    return walk_place(w, &below, err);
}

/* One entry of .gitmodules: its name and its path, both below the place. */
static bool take(struct walk *w, const struct place *at, const char *name, const char *path,
                 struct err *err)
{
    struct wt_sub sub = {.name = NULL};
    if (!is_safe(name) || !is_safe(path) || w->subs->n >= SUBS_MAX || at->depth >= NESTED_MAX)
        return true;
    if (!recorded_commit(sub.base, at, path, err))
        return false;
    if (!*sub.base)
        return true;
    sub.path = *at->path ? xasprintf("%s/%s", at->path, path) : xstrdup(path);
    sub.repo = find_copy(at, name, path, sub.base);
    sub.name = *at->name ? xasprintf("%s/modules/%s", at->name, name) : xstrdup(name);
    if (!sub.repo)
        note_absent(w, sub.path);
    size_t before = w->subs->n;
    bool ok = !sub.repo || fill(w, at, &sub, err);
    if (w->subs->n == before) {
        free(sub.name);
        free(sub.path);
        free(sub.repo);
    }
    return ok;
}

static bool walk_place(struct walk *w, const struct place *at, struct err *err)
{
    static const char section[] = "submodule.", key[] = ".path";
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_FREE char *blob = xasprintf("--blob=%s:.gitmodules", at->oid);
    struct gitrun g = {.git_dir = at->repo->git_dir, .plain_config = true};
    if (!gitrun(&r, &g, GIT_ARGS("config", blob, "-z", "--get-regexp", "^submodule\\..*\\.path$"),
                err))
        return false;
    if (r.status != 0) /* there is no such file */
        return true;
    for (const char *p = r.out.ptr; p < r.out.ptr + r.out.len; p += strlen(p) + 1) {
        size_t len = gitcfg_key_len(p);
        if (len <= strlen(section) + strlen(key))
            continue;
        AUTO_FREE char *name = xstrndup(p + strlen(section), len - strlen(section) - strlen(key));
        if (!take(w, at, name, gitcfg_value(p), err))
            return false;
    }
    return true;
}

bool subs_check_out(const struct basetree_want *want, const char *folder, const char *tree,
                    struct err *err)
{
    struct wt_subs subs = {.v = NULL};
    AUTO_BUF struct buf absent = BUF_INIT;
    AUTO_STRV struct strv record = STRV_INIT;
    struct walk w = {
        .want = want, .folder = folder, .tree = tree, .subs = &subs, .absent = &absent};
    const struct place top = {.repo = want->repo, .oid = want->oid, .name = "", .path = ""};
    bool ok = walk_place(&w, &top, err);
    subs_describe(&record, &subs);
    if (absent.len > 0)
        strv_pushf(&record, "absent=%s", absent.ptr);
    ok = ok && (record.n == 0 || record_save(folder, RECORD_SUBS, &record, err));
    wt_subs_release(&subs);
    return ok;
}

bool subs_has_news(const struct wt_attempt *a, const struct wt_attempt *s, size_t i,
                   bool with_snapshot)
{
    struct timespec when;
    return !moment_known(&when, s, "seed") ||
           changed_since(a->gitdir, s->gitdir + strlen(a->gitdir) + 1, &when) ||
           (with_snapshot && changed_since(attempt_files(a), a->subs.v[i].path, &when));
}
