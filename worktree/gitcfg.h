/*
 * gitcfg: the configuration that git(1) has for a repository, read once.
 *
 * Includes are followed by git itself. Keys are as git prints them: section and name in lower case,
 * the subsection as written.
 */
#ifndef WORKTREE_GITCFG_H
#define WORKTREE_GITCFG_H

#include "runner/base/strv.h"

struct gitcfg {
    struct strv entries; /* "key\nvalue", or "key" alone, in order: the last one wins */
    bool has_lfs;        /* the program git-lfs is in PATH */
};

#define GITCFG_INIT                            \
    {                                          \
        .entries = STRV_INIT, .has_lfs = false \
    }
#define AUTO_GITCFG __attribute__((cleanup(gitcfg_release)))

/* git_dir of the worktree in question: a linked one may have settings of its own. */
bool gitcfg_load(struct gitcfg *ret, const char *git_dir, struct err *err) WARN_UNUSED;
void gitcfg_release(struct gitcfg *cfg);
/* The last value, borrowed; "true" for a key without one; NULL when not set. */
const char *gitcfg_get(const struct gitcfg *cfg, const char *key);
bool gitcfg_bool(const struct gitcfg *cfg, const char *key, bool fallback);
/* The key of an entry ends here: at its newline or its end. */
size_t gitcfg_key_len(const char *entry);
const char *gitcfg_value(const char *entry);
/* A value that names a file, with ~ made whole; allocated, NULL when not set. fallback is a name
 * under the user's git configuration folder ("ignore", "attributes"), gitconfig(5). */
char *gitcfg_user_file(const struct gitcfg *cfg, const char *key, const char *fallback);
/* Settings that stop every configured filter from running: for trees that an agent wrote. */
void gitcfg_add_filters_off(struct strv *config, const struct gitcfg *cfg);
/* Settings that stop the LFS filter, installed or not: its files then appear as their pointers. */
void gitcfg_add_lfs_off(struct strv *config);

#endif
