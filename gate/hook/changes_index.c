#include "gate/hook/changes_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/changes.h"
#include "runner/base/fs.h"
#include "runner/base/indexfile.h"
#include "runner/base/mem.h"

enum { POINTER_BYTES = 8192 };

/* A split index has most of its entries in another file. */
static bool is_split(struct indexfile *f)
{
    struct indexfile_extension e;
    while (indexfile_extension(&e, f))
        if (memcmp(e.name, "link", 4) == 0)
            return true;
    return false;
}

static bool list_tops(struct buf *out, const char *ptr, size_t index_len, size_t digest_len)
{
    struct indexfile f;
    struct indexfile_entry e;
    size_t last_len = 0;
    const char *last = "";
    if (!indexfile_begin(&f, ptr, index_len, digest_len))
        return false;
    while (indexfile_entry(&e, &f)) {
        size_t len = strcspn(e.path, "/");
        len += e.path[len] == '/';
        if (len == last_len &&
            memcmp(e.path, last, len) == 0) /* what is in one folder is together */
            continue;
        buf_add(out, e.path, len);
        buf_addch(out, '\0');
        last = e.path;
        last_len = len;
    }
    return !is_split(&f) && indexfile_is_done(&f);
}

/* Allocated; what git says in its environment, else where .git of this worktree points. */
static char *index_path(struct err *err)
{
    static const char pointer[] = "gitdir: ";
    const char *named = getenv("GIT_INDEX_FILE"), *git_dir = getenv("GIT_DIR");
    AUTO_BUF struct buf text = BUF_INIT;
    if (named && *named)
        return xstrdup(named);
    if (git_dir && *git_dir)
        return fs_join(git_dir, "index");
    if (!fs_read_file(&text, AT_FDCWD, CHANGES_GITFILE, POINTER_BYTES, err))
        return NULL;
    buf_rtrim(&text);
    if (strncmp(text.ptr, pointer, strlen(pointer)) != 0) {
        err_set(err, ERR_FAILED, "%s points nowhere", CHANGES_GITFILE);
        return NULL;
    }
    return fs_join(text.ptr + strlen(pointer), "index");
}

bool changes_index_tops(struct buf *out, struct err *err)
{
    AUTO_FREE char *path = index_path(err);
    struct stat st;
    if (!path)
        return false;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot read %s", path);
    size_t len = (size_t)st.st_size, before = out->len;
    void *index = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (index == MAP_FAILED)
        return err_sys(err, errno, "cannot map %s", path);
    bool ok = list_tops(out, index, len, INDEXFILE_SHA1_BYTES);
    if (!ok) {
        buf_truncate(out, before);
        ok = list_tops(out, index, len, INDEXFILE_SHA256_BYTES);
    }
    munmap(index, len);
    return ok || err_set(err, ERR_FAILED, "%s is in a format that is not known here", path);
}
