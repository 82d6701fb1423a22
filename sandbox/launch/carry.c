#include "sandbox/launch/carry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/xattr.h>

#include "runner/base/mem.h"
#include "sandbox/launch/launch.h"

enum {
    DEPTH_MAX = 128, /* each level has a few descriptors */
    PASSES_MAX = 64, /* through a folder that others fill */
    NAMES_BYTES = 64 * 1024,
    VALUE_BYTES = 64 * 1024, /* XATTR_SIZE_MAX */
    COPY_BYTES = 1 << 30,
    OWNER_MAY_ALL = 0700,
};

static int look(struct statx *ret, int dir, const char *name)
{
    const int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
    if (statx(dir, name, flags, STATX_BASIC_STATS | STATX_BTIME, ret) != 0)
        return errno;
    return ret->stx_mask & STATX_BTIME ? 0 : ENOTSUP;
}

static int open_folder(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int carry_init(struct carry *c, int root)
{
    struct statx st;
    int why = look(&st, root, "");
    if (!why)
        *c = (struct carry){.upper_born = st.stx_btime};
    return why;
}

static bool is_of_base(const struct carry *c, const struct statx *st)
{
    const struct statx_timestamp *born = &st->stx_btime, *upper = &c->upper_born;
    return born->tv_sec < upper->tv_sec ||
           (born->tv_sec == upper->tv_sec && born->tv_nsec < upper->tv_nsec);
}

/* What a program may set itself: labels of security modules follow the place. */
static bool is_own_attribute(const char *name)
{
    return strncmp(name, "user.", 5) == 0 || strncmp(name, "system.posix_acl_", 17) == 0;
}

static int copy_extended(int to, int from)
{
    static char names[NAMES_BYTES], value[VALUE_BYTES];
    ssize_t len = flistxattr(from, names, sizeof(names));
    if (len < 0)
        return errno == ENOTSUP ? 0 : errno;
    for (const char *name = names; name < names + len; name += strlen(name) + 1) {
        if (!is_own_attribute(name))
            continue;
        ssize_t n = fgetxattr(from, name, value, sizeof(value));
        if (n < 0 || fsetxattr(to, name, value, (size_t)n, 0) != 0)
            return errno;
    }
    return 0;
}

static struct timespec time_of(const struct statx_timestamp *t)
{
    return (struct timespec){t->tv_sec, t->tv_nsec};
}

static int set_times(int fd, const struct statx *st)
{
    const struct timespec times[] = {time_of(&st->stx_atime), time_of(&st->stx_mtime)};
    return futimens(fd, times) == 0 ? 0 : errno;
}

int carry_attributes(int to, int from, const struct statx *st)
{
    int why = copy_extended(to, from);
    mode_t mode = st->stx_mode & 07777;
    if (!why && fchmod(to, S_ISDIR(st->stx_mode) ? mode | OWNER_MAY_ALL : mode) != 0)
        why = errno;
    return why ? why : set_times(to, st);
}

static int copy_data(int to, int from)
{
    ssize_t n;
    do
        n = copy_file_range(from, NULL, to, NULL, COPY_BYTES, 0);
    while (n > 0);
    if (n == 0)
        return 0;
    if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return errno;
    do
        n = sendfile(to, from, NULL, COPY_BYTES);
    while (n > 0);
    return n == 0 ? 0 : errno;
}

static int copy_file(int to, int from, const char *name, const struct statx *st)
{
    AUTO_FD int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (source < 0)
        return errno;
    AUTO_FD int copy = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (copy < 0)
        return errno;
    int why = copy_data(copy, source);
    return why ? why : carry_attributes(copy, source, st);
}

static int copy_link(int to, int from, const char *name, const struct statx *st)
{
    char text[PATH_MAX];
    const struct timespec times[] = {time_of(&st->stx_atime), time_of(&st->stx_mtime)};
    ssize_t len = readlinkat(from, name, text, sizeof(text) - 1);
    if (len < 0)
        return errno;
    text[len] = '\0';
    return symlinkat(text, to, name) == 0 && utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) == 0
               ? 0
               : errno;
}

static int carry_file(const struct carry *c, int to, int from, const char *name,
                      const struct statx *st)
{
    if (!is_of_base(c, st))
        return linkat(from, name, to, name, 0) == 0 ? 0 : errno;
    return S_ISLNK(st->stx_mode) ? copy_link(to, from, name, st) : copy_file(to, from, name, st);
}

static int fill(const struct carry *c, int to, int from, int depth);

static int fill_folder(const struct carry *c, int to, int from, const char *name,
                       const struct statx *st, int depth)
{
    AUTO_FD int source = open_folder(from, name);
    if (source < 0 || mkdirat(to, name, OWNER_MAY_ALL) != 0)
        return errno;
    AUTO_FD int copy = open_folder(to, name);
    if (copy < 0)
        return errno;
    int why = fill(c, copy, source, depth + 1);
    return why ? why : carry_attributes(copy, source, st);
}

static const char *next_name(DIR *list)
{
    const struct dirent *entry;
    while ((entry = readdir(list)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    return NULL;
}

/* A list of its own, from the first name on. */
static DIR *list_names(int dir)
{
    AUTO_FD int fd = open_folder(dir, ".");
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (list)
        (void)steal_fd(&fd);
    return list;
}

static int fill(const struct carry *c, int to, int from, int depth)
{
    AUTO_DIR DIR *list = list_names(from);
    const char *name;
    int why = 0;
    if (!list || depth > DEPTH_MAX)
        return list ? ELOOP : errno;
    while (!why && (name = next_name(list))) {
        struct statx st;
        why = look(&st, from, name);
        if (!why && st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
            why = EBUSY;
        if (!why)
            why = S_ISDIR(st.stx_mode) ? fill_folder(c, to, from, name, &st, depth)
                                       : carry_file(c, to, from, name, &st);
    }
    return why;
}

int carry_fill(const struct carry *c, int to, int from)
{
    return fill(c, to, from, 0);
}

/* A folder that is being emptied, and where to. */
struct pass {
    const struct carry *carry;
    int to, from;
};

/* Name after name, again and again until there is none, since a list that is read while it shrinks
 * may leave some out, and others may add to it. */
static int empty(const struct pass *p, int (*take)(const struct pass *p, const char *name))
{
    size_t n = 1;
    int why = 0;
    for (int i = 0; !why && n > 0; i++) {
        AUTO_DIR DIR *list = list_names(p->from);
        const char *name;
        why = !list ? errno : i < PASSES_MAX ? 0 : EBUSY;
        for (n = 0; list && !why && (name = next_name(list)); n++)
            why = take(p, name);
    }
    return why;
}

static bool is_same_time(const struct statx_timestamp *a, const struct statx_timestamp *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* By all but the inode's number, which is none of the file's where an overlay gives each name one
 * of its own. The times tell: a file that came in place of the one that was linked is younger. */
static bool is_one_file(const struct statx *a, const struct statx *b)
{
    return a->stx_nlink > 1 && a->stx_nlink == b->stx_nlink && a->stx_mode == b->stx_mode &&
           a->stx_size == b->stx_size && is_same_time(&a->stx_btime, &b->stx_btime) &&
           is_same_time(&a->stx_ctime, &b->stx_ctime) && is_same_time(&a->stx_mtime, &b->stx_mtime);
}

/* Linux 6.18 knows two names of one file apart where it was changed in the overlay, and renames
 * neither over the other (ESTALE). Then the one that is there already is as good: whoever is killed
 * here leaves a folder that is whole. */
static int rename_over(int to, int from, const char *name, const struct statx *st)
{
    struct statx there;
    if (notify_rename_unasked(from, name, to, name, 0) == 0)
        return 0;
    if (errno != ESTALE)
        return errno;
    if (look(&there, to, name) == 0 && is_one_file(&there, st))
        return 0;
    if (unlinkat(to, name, 0) == 0 && notify_rename_unasked(from, name, to, name, 0) == 0)
        return 0;
    return errno;
}

/* Else a rename between two names of one file does nothing, and leaves both. */
static int drain_file(const struct carry *c, int to, int from, const char *name,
                      const struct statx *st)
{
    int why = is_of_base(c, st) ? 0 : rename_over(to, from, name, st);
    if (why)
        return why;
    return unlinkat(from, name, 0) == 0 || errno == ENOENT ? 0 : errno;
}

static int drain_folder(const struct carry *c, int to, int from, const char *name)
{
    if (mkdirat(to, name, 0755) != 0 && errno != EEXIST)
        return errno;
    AUTO_FD int target = open_folder(to, name);
    AUTO_FD int source = open_folder(from, name);
    if (target < 0 || source < 0)
        return errno;
    int why = carry_drain(c, target, source);
    if (why)
        return why;
    return unlinkat(from, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
}

static int drain_name(const struct pass *p, const char *name)
{
    struct statx st;
    int why = look(&st, p->from, name);
    if (why)
        return why == ENOENT ? 0 : why;
    return S_ISDIR(st.stx_mode) ? drain_folder(p->carry, p->to, p->from, name)
                                : drain_file(p->carry, p->to, p->from, name, &st);
}

static bool is_closed(const struct statx *st)
{
    return (st->stx_mode & OWNER_MAY_ALL) != OWNER_MAY_ALL;
}

/* The owner of a folder that is about to go may empty it. */
static int open_up(int dir, const struct statx *st)
{
    return !is_closed(st) || fchmod(dir, (st->stx_mode & 07777) | OWNER_MAY_ALL) == 0 ? 0 : errno;
}

static int close_as(int dir, const struct statx *st)
{
    return !is_closed(st) || fchmod(dir, st->stx_mode & 07777) == 0 ? 0 : errno;
}

int carry_drain(const struct carry *c, int to, int from)
{
    const struct pass p = {c, to, from};
    struct statx target, source;
    int why = look(&target, to, "");
    if (!why)
        why = look(&source, from, "");
    if (!why)
        why = open_up(from, &source);
    if (!why)
        why = empty(&p, drain_name);
    if (!why)
        why = close_as(to, &source);
    return why ? why : set_times(to, &target);
}

static int give_folder_back(int to, int from, const char *name)
{
    AUTO_FD int target = open_folder(to, name);
    AUTO_FD int source = open_folder(from, name);
    if (target < 0 || source < 0)
        return errno;
    int why = carry_back(target, source);
    return why || unlinkat(from, name, AT_REMOVEDIR) == 0 ? why : errno;
}

static int give_name_back(const struct pass *p, const char *name)
{
    struct statx st, old;
    int why = look(&st, p->from, name);
    int absent = look(&old, p->to, name);
    if (!why && absent == ENOENT)
        return notify_rename_unasked(p->from, name, p->to, name, 0) == 0 ? 0 : errno;
    if (why || absent)
        return why ? why : absent;
    if (S_ISDIR(st.stx_mode) && S_ISDIR(old.stx_mode))
        return give_folder_back(p->to, p->from, name);
    return unlinkat(p->from, name, 0) == 0 ? 0 : errno;
}

int carry_back(int to, int from)
{
    const struct pass p = {NULL, to, from};
    return empty(&p, give_name_back);
}

static int remove_name(const struct pass *p, const char *name)
{
    if (unlinkat(p->from, name, 0) == 0 || errno == ENOENT)
        return 0;
    return errno == EISDIR ? carry_remove(p->from, name) : errno;
}

int carry_remove(int parent, const char *name)
{
    struct statx st;
    AUTO_FD int dir = open_folder(parent, name);
    if (dir < 0)
        return errno == ENOENT ? 0 : errno;
    const struct pass p = {NULL, -1, dir};
    int why = look(&st, dir, "");
    if (!why)
        why = open_up(dir, &st);
    if (!why)
        why = empty(&p, remove_name);
    return why || unlinkat(parent, name, AT_REMOVEDIR) == 0 ? why : errno;
}
