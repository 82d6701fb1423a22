#include "runner/cmd/box_notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "sandbox/profile.h"

enum { GIT_FILE_BYTES = 8192 };

void box_note_unwritable(const struct box_spec *spec, const struct account *account)
{
    struct stat st;
    if (!account->is_other || stat(spec->cwd, &st) != 0)
        return;
    mode_t bit = st.st_uid == spec->uid ? S_IWUSR : st.st_gid == spec->gid ? S_IWGRP : S_IWOTH;
    if (!(st.st_mode & bit))
        fprintf(
            stderr,
            "headgate: note: the account of the box (box.user, uid %u) cannot write the current "
            "folder\n",
            spec->uid);
}

static bool is_shown(const struct box_spec *spec, const char *path)
{
    for (size_t i = 0; i < spec->n_binds; i++)
        if (fs_is_at_or_below(path, spec->binds[i].inside))
            return true;
    return false;
}

/* The folder that a .git file leads to, NULL where there is none. */
static char *linked_git_folder(const char *folder)
{
    static const char intro[] = "gitdir: ";
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *file = fs_join(folder, ".git");
    struct stat st;
    if (lstat(file, &st) != 0 || !S_ISREG(st.st_mode) ||
        !fs_read_file(&text, AT_FDCWD, file, GIT_FILE_BYTES, &ignored) ||
        strncmp(text.ptr, intro, strlen(intro)) != 0)
        return NULL;
    text.ptr[strcspn(text.ptr, "\r\n")] = '\0';
    const char *path = text.ptr + strlen(intro);
    AUTO_FREE char *whole = path[0] == '/' ? xstrdup(path) : fs_join(folder, path);
    return fs_realpath(whole, &ignored);
}

/* The git folder of all worktrees, above .../worktrees/NAME. */
static char *common_folder(const char *git_folder)
{
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *file = fs_join(git_folder, "commondir");
    if (!fs_read_file(&text, AT_FDCWD, file, GIT_FILE_BYTES, &ignored))
        return xstrdup(git_folder);
    text.ptr[strcspn(text.ptr, "\r\n")] = '\0';
    AUTO_FREE char *whole = text.ptr[0] == '/' ? xstrdup(text.ptr) : fs_join(git_folder, text.ptr);
    return fs_realpath(whole, &ignored);
}

void box_note_linked(const struct box_spec *spec)
{
    AUTO_FREE char *linked = linked_git_folder(spec->cwd);
    AUTO_FREE char *common = linked ? common_folder(linked) : NULL;
    if (!common || is_shown(spec, common))
        return;
    AUTO_FREE char *clean = text_clean(common);
    fprintf(stderr,
            "headgate: note: git does not work in this box: the folder is a linked worktree or a "
            "submodule, and its git folder is not shown; add --ro %s\n",
            clean);
}

void box_note_made(const struct strv *writable, const struct strv *known)
{
    AUTO_STRV struct strv made = STRV_INIT;
    for (size_t i = 0; i < writable->n; i++)
        profile_list_made(&made, writable->v[i], known);
    for (size_t i = 0; i < made.n; i++)
        fprintf(
            stderr,
            "headgate: note: the box made %s, which git, an editor or an agent of this host obeys "
            "(a shell's prompt may run git): look at it before you work there, or remove it\n",
            made.v[i]);
}
