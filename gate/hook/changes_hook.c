#include "gate/hook/changes_hook.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/hook/changes_index.h"
#include "runner/base/changes.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

/* A token of no moment: whoever asks with it is told of everything. */
#define NO_MOMENT "unknown"
/* A name that is nobody's, in a folder: git then lists the folder anew for untracked files. */
#define NOBODY ".headgate"

enum { ENTRIES_MAX = 20000, DEPTH_MAX = 128 };

struct walk {
    struct changes_token since;
    struct buf out;
    struct buf path; /* of the folder at hand, with a slash behind it; empty at the top */
    int entries, depth;
    bool is_new; /* something came, went or was renamed in this folder, or in one above it */
};

bool changes_hook_is_called(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash ? slash + 1 : program, strrchr(CHANGES_HOOK, '/') + 1) == 0;
}

/* Whether git stands at the top of the worktree that the upper layer belongs to. A copy of it, or a
 * worktree that the agent added, has another .git. */
static bool is_own_worktree(void)
{
    struct stat here, own;
    return lstat(".git", &here) == 0 && lstat(CHANGES_GITFILE, &own) == 0 &&
           here.st_ino == own.st_ino && here.st_dev == own.st_dev;
}

static void name_path(struct walk *w, const char *name)
{
    buf_addf(&w->out, "%s%s", w->path.ptr, name);
    buf_addch(&w->out, '\0');
}

/* git passes over a name that could be taken for .git where names are compared otherwise
 * (verify_path): it would not be told of what is below. */
static bool is_like_dotgit(const char *name)
{
    static const char *const likes[] = {".git", "git~1"};
    for (size_t i = 0; i < ARRAY_LEN(likes); i++) {
        size_t len = strlen(likes[i]);
        if (strncasecmp(name, likes[i], len) != 0)
            continue;
        const char *rest = name + len + strspn(name + len, " .");
        if (*rest == '\0' || *rest == '\\' || *rest == ':')
            return true;
    }
    return false;
}

/* What walk_tree and walk_folder have no business with. */
static bool is_passed_over(const struct walk *w, const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           (w->depth == 1 && strcmp(name, ".git") == 0);
}

/* *ret_is_folder: not following links. */
static bool know_type(bool *ret_is_folder, int dirfd, const struct dirent *e)
{
    struct stat st;
    *ret_is_folder = e->d_type == DT_DIR;
    if (e->d_type != DT_UNKNOWN)
        return true;
    if (fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    *ret_is_folder = S_ISDIR(st.st_mode);
    return true;
}

typedef bool folder_fn(struct walk *w, int fd);

/* Call fn, which takes the descriptor, for a folder below the one at hand. */
static bool enter(struct walk *w, int dirfd, const char *name, folder_fn *fn)
{
    size_t len = w->path.len;
    bool was_new = w->is_new;
    int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    buf_addf(&w->path, "%s/", name);
    bool ok = fd >= 0 && fn(w, fd);
    buf_truncate(&w->path, len);
    w->is_new = was_new;
    return ok;
}

/* ---- all that there is ---- */

/* The names at the top of the index: those that are no folders now, or all. */
static bool name_tops(struct walk *w, bool all)
{
    AUTO_BUF struct buf tops = BUF_INIT;
    struct err ignored = ERR_INIT;
    struct stat st;
    if (!changes_index_tops(&tops, &ignored))
        return false;
    for (const char *p = tops.ptr; p < tops.ptr + tops.len; p += strlen(p) + 1) {
        bool is_folder = p[strlen(p) - 1] == '/';
        if (all || !is_folder || lstat(p, &st) != 0)
            name_path(w, p);
    }
    return true;
}

/* Name each folder of the worktree. One that went needs no name: when it comes again, it is new. */
static bool walk_tree(struct walk *w, int fd)
{
    AUTO_DIR DIR *dir = fdopendir(fd);
    if (!dir)
        close(fd);
    if (!dir || w->depth >= DEPTH_MAX)
        return false;
    name_path(w, NOBODY);
    w->depth++;
    bool ok = true, is_folder = false;
    errno = 0;
    for (const struct dirent *e; ok && (e = readdir(dir)); errno = 0)
        if (!is_passed_over(w, e->d_name))
            ok = !is_like_dotgit(e->d_name) && know_type(&is_folder, fd, e) &&
                 (!is_folder || enter(w, fd, e->d_name, walk_tree));
    w->depth--;
    return ok && errno == 0;
}

static bool name_everything(struct walk *w)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || !name_tops(w, true)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    return walk_tree(w, fd);
}

/* ---- what has changed ---- */

/* Something came, went or was renamed in the folder or above it: of what went nothing is left but
 * this, and what came may be older. With a folder all is named that is tracked below it. */
static bool name_folder(struct walk *w, bool is_known)
{
    name_path(w, NOBODY);
    if (w->path.len == 0)
        return name_tops(w, false);
    if (!is_known)
        name_path(w, "");
    return true;
}

static bool walk_folder(struct walk *w, int fd);

static bool walk_entry(struct walk *w, int dirfd, const struct dirent *e)
{
    bool is_folder;
    if (w->entries++ >= ENTRIES_MAX || is_like_dotgit(e->d_name) ||
        !know_type(&is_folder, dirfd, e))
        return false;
    if (is_folder)
        return enter(w, dirfd, e->d_name, walk_folder);
    name_path(w, e->d_name);
    return true;
}

/* A folder of the upper layer. False: everything may have changed. */
static bool walk_folder(struct walk *w, int fd)
{
    struct stat st;
    AUTO_DIR DIR *dir = fdopendir(fd);
    if (!dir)
        close(fd);
    if (!dir || w->depth >= DEPTH_MAX || fstat(fd, &st) != 0)
        return false;
    int64_t changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    bool is_known = w->is_new && w->depth > 1; /* named with the one above */
    w->is_new |= changes_is_later(&w->since, changed_ns);
    if (w->is_new && !name_folder(w, is_known))
        return false;
    w->depth++;
    bool ok = true;
    errno = 0;
    for (const struct dirent *e; ok && (e = readdir(dir)); errno = 0)
        ok = is_passed_over(w, e->d_name) || walk_entry(w, fd, e);
    w->depth--;
    return ok && errno == 0;
}

/* Takes the descriptor of the upper layer. */
static bool name_changes(struct walk *w, int upper, const char *token,
                         const struct changes_token *now)
{
    if (changes_parse(&w->since, token, now))
        return walk_folder(w, upper);
    close(upper);
    return name_everything(w);
}

int changes_hook_main(char **argv)
{
    struct err err = ERR_INIT;
    struct changes_token now;
    struct walk w = {.out = BUF_INIT, .path = BUF_INIT};
    if (!argv[1] || strcmp(argv[1], "2") != 0 || !argv[2] || !changes_now(&now, &err))
        return 1;
    changes_format(&w.out, &now);
    buf_addch(&w.out, '\0');
    /* What git now learns of other files says nothing of these. */
    int upper = is_own_worktree() ? open(CHANGES_UPPER, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (upper < 0 || !name_changes(&w, upper, argv[2], &now)) {
        buf_clear(&w.out);
        buf_add(&w.out, NO_MOMENT "\0/", sizeof(NO_MOMENT "\0/"));
    }
    bool ok = fs_write_fd(STDOUT_FILENO, w.out.ptr, w.out.len, &err);
    buf_release(&w.out);
    buf_release(&w.path);
    return ok ? 0 : 1;
}
