/*
 * fs, second part: whole trees, copies, and what kind of file system a path is on.
 *
 * Trees come from agents. A hostile one may be deeper than our descriptors or our stack, so the
 * walk holds at most WALK_DEPTH folders open.
 */
#include "runner/base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/subvol.h"

enum { WALK_DEPTH = 64, COPY_CHUNK_BYTES = 128 * 1024, MOUNTINFO_BYTES = 16 * 1024 * 1024 };

/* Open a folder beneath dirfd; unlike fs_open_dir(), a mount point is EXDEV. -1 with errno. */
static int open_subfolder(int dirfd, const char *name)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    long fd;
    do
        fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
    while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return (int)fd;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* One removal. Folders deeper than WALK_DEPTH are first moved up into root under fresh names: what
 * is removed, or the subvolume around, which nothing can be moved out of. */
struct removal {
    int root_fd;
    uint64_t nonce;
    uint64_t gone; /* names removed or moved up so far: each pass over a folder must add to it */
};

static bool remove_error(struct err *err, int why, const char *name)
{
    if (why == EXDEV || why == EBUSY)
        return err_set(err, ERR_REFUSED,
                       "%s is a mount point; unmount it first, nothing behind it was removed",
                       name);
    return err_sys(err, why, "cannot remove %s", name);
}

static bool remove_folder(struct removal *r, int dirfd, const char *name, int depth,
                          struct err *err);

static bool hoist(struct removal *r, int dirfd, const char *name, struct err *err)
{
    AUTO_FREE char *up = xasprintf(".removing-%016" PRIx64 "-%" PRIu64, r->nonce, r->gone);
    int moved = renameat(dirfd, name, r->root_fd, up);
    /* A folder that gets another parent must be writable itself, rename(2). */
    if (moved != 0 && errno == EACCES && fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        moved = renameat(dirfd, name, r->root_fd, up);
    if (moved != 0)
        return remove_error(err, errno, name);
    r->gone++;
    return true;
}

static bool remove_entry(struct removal *r, int dirfd, const struct dirent *entry, int depth,
                         struct err *err)
{
    if (entry->d_type != DT_DIR) {
        if (unlinkat(dirfd, entry->d_name, 0) == 0 || errno == ENOENT) {
            r->gone++;
            return true;
        }
        if (errno != EISDIR)
            return remove_error(err, errno, entry->d_name);
    }
    if (depth >= WALK_DEPTH)
        return hoist(r, dirfd, entry->d_name, err);
    return remove_folder(r, dirfd, entry->d_name, depth + 1, err);
}

/* Remove what the open folder holds. */
static bool remove_contents(struct removal *r, DIR *dir, int depth, struct err *err)
{
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry && errno != 0)
            return err_sys(err, errno, "cannot list a folder");
        if (!entry)
            return true;
        if (!is_dot(entry->d_name) && !remove_entry(r, dirfd(dir), entry, depth, err))
            return false;
    }
}

/* Open a folder to be emptied: made readable, writable and passable for its owner first. */
static int open_for_removal(int dirfd, const char *name)
{
    int fd = open_subfolder(dirfd, name);
    if (fd < 0 && errno == EACCES && fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = open_subfolder(dirfd, name);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        fchmod(fd, 0700); /* when this is not allowed the removal below says so */
    return fd;
}

static bool remove_folder(struct removal *r, int dirfd, const char *name, int depth,
                          struct err *err)
{
    AUTO_FD int fd = open_for_removal(dirfd, name);
    if (fd < 0)
        return errno == ENOENT || remove_error(err, errno, name);
    bool is_subvol = subvol_is(fd);
    if (is_subvol && subvol_drop(dirfd, name, fd)) {
        r->gone++;
        return true;
    }
    int root_above = r->root_fd;
    if (depth == 0 || is_subvol)
        r->root_fd = fd;
    AUTO_DIR DIR *dir = fdopendir(fd);
    if (!dir)
        return err_sys(err, errno, "cannot list %s", name);
    steal_fd(&fd);
    uint64_t before;
    do {
        before = r->gone;
        rewinddir(dir);
        if (!remove_contents(r, dir, depth, err))
            return false;
        if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
            r->root_fd = root_above;
            r->gone++;
            return true;
        }
        /* Not empty: folders were moved up into it, or the listing missed names that changed during
         * the walk, which readdir(3) allows. */
    } while (errno == ENOTEMPTY && r->gone > before);
    return remove_error(err, errno, name);
}

bool fs_remove_tree(int dirfd, const char *name, struct err *err)
{
    const char *last = fs_basename(name);
    if (*last == '\0' || is_dot(last))
        return err_set(err, ERR_REFUSED, "%s is not a name that can be removed", name);
    AUTO_FREE char *folder = fs_dirname(name);
    AUTO_FD int parent = fs_open_dir(dirfd, folder, err);
    if (parent < 0)
        return err->sys_errno == ENOENT;
    if (unlinkat(parent, last, 0) == 0 || errno == ENOENT)
        return true;
    if (errno != EISDIR)
        return remove_error(err, errno, name);
    struct removal r = {.root_fd = -1};
    if (getrandom(&r.nonce, sizeof(r.nonce), 0) != sizeof(r.nonce))
        return err_sys(err, errno, "cannot get random bytes");
    return remove_folder(&r, parent, last, 0, err);
}

static bool copy_by_hand(int from, int to, struct err *err)
{
    AUTO_FREE char *chunk = xmalloc(COPY_CHUNK_BYTES);
    for (;;) {
        ssize_t got = read(from, chunk, COPY_CHUNK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "cannot read");
        if (got == 0)
            return true;
        if (!fs_write_fd(to, chunk, (size_t)got, err))
            return false;
    }
}

static bool copy_contents(int from, int to, struct err *err)
{
    if (ioctl(to, FICLONE, from) == 0)
        return true;
    for (;;) {
        ssize_t put = copy_file_range(from, NULL, to, NULL, 1024 * 1024 * 1024, 0);
        if (put > 0 || (put < 0 && errno == EINTR))
            continue;
        if (put < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == EFBIG))
            return err_sys(err, errno, "cannot write");
        /* Not possible between these two, or the end (which for files of /proc comes at once): both
         * offsets are where they should be for the plain copy of the rest. */
        return copy_by_hand(from, to, err);
    }
}

/* A descriptor beneath a folder, or for AT_FDCWD any path but a symlink at its end. */
static int open_no_follow(int dirfd, const char *path, int flags, mode_t mode, struct err *err)
{
    if (dirfd != AT_FDCWD)
        return fs_open_beneath(dirfd, path, flags, mode, err);
    int fd = openat(AT_FDCWD, path, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        err_sys(err, errno, "cannot open %s", path);
    return fd;
}

static bool fill_copy(int from, int to, const struct stat *st, struct err *err)
{
    if (!copy_contents(from, to, err))
        return false;
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    /* Set-id bits are left behind: a copy is never more powerful than a fresh file. */
    if (fchmod(to, st->st_mode & 0777) != 0 || futimens(to, times) != 0)
        return err_sys(err, errno, "cannot set mode and time");
    return true;
}

bool fs_copy_file(int from_dirfd, const char *from, int to_dirfd, const char *to, struct err *err)
{
    AUTO_FD int in = open_no_follow(from_dirfd, from, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0, err);
    if (in < 0)
        return false;
    struct stat st;
    if (fstat(in, &st) != 0)
        return err_sys(err, errno, "cannot stat %s", from);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_FORMAT, "%s is not a regular file", from);
    AUTO_FREE char *folder = fs_dirname(to);
    AUTO_FD int parent = fs_open_dir(to_dirfd, folder, err);
    if (parent < 0)
        return false;
    const char *name = fs_basename(to);
    AUTO_FD int out =
        openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        return err_sys(err, errno, "cannot create %s", to);
    if (fill_copy(in, out, &st, err))
        return true;
    unlinkat(parent, name, 0);
    return err_prefix(err, "cannot copy %s", from);
}

static bool chown_entry(int parent, const char *name, bool may_be_folder, uid_t uid, gid_t gid,
                        int depth, struct err *err)
{
    AUTO_FD int fd = may_be_folder ? open_subfolder(parent, name) : -1;
    int why = errno;
    if (may_be_folder && fd < 0 && why == EXDEV)
        return err_set(err, ERR_REFUSED, "%s is a mount point", name);
    struct stat st;
    bool is_theirs = fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == uid &&
                     st.st_gid == gid;
    if (!is_theirs && fchownat(parent, name, uid, gid, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || err_sys(err, errno, "cannot change the owner of %s", name);
    if (!may_be_folder || (fd < 0 && (why == ENOTDIR || why == ELOOP || why == ENOENT)))
        return true;
    if (depth > WALK_DEPTH)
        return err_set(err, ERR_LIMIT, "%s is nested deeper than %d folders", name, WALK_DEPTH);
    AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return err_sys(err, fd < 0 ? why : errno, "cannot list %s", name);
    steal_fd(&fd);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return errno == 0 || err_sys(err, errno, "cannot list %s", name);
        bool is_folder = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
        if (!is_dot(entry->d_name) &&
            !chown_entry(dirfd(dir), entry->d_name, is_folder, uid, gid, depth + 1, err))
            return false;
    }
}

bool fs_chown_tree(int dirfd, const char *name, uid_t uid, gid_t gid, struct err *err)
{
    AUTO_FREE char *folder = fs_dirname(name);
    AUTO_FD int parent = fs_open_dir(dirfd, folder, err);
    if (parent < 0)
        return false;
    const char *last = fs_basename(name);
    struct stat st;
    if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return err_sys(err, errno, "cannot change the owner of %s", name);
    return chown_entry(parent, last, S_ISDIR(st.st_mode), uid, gid, 0, err);
}

/* Magic numbers from linux/magic.h and the file systems' own sources. */
static const struct {
    unsigned long magic;
    const char *name;
} network_magics[] = {
    {0x6969, "nfs"},        {0xff534d42, "cifs"}, {0xfe534d42, "smb2"},     {0x517b, "smb"},
    {0x01021997, "9p"},     {0x6b414653, "afs"},  {0x5346414f, "afs"},      {0x00c36400, "ceph"},
    {0x73757245, "coda"},   {0x01161970, "gfs2"}, {0x7461636f, "ocfs2"},    {0x0bd00bd0, "lustre"},
    {0x19830326, "beegfs"}, {0x47504653, "gpfs"}, {0x20030528, "orangefs"}, {0x786f4256, "vboxsf"},
    {0xbacbacbc, "vmhgfs"}, {0x564c, "ncp"},      {0x013111a8, "ibrix"},    {0xaad7aaea, "panfs"},
};

/* Every FUSE file system has the same magic; the type in mountinfo tells them apart. */
static const char *const network_fuse_types[] = {
    "virtiofs",        "fuse.sshfs",     "fuse.rclone",      "fuse.s3fs",      "fuse.glusterfs",
    "fuse.ceph",       "fuse.ceph-fuse", "fuse.curlftpfs",   "fuse.gcsfuse",   "fuse.goofys",
    "fuse.juicefs",    "fuse.JuiceFS",   "fuse.mfs",         "fuse.davfs",     "fuse.grpcfuse",
    "fuse.osxfs",      "fuse.smbnetfs",  "fuse.vmhgfs-fuse", "fuse.seaweedfs", "fuse.mount-s3",
    "fuse.nfs",        "fuse.blobfuse",  "fuse.blobfuse2",   "fuse.lizardfs",  "fuse.kio-fuse",
    "fuse.gvfsd-fuse", "fuse.moosefs",
};

enum { FUSE_MAGIC = 0x65735546 };

/* The type of the mount of a device, from proc_pid_mountinfo(5): "36 35 98:0 / /mnt rw - ext3 ..."
 */
static const char *fuse_network_type(dev_t dev)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    if (!fs_read_file(&text, AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_BYTES, &ignored))
        return NULL;
    AUTO_FREE char *device = xasprintf("%u:%u", major(dev), minor(dev));
    char *rest = text.ptr;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *fields = strstr(line, " - ");
        if (!fields)
            continue;
        strsep(&line, " ");
        strsep(&line, " ");
        const char *found = strsep(&line, " ");
        if (!found || strcmp(found, device) != 0)
            continue;
        fields += strlen(" - ");
        const char *type = strsep(&fields, " ");
        for (size_t i = 0; i < ARRAY_LEN(network_fuse_types); i++)
            if (strcmp(type, network_fuse_types[i]) == 0)
                return network_fuse_types[i];
    }
    return NULL;
}

const char *fs_network_type(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return NULL;
    unsigned long magic = (unsigned long)fs.f_type & 0xffffffff;
    for (size_t i = 0; i < ARRAY_LEN(network_magics); i++)
        if (network_magics[i].magic == magic)
            return network_magics[i].name;
    struct stat st;
    if (magic != FUSE_MAGIC || stat(path, &st) != 0)
        return NULL;
    return fuse_network_type(st.st_dev);
}

void fs_scatter(const char *path)
{
    int flags;
    AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0 || flags & FS_TOPDIR_FL)
        return;
    flags |= FS_TOPDIR_FL;
    (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}
