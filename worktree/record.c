#include "worktree/record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { RECORD_BYTES = 1024 * 1024 };

bool record_save(const char *dir, const char *name, const struct strv *record, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    for (size_t i = 0; i < record->n; i++)
        buf_add(&text, record->v[i], strlen(record->v[i]) + 1);
    AUTO_FD int dirfd = fs_open_dir(AT_FDCWD, dir, err);
    return dirfd >= 0 && fs_write_atomic(dirfd, name, text.ptr, text.len, 0600, err);
}

bool record_load(struct strv *record, bool *ret_found, const char *dir, const char *name,
                 struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = fs_join(dir, name);
    if (!fs_exists(path)) {
        *ret_found = false;
        return true;
    }
    if (!fs_read_file(&text, AT_FDCWD, path, RECORD_BYTES, err))
        return false;
    for (const char *p = text.ptr; p < text.ptr + text.len; p += strlen(p) + 1)
        strv_push(record, p);
    *ret_found = true;
    return true;
}

bool record_remove(const char *dir, const char *name, struct err *err)
{
    AUTO_FREE char *path = fs_join(dir, name);
    return unlink(path) == 0 || errno == ENOENT || err_sys(err, errno, "cannot remove %s", path);
}

const char *record_get(const struct strv *record, const char *key)
{
    const char *value = strv_env_get(record, key);
    return value ? value : "";
}
