/*
 * subs, second part: the git folders of an attempt's submodules.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/attempt.h"
#include "worktree/fault.h"
#include "worktree/gitdir.h"
#include "worktree/gitrun.h"
#include "worktree/subs.h"

void subs_view(struct wt_attempt *ret, const struct wt_attempt *a, size_t i)
{
    const struct wt_sub *sub = &a->subs.v[i];
    *ret = (struct wt_attempt){
        .id = xstrdup(a->id),
        .dir = xasprintf("%s/sub%zu", a->dir, i),
        .repo = xstrdup(sub->repo),
        .branch = xstrdup(a->branch),
        .engine = a->engine,
        .tree = fs_join(a->tree, sub->path),
        .gitdir = xasprintf("%s/modules/%s", a->gitdir, sub->name),
        .gitdir_top = xstrdup(a->gitdir),
        .gitfile = xstrdup(""),
        .hooks_in_tree = xstrdup(""),
        .uid = a->uid,
        .gid = a->gid,
    };
    memcpy(ret->base, sub->base, sizeof(ret->base));
    subs_below(&ret->subs, &a->subs, sub->path);
}

static bool append(const char *path, const struct buf *text, struct err *err)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? err_sys(err, errno, "cannot open %s", path)
                  : fs_write_fd(fd, text->ptr, text->len, err);
}

static void add_quoted(struct buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_addch(out, '\\');
        if (*p == '\n')
            buf_adds(out, "\\n");
        else
            buf_addch(out, *p);
    }
}

/* The submodule's own settings, and those of the repository around it: it is there and wanted. */
static bool configure(const struct wt_attempt *a, const struct wt_attempt *s,
                      const struct wt_sub *sub, struct err *err)
{
    AUTO_BUF struct buf own = BUF_INIT, outer = BUF_INIT;
    const char *nested = strstr(sub->name, "/modules/");
    const char *last = sub->name;
    for (; nested; nested = strstr(last, "/modules/"))
        last = nested + strlen("/modules/");
    size_t outer_len = last > sub->name ? (size_t)(last - sub->name) - strlen("/modules/") : 0;
    AUTO_FREE char *around =
        outer_len ? xasprintf("%s/modules/%.*s/config", a->gitdir, (int)outer_len, sub->name)
                  : fs_join(a->gitdir, "config");
    AUTO_FREE char *config = fs_join(s->gitdir, "config");
    buf_adds(&own, "[core]\n\tworktree = \"");
    add_quoted(&own, s->tree);
    buf_adds(&own, "\"\n");
    buf_adds(&outer, "[submodule \"");
    add_quoted(&outer, last);
    buf_adds(&outer, "\"]\n\tactive = true\n\turl = \"");
    add_quoted(&outer, s->gitdir);
    buf_adds(&outer, "\"\n");
    return append(config, &own, err) && append(around, &outer, err);
}

/* What the box's refs are compared with later. */
static bool save_seed(const struct wt_attempt *s, const struct ref_list *refs, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = fs_join(s->dir, "seed");
    for (size_t i = 0; i < refs->n; i++)
        buf_addf(&text, "ref %s %s\n", refs->v[i].oid, refs->v[i].name);
    buf_addf(&text, "ref %s refs/heads/%s\n", s->base, s->branch);
    return fs_mkdirs(s->dir, 0700, err) &&
           fs_write_plain(AT_FDCWD, path, text.ptr, text.len, 0600, err);
}

/* What the host shows too must not lead it to a git folder of the agent's: there the pointer names
 * a path that only the box has. */
static char *pointer_text(const struct wt_attempt *a, const struct wt_attempt *s)
{
    return a->upper ? xasprintf("gitdir: %s\n", s->gitdir)
                    : xasprintf("gitdir: " WT_INSIDE_GITDIR "%s\n", s->gitdir + strlen(a->gitdir));
}

static bool equip_one(const struct wt_attempt *a, size_t i, const char *index, struct err *err)
{
    AUTO_WT_ATTEMPT struct wt_attempt s = WT_ATTEMPT_INIT;
    AUTO_GITCFG struct gitcfg cfg = GITCFG_INIT;
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    subs_view(&s, a, i);
    const struct wt_sub *sub = &a->subs.v[i];
    struct wt_repo repo = {
        .common_dir = sub->repo,
        .git_dir = sub->repo,
        .object_format = (char *)(uintptr_t)(strlen(sub->base) == 64 ? "sha256" : "sha1"),
    };
    struct gitdir_seed seed = {.repo = &repo,
                               .cfg = &cfg,
                               .refs = &refs,
                               .branch = s.branch,
                               .base = s.base,
                               .index = index};
    AUTO_FREE char *folder = fs_join(attempt_files(a), sub->path);
    AUTO_FREE char *pointer = fs_join(folder, ".git");
    AUTO_FREE char *text = pointer_text(a, &s);
    const char *const *patterns = GIT_ARGS("refs/heads", "refs/tags", "refs/remotes");
    return gitcfg_load(&cfg, sub->repo, err) && refs_list(&refs, sub->repo, patterns, err) &&
           fs_mkdirs(s.gitdir, 0755, err) && gitdir_make(s.gitdir, &seed, err) && wt_fault(err) &&
           configure(a, &s, sub, err) && fs_mkdirs(folder, 0755, err) &&
           fs_write_plain(AT_FDCWD, pointer, text, strlen(text), 0644, err) &&
           save_seed(&s, &refs, err) && wt_fault(err);
}

bool subs_equip(const struct wt_attempt *a, const char *folder, struct err *err)
{
    for (size_t i = 0; i < a->subs.n; i++) {
        AUTO_FREE char *index = xasprintf("%s/sub%zu", folder, i);
        if (!equip_one(a, i, index, err))
            return err_prefix(err, "submodule %s", a->subs.v[i].path);
    }
    return true;
}
