/*
 * clean: base checkouts that no attempt stands on any more.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/basetree_delta.h"
#include "worktree/record.h"

enum { WALK_DEPTH = 256, KEY_BYTES = 100 };

/* The lower layers of all attempts. A record or a listing that cannot be read stops the cleaning:
 * it may name any base. */
static bool list_used(struct strv *used, const char *attempts_dir, const struct strv *gone,
                      struct err *err)
{
    AUTO_DIR DIR *dir = opendir(attempts_dir);
    if (!dir)
        return errno == ENOENT || err_sys(err, errno, "cannot list %s", attempts_dir);
    static const char *const names[] = {RECORD_ATTEMPT, RECORD_JOURNAL};
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(dir);
        if (!e)
            return errno == 0 || err_sys(err, errno, "cannot list %s", attempts_dir);
        if (*e->d_name == '.' || (gone && strv_has(gone, e->d_name)))
            continue;
        AUTO_FREE char *path = fs_join(attempts_dir, e->d_name);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            AUTO_STRV struct strv record = STRV_INIT;
            bool is_found;
            if (!record_load(&record, &is_found, path, names[i], err))
                return false;
            if (is_found && *record_get(&record, "lower"))
                strv_push(used, record_get(&record, "lower"));
            if (is_found && *record_get(&record, "lower2"))
                strv_push(used, record_get(&record, "lower2"));
        }
    }
}

/* Whether a base is among those that go; told as lines "PATH\tBYTES". */
static bool is_told(const struct strv *told, const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < told->n; i++)
        if (strncmp(told->v[i], path, len) == 0 && told->v[i][len] == '\t')
            return true;
    return false;
}

/* What other bases lie over; told: without those that go. */
static void list_under(struct strv *used, const char *bases_dir, const struct strv *told)
{
    AUTO_DIR DIR *dir = opendir(bases_dir);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        AUTO_BUF struct buf key = BUF_INIT;
        struct err absent = ERR_INIT;
        AUTO_FREE char *path = fs_join(bases_dir, e->d_name);
        AUTO_FREE char *note = fs_join(path, BASETREE_UNDER);
        if (!(told && is_told(told, path)) &&
            fs_read_file(&key, AT_FDCWD, note, KEY_BYTES, &absent))
            strv_pushf(used, "%s/%s/tree", bases_dir, key.ptr);
    }
}

static int64_t count_bytes(int dirfd, int depth)
{
    int64_t total = 0;
    int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
    AUTO_DIR DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    for (const struct dirent *e; dir && depth < WALK_DEPTH && (e = readdir(dir));) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        total += (int64_t)st.st_blocks * 512;
        if (!S_ISDIR(st.st_mode))
            continue;
        AUTO_FD int fd = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            total += count_bytes(fd, depth + 1);
    }
    return total;
}

static int64_t folder_bytes(const char *path)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? 0 : count_bytes(fd, 0);
}

/* Under the base's lock: an attempt that is being made on it holds the lock until it is on record.
 */
static bool clean_one(struct strv *ret, const char *bases_dir, const char *attempts_dir,
                      const char *key, const struct strv *gone, struct err *err)
{
    AUTO_FD int lock = -1;
    AUTO_STRV struct strv used = STRV_INIT;
    AUTO_FREE char *path = fs_join(bases_dir, key);
    AUTO_FREE char *tree = fs_join(path, "tree");
    AUTO_FREE char *lock_path = xasprintf("%s.lock", path);
    if (gone && is_told(ret, path))
        return true;
    if (!basetree_lock(&lock, bases_dir, key, true, err))
        return false;
    if (lock < 0)
        return true;
    if (!list_used(&used, attempts_dir, gone, err))
        return false;
    list_under(&used, bases_dir, gone ? ret : NULL);
    if (strv_has(&used, tree))
        return true;
    strv_pushf(ret, "%s\t%" PRId64, path, folder_bytes(path));
    if (gone)
        return true;
    /* Under another name first: a base that has its name is whole. */
    AUTO_FREE char *doomed = xasprintf("%s.new", path);
    if (!fs_remove_tree(AT_FDCWD, doomed, err))
        return false;
    if (rename(path, doomed) != 0)
        return err_sys(err, errno, "cannot remove %s", path);
    if (!fs_remove_tree(AT_FDCWD, doomed, err))
        return false;
    /* Last: without its name the lock holds nobody back, and the next to make this base uses the
     * name of the doomed one. */
    unlink(lock_path);
    return true;
}

/* "<oid>-<8 hex>", of a whole base. */
static bool is_base(const char *name)
{
    size_t hex = strspn(name, "0123456789abcdef");
    return (hex == 40 || hex == 64) && name[hex] == '-' && strlen(name + hex + 1) == 8;
}

/* What a base holds on disk; counted once, for it never changes. */
static int64_t base_bytes(const char *path)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *file = fs_join(path, "bytes");
    struct err ignored = ERR_INIT;
    if (fs_read_file(&text, AT_FDCWD, file, 32, &ignored))
        return strtoll(text.ptr, NULL, 10);
    AUTO_FREE char *number = xasprintf("%" PRId64, folder_bytes(path));
    (void)!fs_write_plain(AT_FDCWD, file, number, strlen(number), 0600, &ignored);
    return strtoll(number, NULL, 10);
}

struct shelf {
    struct shelved {
        char *key;
        int64_t bytes;
        struct timespec used;
    } * v;
    size_t n;
    int64_t bytes;
};

static void shelf_release(struct shelf *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i].key);
    free(s->v);
}

static int compare_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct shelved *)a)->used;
    const struct timespec *y = &((const struct shelved *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool list_shelf(struct shelf *s, const char *bases_dir, struct err *err)
{
    AUTO_DIR DIR *dir = opendir(bases_dir);
    if (!dir)
        return errno == ENOENT || err_sys(err, errno, "cannot list %s", bases_dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        AUTO_FREE char *path = fs_join(bases_dir, e->d_name);
        AUTO_FREE char *lock = xasprintf("%s.lock", path);
        if (!is_base(e->d_name) || stat(lock, &st) != 0)
            continue;
        int64_t bytes = base_bytes(path);
        s->v = xreallocarray(s->v, s->n + 1, sizeof(*s->v));
        s->v[s->n++] = (struct shelved){xstrdup(e->d_name), bytes, st.st_mtim};
        s->bytes += bytes;
    }
    if (s->n > 1)
        qsort(s->v, s->n, sizeof(*s->v), compare_use);
    return true;
}

bool wt_trim_bases(struct strv *ret, const char *bases_dir, const char *attempts_dir,
                   int64_t limit_bytes, struct err *err)
{
    __attribute__((cleanup(shelf_release))) struct shelf s = {.v = NULL};
    if (!list_shelf(&s, bases_dir, err))
        return false;
    for (size_t i = 0; i < s.n && s.bytes > limit_bytes; i++) {
        AUTO_FREE char *path = fs_join(bases_dir, s.v[i].key);
        if (!clean_one(ret, bases_dir, attempts_dir, s.v[i].key, NULL, err))
            return false;
        if (!fs_exists(path))
            s.bytes -= s.v[i].bytes;
    }
    return true;
}

static bool clean_pass(struct strv *ret, const char *bases_dir, const char *attempts_dir,
                       const struct strv *gone, struct err *err)
{
    AUTO_DIR DIR *dir = opendir(bases_dir);
    if (!dir)
        return errno == ENOENT || err_sys(err, errno, "cannot list %s", bases_dir);
    for (const struct dirent *e; (e = readdir(dir));)
        if (is_base(e->d_name) && !clean_one(ret, bases_dir, attempts_dir, e->d_name, gone, err))
            return false;
    return true;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Twice: the first pass frees what those that went lay over. */
bool wt_clean_bases(struct strv *ret, const char *bases_dir, const char *attempts_dir,
                    const struct strv *gone, struct err *err)
{
    size_t before = ret->n;
    bool ok = clean_pass(ret, bases_dir, attempts_dir, gone, err) &&
              clean_pass(ret, bases_dir, attempts_dir, gone, err);
    if (ret->n > before + 1) /* a folder lists them in an order of its own */
        qsort(ret->v + before, ret->n - before, sizeof(*ret->v), compare_lines);
    return ok;
}
