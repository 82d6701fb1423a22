#include "worktree/source.h"

#include <pthread.h>
#include <stdlib.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"

struct wt_source {
    pthread_mutex_t lock; /* held while a part is read, and to see whether it is there */
    char *path;
    bool has_repo, has_cfg, has_refs;
    struct wt_repo repo;
    struct gitcfg cfg;
    struct ref_list refs;
};

struct wt_source *wt_source_new(const char *path)
{
    struct wt_source *s = xcalloc(1, sizeof(*s));
    *s = (struct wt_source){
        .path = xstrdup(path), .repo = WT_REPO_INIT, .cfg = GITCFG_INIT, .refs = REF_LIST_INIT};
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void wt_source_free(struct wt_source *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    wt_repo_release(&s->repo);
    gitcfg_release(&s->cfg);
    refs_release(&s->refs);
    free(s);
}

static bool read_repo(struct wt_source *s, struct err *err)
{
    s->has_repo = s->has_repo || wt_repo_open(&s->repo, s->path, err);
    return s->has_repo;
}

static bool read_cfg(struct wt_source *s, struct err *err)
{
    s->has_cfg = s->has_cfg || (read_repo(s, err) && gitcfg_load(&s->cfg, s->repo.git_dir, err));
    return s->has_cfg;
}

static bool read_refs(struct wt_source *s, struct err *err)
{
    const char *const *patterns =
        GIT_ARGS("refs/heads", "refs/tags", "refs/remotes", "refs/headgate");
    s->has_refs = s->has_refs ||
                  (read_repo(s, err) && refs_list(&s->refs, s->repo.common_dir, patterns, err));
    return s->has_refs;
}

static bool with_lock(struct wt_source *s, bool (*read)(struct wt_source *, struct err *),
                      struct err *err)
{
    pthread_mutex_lock(&s->lock);
    bool ok = read(s, err);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool wt_source_repo(const struct wt_repo **ret, struct wt_source *s, struct err *err)
{
    *ret = &s->repo;
    return with_lock(s, read_repo, err);
}

bool source_cfg(const struct gitcfg **ret, struct wt_source *s, struct err *err)
{
    *ret = &s->cfg;
    return with_lock(s, read_cfg, err);
}

bool source_refs(const struct ref_list **ret, struct wt_source *s, struct err *err)
{
    *ret = &s->refs;
    return with_lock(s, read_refs, err);
}
