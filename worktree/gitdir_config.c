/*
 * gitdir, second part: which settings of the person an agent's git gets. A list of what passes,
 * since what must not pass has no end: whatever names a program, a file or a secret.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runner/base/changes.h"
#include "runner/base/mem.h"
#include "worktree/gitdir.h"

static const char *const passed[] = {
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
    "core.checkroundtripencoding",
    "core.bigfilethreshold",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.quotepath",
    "core.commentchar",
    "core.whitespace",
    "core.abbrev",
    "diff.algorithm",
    "diff.renames",
    "diff.renamelimit",
    "diff.context",
    "diff.interhunkcontext",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.indentheuristic",
    "diff.suppressblankempty",
    "diff.wserrorhighlight",
    "diff.submodule",
    "diff.ignoresubmodules",
    "diff.colormoved",
    "diff.*.xfuncname",
    "diff.*.funcname",
    "diff.*.binary",
    "diff.*.wordregex",
    "merge.conflictstyle",
    "merge.renames",
    "merge.renamelimit",
    "merge.directoryrenames",
    "merge.renormalize",
    "merge.ff",
    "merge.log",
    "pull.rebase",
    "pull.ff",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.updaterefs",
    "rerere.enabled",
    "rerere.autoupdate",
    "apply.whitespace",
    "am.threeway",
    "commit.cleanup",
    "commit.verbose",
    "i18n.commitencoding",
    "i18n.logoutputencoding",
    "init.defaultbranch",
    "branch.*.merge",
    "branch.*.remote",
    "branch.*.rebase",
    "remote.*.fetch",
    "remote.*.promisor",
    "remote.*.partialclonefilter",
    "tag.sort",
    "branch.sort",
};

/* "section.sub.name" as git-config syntax; a section header for each value, which git permits. */
static void add_setting(struct buf *out, const char *key, size_t key_len, const char *value)
{
    const char *dot = memchr(key, '.', key_len);
    const char *last = memrchr(key, '.', key_len);
    if (!dot)
        return;
    buf_addf(out, "[%.*s", (int)(dot - key), key);
    if (last > dot) {
        buf_adds(out, " \"");
        for (const char *p = dot + 1; p < last; p++) {
            if (*p == '"' || *p == '\\')
                buf_addch(out, '\\');
            buf_addch(out, *p);
        }
        buf_addch(out, '"');
    }
    buf_addf(out, "]\n\t%.*s = \"", (int)(key + key_len - last - 1), last + 1);
    for (const char *p = value; *p; p++) {
        if (*p == '\n')
            buf_adds(out, "\\n");
        else if (*p == '"' || *p == '\\')
            buf_addf(out, "\\%c", *p);
        else
            buf_addch(out, *p);
    }
    buf_adds(out, "\"\n");
}

static void add_fixed(struct buf *out, const char *key, const char *value)
{
    add_setting(out, key, strlen(key), value);
}

static bool is_passed(const struct gitcfg *cfg, const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(passed); i++)
        if (fnmatch(passed[i], key, 0) == 0)
            return true;
    return cfg->has_lfs && strncmp(key, "filter.lfs.", strlen("filter.lfs.")) == 0;
}

/* A remote's address without what could be a secret: the user and password of a web address, the
 * password of an ssh one, query and fragment. NULL for a kind that names a program or is unknown.
 */
static char *public_url(const char *url)
{
    size_t len = strcspn(url, "?#");
    const char *scheme_end = strstr(url, "://");
    if (!scheme_end) {
        if (strstr(url, "::"))
            return NULL;     /* a remote helper */
        return xstrdup(url); /* a path, or user@host:path, where no password can be */
    }
    const char *host = scheme_end + 3;
    size_t host_len = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', host_len);
    if (!at)
        return xstrndup(url, len);
    size_t user_len = 0;
    if (strncmp(url, "ssh://", 6) == 0 || strncmp(url, "git+ssh://", 10) == 0)
        user_len = strcspn(host, ":@");
    const char *rest = user_len ? at : at + 1;
    return xasprintf("%.*s%.*s%.*s", (int)(host - url), url, (int)user_len, host,
                     (int)(len - (size_t)(rest - url)), rest);
}

static void add_passed(struct buf *out, const struct gitcfg *cfg)
{
    for (size_t i = 0; i < cfg->entries.n; i++) {
        const char *entry = cfg->entries.v[i];
        size_t len = gitcfg_key_len(entry);
        AUTO_FREE char *key = xstrndup(entry, len);
        if (is_passed(cfg, key))
            add_setting(out, key, len, gitcfg_value(entry));
        if (fnmatch("remote.*.url", key, 0) != 0)
            continue;
        AUTO_FREE char *url = public_url(gitcfg_value(entry));
        if (url)
            add_setting(out, key, len, url);
    }
}

void gitdir_home_config(struct buf *out, const struct gitcfg *cfg)
{
    static const char *const keys[] = {"user.name",         "user.email",     "author.name",
                                       "author.email",      "committer.name", "committer.email",
                                       "init.defaultbranch"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *value = gitcfg_get(cfg, keys[i]);
        if (value)
            add_fixed(out, keys[i], value);
    }
}

char *gitdir_hooks_in_tree(const struct wt_repo *repo, const struct gitcfg *cfg)
{
    const char *path = gitcfg_get(cfg, "core.hookspath");
    if (!path || *path == '~' || !*path)
        return xstrdup("");
    if (*path != '/')
        return strstr(path, "..") ? xstrdup("") : xstrdup(path);
    size_t len = repo->toplevel ? strlen(repo->toplevel) : 0;
    if (len > 0 && strncmp(path, repo->toplevel, len) == 0 && path[len] == '/' &&
        strncmp(path + len, "/.git/", 6) != 0)
        return xstrdup(path + len + 1);
    return xstrdup("");
}

void gitdir_config(struct buf *out, const struct gitdir_seed *seed, const char *gitdir)
{
    const struct wt_repo *repo = seed->repo;
    const struct gitcfg *cfg = seed->cfg;
    bool is_sha256 = strcmp(repo->object_format, "sha256") == 0;
    const char *promisor = gitcfg_get(cfg, "extensions.partialclone");
    add_fixed(out, "core.repositoryformatversion", is_sha256 || promisor ? "1" : "0");
    if (promisor) /* what is missing is so on purpose */
        add_fixed(out, "extensions.partialclone", promisor);
    if (is_sha256)
        add_fixed(out, "extensions.objectformat", "sha256");
    add_passed(out, cfg);
    add_fixed(out, "core.bare", "false");
    add_fixed(out, "core.logallrefupdates", "true");
    add_fixed(out, "core.fsmonitor", seed->is_overlay ? CHANGES_HOOK : "false");
    if (seed->is_overlay) /* for a plain status alone (gate/hook/shim_status.h) */
        add_fixed(out, "core.untrackedcache", "false");
    add_fixed(out, "commit.gpgsign", "false");
    add_fixed(out, "tag.gpgsign", "false");
    add_fixed(out, "tag.forcesignannotated", "false");
    AUTO_FREE char *attributes = xasprintf("%s/info/attributes.user", gitdir);
    add_fixed(out, "core.attributesfile", attributes);
    AUTO_FREE char *hooks = gitdir_hooks_in_tree(repo, cfg);
    if (*hooks)
        add_fixed(out, "core.hookspath", hooks);
}
