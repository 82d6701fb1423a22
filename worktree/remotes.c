#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitcfg.h"
#include "worktree/refs.h"
#include "worktree/source.h"
#include "worktree/worktree.h"

enum { REMOTES_MAX = 64 };

void wt_remotes_release(struct wt_remotes *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->v[i].name);
        free(r->v[i].url);
        free(r->v[i].push);
    }
    free(r->v);
    *r = (struct wt_remotes)WT_REMOTES_INIT;
}

/* What of "remote.NAME.url" is NAME, with its length; NULL: another key. */
static const char *middle(size_t *ret_len, const char *entry, const char *section, const char *last)
{
    size_t len = gitcfg_key_len(entry), head = strlen(section), tail = strlen(last);
    if (len <= head + tail || strncmp(entry, section, head) != 0 ||
        strncmp(entry + len - tail, last, tail) != 0)
        return NULL;
    *ret_len = len - head - tail;
    return entry + head;
}

/* As git does (url.BASE.insteadOf): the longest beginning that fits, the first of equals.
 * Allocated; NULL: none fits. */
static char *rewritten(const struct gitcfg *cfg, const char *url, const char *last)
{
    const char *base = NULL, *cut = NULL;
    size_t base_len = 0;
    for (size_t i = 0; i < cfg->entries.n; i++) {
        size_t len;
        const char *name = middle(&len, cfg->entries.v[i], "url.", last);
        const char *value = gitcfg_value(cfg->entries.v[i]);
        if (!name || strncmp(url, value, strlen(value)) != 0 ||
            (cut && strlen(value) <= strlen(cut)))
            continue;
        base = name;
        base_len = len;
        cut = value;
    }
    return cut ? xasprintf("%.*s%s", (int)base_len, base, url + strlen(cut)) : NULL;
}

static char *for_fetch(const struct gitcfg *cfg, const char *url)
{
    char *other = rewritten(cfg, url, ".insteadof");
    return other ? other : xstrdup(url);
}

static char *for_push(const struct gitcfg *cfg, const char *url)
{
    char *other = rewritten(cfg, url, ".pushinsteadof");
    return other ? other : for_fetch(cfg, url);
}

static struct wt_remote *find(struct wt_remotes *r, const char *name, size_t len)
{
    for (size_t i = 0; i < r->n; i++)
        if (strncmp(r->v[i].name, name, len) == 0 && !r->v[i].name[len])
            return &r->v[i];
    return NULL;
}

/* The first of several addresses, as fetch takes it. */
static void add_address(struct wt_remotes *r, const struct gitcfg *cfg, const char *entry)
{
    size_t len;
    const char *name = middle(&len, entry, "remote.", ".url");
    bool is_push = !name;
    if (is_push)
        name = middle(&len, entry, "remote.", ".pushurl");
    if (!name || r->n == REMOTES_MAX)
        return;
    struct wt_remote *remote = find(r, name, len);
    if (!remote) {
        remote = &r->v[r->n++];
        *remote = (struct wt_remote){.name = xstrndup(name, len)};
    }
    if (is_push && !remote->push)
        remote->push = for_fetch(cfg, gitcfg_value(entry));
    if (!is_push && !remote->url)
        remote->url = xstrdup(gitcfg_value(entry));
}

static void take(struct wt_remotes *ret, const struct gitcfg *cfg)
{
    struct wt_remotes remotes = {.v = xcalloc(REMOTES_MAX, sizeof(*remotes.v))};
    for (size_t i = 0; i < cfg->entries.n; i++)
        add_address(&remotes, cfg, cfg->entries.v[i]);
    for (size_t i = 0; i < remotes.n; i++) {
        struct wt_remote *remote = &remotes.v[i];
        AUTO_FREE char *url = remote->url ? remote->url : xstrdup("");
        remote->url = for_fetch(cfg, url);
        if (!remote->push)
            remote->push = for_push(cfg, url);
    }
    *ret = remotes;
}

bool wt_remotes(struct wt_remotes *ret, const char *common_dir, struct err *err)
{
    AUTO_GITCFG struct gitcfg cfg = GITCFG_INIT;
    if (!gitcfg_load(&cfg, common_dir, err))
        return false;
    take(ret, &cfg);
    return true;
}

bool wt_source_remotes(struct wt_remotes *ret, struct wt_source *s, struct err *err)
{
    const struct wt_repo *repo;
    const struct gitcfg *cfg;
    if (!wt_source_repo(&repo, s, err))
        return false;
    if (strcmp(repo->git_dir, repo->common_dir) != 0) /* cfg has what is of that worktree alone */
        return wt_remotes(ret, repo->common_dir, err);
    if (!source_cfg(&cfg, s, err))
        return false;
    take(ret, cfg);
    return true;
}

bool wt_branch_tip(char ret[65], const struct wt_attempt *a, const char *branch, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_FREE char *name = xasprintf(REFS_OWN "%s/heads/%s", refs_attempt_part(a->branch), branch);
    if (!refs_list_attempt(&refs, a->repo, a->branch, err))
        return false;
    const char *oid = refs_oid(&refs, name);
    if (!oid[0])
        return err_set(err, ERR_NOT_FOUND, "the attempt has no branch '%s' of its own", branch);
    memcpy(ret, oid, strlen(oid) + 1);
    return true;
}
