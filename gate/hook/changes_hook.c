#include "gate/hook/changes_hook.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/changes.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { ENTRIES_MAX = 20000, DEPTH_MAX = 128 };

struct walk {
    struct changes_token since;
    struct buf out;
    struct buf path; /* of the folder at hand, with a slash behind it; empty at the top */
    int entries, depth;
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

static void name_path(struct walk *w, const char *name, const char *suffix)
{
    buf_addf(&w->out, "%s%s%s", w->path.ptr, name, suffix);
    buf_addch(&w->out, '\0');
}

/* Something came, went or was renamed in the folder: of what went nothing is left but this. */
static bool name_folder(struct walk *w)
{
    if (w->path.len == 0)
        return false;
    name_path(w, "", "");
    return true;
}

static bool walk_folder(struct walk *w, int fd);

static bool walk_entry(struct walk *w, int dirfd, const struct dirent *e)
{
    struct stat st;
    unsigned char type = e->d_type;
    if (w->entries++ >= ENTRIES_MAX)
        return false;
    if (type == DT_UNKNOWN) {
        if (fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return false;
        type = S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
    }
    if (type != DT_DIR) {
        /* What is no folder may stand where one was. */
        name_path(w, e->d_name, "");
        name_path(w, e->d_name, "/");
        return true;
    }
    size_t len = w->path.len;
    int fd = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    buf_addf(&w->path, "%s/", e->d_name);
    bool ok = fd >= 0 && walk_folder(w, fd);
    buf_truncate(&w->path, len);
    return ok;
}

/* Takes the descriptor. False: everything may have changed. */
static bool walk_folder(struct walk *w, int fd)
{
    struct stat st;
    AUTO_DIR DIR *dir = fdopendir(fd);
    if (!dir)
        close(fd);
    if (!dir || w->depth >= DEPTH_MAX || fstat(fd, &st) != 0)
        return false;
    int64_t changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    if (changes_is_later(&w->since, changed_ns) && !name_folder(w))
        return false;
    w->depth++;
    bool ok = true;
    errno = 0;
    for (const struct dirent *e; ok && (e = readdir(dir)); errno = 0) {
        bool is_own = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
                      (w->depth == 1 && strcmp(e->d_name, ".git") == 0);
        ok = is_own || walk_entry(w, fd, e);
    }
    w->depth--;
    return ok && errno == 0;
}

int changes_hook_main(char **argv)
{
    struct err err = ERR_INIT;
    struct changes_token now;
    struct walk w = {.out = BUF_INIT, .path = BUF_INIT};
    bool is_own = is_own_worktree();
    if (!argv[1] || strcmp(argv[1], "2") != 0 || !changes_now(&now, &err))
        return 1;
    if (is_own)
        changes_format(&w.out, &now);
    else
        buf_adds(&w.out,
                 "elsewhere"); /* what git now learns of other files says nothing of these */
    buf_addch(&w.out, '\0');
    size_t head = w.out.len;
    int fd = -1;
    if (is_own && argv[2] && changes_parse(&w.since, argv[2], &now))
        fd = open(CHANGES_UPPER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || !walk_folder(&w, fd)) {
        buf_truncate(&w.out, head);
        buf_add(&w.out, "/", sizeof("/"));
    }
    bool ok = fs_write_fd(STDOUT_FILENO, w.out.ptr, w.out.len, &err);
    buf_release(&w.out);
    buf_release(&w.path);
    return ok ? 0 : 1;
}
