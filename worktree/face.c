#include "worktree/face.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/fault.h"
#include "worktree/gitrun.h"

#define NOTE_NAME "HEADGATE-README"

enum { POINTER_BYTES = 8192, NAME_TRIES = 1000 };

/* Where an entry of this attempt is put together, and where it goes before it is removed. */
static char *unfinished_path(const char *common_dir, const char *dir)
{
    char hex[DIGEST_HEX_SIZE];
    digest_bytes(hex, dir, strlen(dir));
    return xasprintf("%s/headgate-unfinished-%.16s", common_dir, hex);
}

static bool write_line(const char *dir, const char *name, const char *text, struct err *err)
{
    AUTO_FREE char *path = fs_join(dir, name);
    AUTO_FREE char *line = xasprintf("%s\n", text);
    return fs_write_plain(AT_FDCWD, path, line, strlen(line), 0644, err);
}

/* git replaces an index and never writes into it, so a second name for the shared file serves where
 * it can be had. */
static bool place_index(const char *from, const char *entry, struct err *err)
{
    AUTO_FREE char *to = fs_join(entry, "index");
    if (unlink(to) != 0 && errno != ENOENT)
        return err_sys(err, errno, "cannot replace %s", to);
    return link(from, to) == 0 || fs_copy_file(AT_FDCWD, from, AT_FDCWD, to, err);
}

static char *lock_reason(const struct face *f)
{
    return xasprintf("headgate attempt %s; use `headgate discard %s`", f->id, f->id);
}

static bool write_entry(const struct face *f, const char *entry, struct err *err)
{
    AUTO_FREE char *pointer = xasprintf("%s/.git", f->tree);
    AUTO_FREE char *reason = lock_reason(f);
    return fs_mkdirs(entry, 0755, err) && write_line(entry, "locked", reason, err) &&
           write_line(entry, "HEAD", f->base, err) &&
           write_line(entry, "commondir", "../..", err) &&
           write_line(entry, "gitdir", pointer, err) && place_index(f->index, entry, err);
}

/* Give the entry its name: the first one that is free. A prune may take the empty parent away
 * meanwhile. */
static bool name_entry(const struct face *f, const char *unfinished, char **ret_entry,
                       struct err *err)
{
    AUTO_FREE char *parent = fs_join(f->common_dir, "worktrees");
    for (int i = 1; i <= NAME_TRIES; i++) {
        AUTO_FREE char *entry = i == 1 ? xasprintf("%s/headgate-%s", parent, f->id)
                                       : xasprintf("%s/headgate-%s-%d", parent, f->id, i);
        if (!fs_mkdirs(parent, 0755, err))
            return false;
        if (renameat2(AT_FDCWD, unfinished, AT_FDCWD, entry, RENAME_NOREPLACE) == 0) {
            *ret_entry = steal_ptr(&entry);
            return true;
        }
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOENT)
            return err_sys(err, errno, "cannot create %s", entry);
    }
    return err_set(err, ERR_CONFLICT, "there is no free worktree name for attempt %s in %s", f->id,
                   parent);
}

static bool make_by_hand(const struct face *f, char **ret_entry, struct err *err)
{
    AUTO_FREE char *unfinished = unfinished_path(f->common_dir, f->dir);
    return fs_remove_tree(AT_FDCWD, unfinished, err) && write_entry(f, unfinished, err) &&
           wt_fault(err) && name_entry(f, unfinished, ret_entry, err);
}

static bool make_by_git(const struct face *f, char **ret_entry, struct err *err)
{
    AUTO_BUF struct buf ignored = BUF_INIT;
    AUTO_BUF struct buf entry = BUF_INIT;
    AUTO_FREE char *reason = lock_reason(f);
    AUTO_FREE char *pointer = fs_join(f->tree, ".git");
    struct gitrun g = {.git_dir = f->common_dir};
    struct gitrun in_tree = {.cwd = f->tree};
    /* It wants the folder for itself. */
    if (rmdir(f->tree) != 0 && errno != ENOENT)
        return err_sys(err, errno, "cannot make room for %s", f->tree);
    if (!gitrun_out(&ignored, &g,
                    GIT_ARGS("worktree", "add", "--quiet", "--no-checkout", "--detach", "--lock",
                             "--reason", reason, "--", f->tree, f->base),
                    err) ||
        !gitrun_line(&entry, &in_tree, GIT_ARGS("rev-parse", "--absolute-git-dir"), err))
        return false;
    *ret_entry = buf_steal(&entry);
    return place_index(f->index, *ret_entry, err);
}

static bool write_note(const struct face *f, struct err *err)
{
    AUTO_FREE char *note =
        xasprintf("This folder belongs to Headgate's attempt %s, which started from %s (%.12s).\n"
                  "\n"
                  "It looks empty here: its files are mounted inside the attempt's sandbox only.\n"
                  "\n"
                  "  headgate enter %s        a shell in the sandbox, with the files\n"
                  "  headgate diff %s         what the attempt has changed\n"
                  "  headgate open %s DIR     a plain checkout of its branch in DIR\n"
                  "\n"
                  "Its branch is %s. To remove all of it: headgate discard %s\n",
                  f->id, f->base_name ? f->base_name : "a commit", f->base, f->id, f->id, f->id,
                  f->branch, f->id);
    AUTO_FREE char *path = fs_join(f->tree, NOTE_NAME);
    /* The pattern ignores the note and itself, and spares the person's info/exclude. */
    return fs_write_plain(AT_FDCWD, path, note, strlen(note), 0644, err) &&
           write_line(f->tree, ".gitignore", "*", err);
}

bool face_make(const struct face *f, struct err *err)
{
    AUTO_FREE char *entry = NULL;
    if (!(f->made_by_git ? make_by_git(f, &entry, err) : make_by_hand(f, &entry, err)) ||
        !wt_fault(err))
        return false;
    AUTO_FREE char *pointer = xasprintf("gitdir: %s", entry);
    return write_line(f->tree, ".git", pointer, err) && (!f->has_note || write_note(f, err));
}

/* True when the entry's back pointer names this tree: no other entry is ever touched. */
static bool names_tree(const char *entry, const char *tree)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    AUTO_FREE char *file = fs_join(entry, "gitdir");
    AUTO_FREE char *expected = xasprintf("%s/.git", tree);
    if (!fs_read_file(&text, AT_FDCWD, file, POINTER_BYTES, &ignored))
        return false;
    buf_rtrim(&text);
    return strcmp(text.ptr, expected) == 0;
}

static bool remove_entry(const char *entry, const char *unfinished, struct err *err)
{
    if (!fs_remove_tree(AT_FDCWD, unfinished, err))
        return false;
    if (rename(entry, unfinished) != 0 && errno != ENOENT)
        return err_sys(err, errno, "cannot remove %s", entry);
    return wt_fault(err) && fs_remove_tree(AT_FDCWD, unfinished, err);
}

bool face_remove(const char *common_dir, const char *dir, struct err *err)
{
    AUTO_FREE char *unfinished = unfinished_path(common_dir, dir);
    AUTO_FREE char *parent = fs_join(common_dir, "worktrees");
    AUTO_FREE char *tree = fs_join(dir, "tree");
    if (!fs_remove_tree(AT_FDCWD, unfinished, err))
        return false;
    AUTO_DIR DIR *entries = opendir(parent);
    if (!entries)
        return errno == ENOENT || err_sys(err, errno, "cannot list %s", parent);
    for (const struct dirent *e; (e = readdir(entries));) {
        AUTO_FREE char *entry = fs_join(parent, e->d_name);
        if (*e->d_name != '.' && names_tree(entry, tree) && !remove_entry(entry, unfinished, err))
            return false;
    }
    rmdir(parent); /* git removes the folder of the last worktree too; not empty is no failure */
    return true;
}
