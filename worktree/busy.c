#include "worktree/busy.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

static const char heads[] = "refs/heads/";

/* A file of git's that names branches, one a line, in full or short. */
struct trace {
    const char *file;
    const char *doing;
    bool sets_it; /* in the end */
};

static const struct trace traces[] = {
    {"rebase-merge/head-name", "rebased", true},
    {"rebase-apply/head-name", "rebased", true},
    {"rebase-merge/update-refs", "rebased", true},
    {"BISECT_START", "bisected", false},
};

static const char *short_name(const char *ref)
{
    return strncmp(ref, heads, strlen(heads)) == 0 ? ref + strlen(heads) : ref;
}

static bool names_it(const char *git_dir, const char *file, const char *full_ref)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_STRV struct strv lines = STRV_INIT;
    AUTO_FREE char *path = fs_join(git_dir, file);
    struct err ignored = ERR_INIT;
    if (!fs_exists(path) || !fs_read_file(&text, AT_FDCWD, path, LIMIT_CONFIG_BYTES, &ignored))
        return false;
    strv_split(&lines, text.ptr, '\n', false);
    for (size_t i = 0; i < lines.n; i++)
        if (strcmp(short_name(lines.v[i]), short_name(full_ref)) == 0)
            return true;
    return false;
}

/* The folder of a worktree, by its git folder. */
static char *folder_of(const char *git_dir)
{
    static const char own[] = "/.git";
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *pointer = fs_join(git_dir, "gitdir");
    struct err ignored = ERR_INIT;
    if (!fs_exists(pointer) || !fs_read_file(&text, AT_FDCWD, pointer, LIMIT_PATH_BYTES, &ignored))
        buf_adds(&text, git_dir);
    buf_rtrim(&text);
    if (text.len > strlen(own) && strcmp(text.ptr + text.len - strlen(own), own) == 0)
        text.ptr[text.len - strlen(own)] = '\0';
    return text_clean(text.ptr);
}

static char *look_at(const char *git_dir, const char *full_ref, bool only_setting)
{
    for (size_t i = 0; i < ARRAY_LEN(traces); i++) {
        if ((only_setting && !traces[i].sets_it) || !names_it(git_dir, traces[i].file, full_ref))
            continue;
        AUTO_FREE char *folder = folder_of(git_dir);
        return xasprintf("is being %s at %s", traces[i].doing, folder);
    }
    return NULL;
}

static void look(char **ret, const char *common_dir, const char *full_ref, bool only_setting)
{
    AUTO_FREE char *parent = fs_join(common_dir, "worktrees");
    *ret = look_at(common_dir, full_ref, only_setting);
    AUTO_DIR DIR *entries = *ret ? NULL : opendir(parent);
    for (struct dirent *e; entries && !*ret && (e = readdir(entries));) {
        AUTO_FREE char *git_dir = fs_join(parent, e->d_name);
        if (e->d_name[0] != '.')
            *ret = look_at(git_dir, full_ref, only_setting);
    }
}

void busy_with(char **ret, const char *common_dir, const char *full_ref)
{
    look(ret, common_dir, full_ref, false);
}

void busy_rewriting(char **ret, const char *common_dir, const char *full_ref)
{
    look(ret, common_dir, full_ref, true);
}

char *busy_branch(const char *git_dir)
{
    static const char *const files[] = {"rebase-merge/head-name", "rebase-apply/head-name"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_BUF struct buf name = BUF_INIT;
        AUTO_FREE char *path = fs_join(git_dir, files[i]);
        struct err ignored = ERR_INIT;
        if (!fs_exists(path) || !fs_read_file(&name, AT_FDCWD, path, LIMIT_PATH_BYTES, &ignored))
            continue;
        buf_rtrim(&name);
        if (strncmp(name.ptr, heads, strlen(heads)) == 0)
            return xstrdup(name.ptr + strlen(heads));
    }
    return NULL;
}
