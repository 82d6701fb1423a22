#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* Where the overlay's layers are attached while it is made; gone before the agent exists. */
#define LOWER_PATH "/.lower"
#define UNDER_PATH "/.under"
#define UPPER_PATH "/.upper"
/* What masks are made of; below /dev, which agents read but cannot write. */
#define EMPTY_FOLDER "/dev/.empty"
#define EMPTY_FILE "/dev/.nothing"

/*
 * All paths here are in the new root, which is entered first: what an agent may have planted in a
 * writable tree can lead a path astray within its own box only. Mount points are opened without
 * following any link, so not even that.
 */
static int open_place(const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Call make(path), and again once its parents exist. */
static bool make_with_parents(const char *path, int (*make)(const char *), struct err *err)
{
    char parent[PATH_MAX];
    if (make(path) == 0 || errno == EEXIST)
        return true;
    if (errno != ENOENT)
        return err_sys(err, errno, "cannot create %s in the box", path);
    size_t len = strlen(path);
    if (len >= sizeof(parent))
        return err_sys(err, ENAMETOOLONG, "cannot create %.60s... in the box", path);
    for (size_t at = 1; at < len; at++) {
        if (path[at] != '/')
            continue;
        memcpy(parent, path, at);
        parent[at] = '\0';
        if (mkdir(parent, 0755) != 0 && errno != EEXIST)
            return err_sys(err, errno, "cannot create %s in the box", parent);
    }
    if (make(path) == 0 || errno == EEXIST)
        return true;
    return err_sys(err, errno, "cannot create %s in the box", path);
}

static int make_folder(const char *path)
{
    return mkdir(path, 0755);
}

static int make_file(const char *path)
{
    int fd = openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd < 0)
        return -1;
    return close(fd);
}

/* Attach a detached mount at path, making the place first where it is missing. */
static bool attach(int tree_fd, const char *path, bool is_folder, struct err *err)
{
    AUTO_FD int place = open_place(path);
    if (place < 0 && errno == ENOENT) {
        if (!make_with_parents(path, is_folder ? make_folder : make_file, err))
            return false;
        place = open_place(path);
    }
    if (place < 0)
        return err_sys(err, errno, "cannot open the place %s in the box", path);
    if (move_mount(tree_fd, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
        return err_sys(err, errno, "cannot show something at %s in the box", path);
    return true;
}

/* The same where no link can be and the place is new: three calls less for each of many mounts. */
static bool attach_own(int tree_fd, const char *path, bool is_folder, struct err *err)
{
    if (!make_with_parents(path, is_folder ? make_folder : make_file, err))
        return false;
    if (move_mount(tree_fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
        return err_sys(err, errno, "cannot show something at %s in the box", path);
    return true;
}

static bool apply_folder(struct launch *l, const struct plan_step *step, struct err *err)
{
    (void)l;
    return make_with_parents(plan_text(step, 0), make_folder, err);
}

static bool apply_file(struct launch *l, const struct plan_step *step, struct err *err)
{
    (void)l;
    const char *path = plan_text(step, 0), *content = plan_text(step, 1);
    AUTO_FD int fd = openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    size_t len = strlen(content);
    if (fd < 0 || write(fd, content, len) != (ssize_t)len)
        return err_sys(err, errno, "cannot write %s in the box", path);
    return true;
}

static bool apply_link(struct launch *l, const struct plan_step *step, struct err *err)
{
    (void)l;
    if (symlink(plan_text(step, 1), plan_text(step, 0)) != 0)
        return err_sys(err, errno, "cannot create the link %s in the box", plan_text(step, 0));
    return true;
}

static bool apply_tree(struct launch *l, const struct plan_step *step, struct err *err)
{
    struct stat st;
    int tree = tree_take(l);
    if (step->flags & PLAN_OWN)
        return attach_own(tree, plan_text(step, 1), !(step->flags & PLAN_PLAIN), err);
    if (fstat(tree, &st) != 0)
        return err_sys(err, errno, "cannot examine %s", plan_text(step, 0));
    return attach(tree, plan_text(step, 1), S_ISDIR(st.st_mode), err);
}

static bool apply_tmpfs(struct launch *l, const struct plan_step *step, struct err *err)
{
    (void)l;
    const char *path = plan_text(step, 0);
    if (!make_with_parents(path, make_folder, err))
        return false;
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, plan_text(step, 1)) != 0)
        return err_sys(err, errno, "cannot mount a tmpfs at %s", path);
    return true;
}

static bool apply_devpts(struct launch *l, const struct plan_step *step, struct err *err)
{
    const char *path = plan_text(step, 0);
    if (!make_with_parents(path, make_folder, err))
        return false;
    if (mount("devpts", path, "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=0620") != 0)
        return err_sys(err, errno, "cannot mount a devpts of the box's own");
    launch_set(l, LAYER_PTY, LAYER_ACTIVE, "own session and devpts", "");
    return true;
}

/* Without a rule on its root Landlock refuses every queue: mq_open(3) does not go through a mount
 * that a rule on a folder above could cover. */
static bool apply_mqueue(struct launch *l, const struct plan_step *step, struct err *err)
{
    const char *path = plan_text(step, 0);
    if (l->report.layer[LAYER_IPC].state != LAYER_ACTIVE)
        return true;
    if (!make_with_parents(path, make_folder, err))
        return false;
    if (mount("mqueue", path, "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 ||
        errno == ENODEV) /* a kernel without them */
        return true;
    return err_sys(err, errno, "cannot mount the message queues of the box");
}

/* fsconfig with the kernel's own words, where it has some, in the error. */
static bool set_option(int fs_fd, const char *key, const char *value, struct err *err)
{
    unsigned cmd = value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
    if (fsconfig(fs_fd, cmd, key, value, 0) != 0)
        return err_sys(err, errno, "the kernel refuses the overlay's %s", key);
    return true;
}

static bool create_overlay(int *ret_fd, const char *lower, const char *upper, const char *work,
                           struct err *err)
{
    AUTO_FD int fs = fsopen("overlay", FSOPEN_CLOEXEC);
    if (fs < 0)
        return err_sys(err, errno, "this kernel has no overlay file system");
    if (!set_option(fs, "userxattr", NULL, err) || !set_option(fs, "lowerdir", lower, err) ||
        !set_option(fs, "upperdir", upper, err) || !set_option(fs, "workdir", work, err))
        return false;
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
        return err_sys(err, errno, "cannot create the overlay of the worktree");
    AUTO_FD int fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fd < 0)
        return err_sys(err, errno, "cannot mount the overlay of the worktree");
    /* An upper that cannot be written gives a read-only overlay and no error. */
    struct statvfs vfs;
    if (fstatvfs(fd, &vfs) != 0)
        return err_sys(err, errno, "cannot examine the overlay of the worktree");
    if (vfs.f_flag & ST_RDONLY)
        return err_set(err, ERR_SYS,
                       "the overlay of the worktree is read-only, because the folder for its "
                       "changes cannot be written by the account of the box");
    *ret_fd = steal_fd(&fd);
    return true;
}

/*
 * The layers are attached, used and detached again: an overlay takes its layers from mounts of the
 * caller's own namespace only, and upper and work must lie on one mount.
 */
static bool apply_overlay(struct launch *l, const struct plan_step *step, struct err *err)
{
    int lower = tree_take(l);
    int parent = tree_take(l);
    bool is_stacked = *plan_text(step, PLAN_OVERLAY_UNDER) != '\0';
    int under = is_stacked ? tree_take(l) : -1;
    AUTO_FD int overlay = -1;
    char upper[PATH_MAX], work[PATH_MAX];
    snprintf(upper, sizeof(upper), "%s/%s", UPPER_PATH, plan_text(step, 2));
    snprintf(work, sizeof(work), "%s/%s", UPPER_PATH, plan_text(step, 3));
    if (!attach(lower, LOWER_PATH, true, err) || !attach(parent, UPPER_PATH, true, err) ||
        (is_stacked && !attach(under, UNDER_PATH, true, err)) ||
        !create_overlay(&overlay, is_stacked ? LOWER_PATH ":" UNDER_PATH : LOWER_PATH, upper, work,
                        err))
        return false;
    if (umount2(LOWER_PATH, MNT_DETACH) != 0 || umount2(UPPER_PATH, MNT_DETACH) != 0 ||
        rmdir(LOWER_PATH) != 0 || rmdir(UPPER_PATH) != 0 ||
        (is_stacked && (umount2(UNDER_PATH, MNT_DETACH) != 0 || rmdir(UNDER_PATH) != 0)))
        return err_sys(err, errno, "cannot take the overlay's layers away");
    return attach(overlay, plan_text(step, PLAN_OVERLAY_PATH), true, err);
}

/* Cover what is open at place, or say why it is not. */
static bool mask_place(int place, const char *path, struct err *err)
{
    struct stat st;
    if (place < 0 && (errno == ENOENT || errno == ENOTDIR))
        return true;
    if (place < 0 && errno == EACCES)
        return err_set(err, ERR_SYS,
                       "%s would have to be covered, and the account of the box may not enter the "
                       "folder that holds it; show only what that account may enter (started by "
                       "root, it is that of box.user)",
                       path);
    if (place < 0 && errno == EXDEV)
        return err_set(err, ERR_SYS,
                       "%s would have to be covered, and a link on the way to it leads out of the "
                       "worktree; let it lead to a folder of the repository by a relative path",
                       path);
    if (place < 0 || fstat(place, &st) != 0)
        return err_sys(err, errno, "cannot cover %s", path);
    bool is_folder = S_ISDIR(st.st_mode);
    const char *empty = is_folder ? EMPTY_FOLDER : EMPTY_FILE;
    if (!make_with_parents(empty, is_folder ? make_folder : make_file, err))
        return false;
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                          MOUNT_ATTR_NOEXEC};
    AUTO_FD int tree = open_tree(AT_FDCWD, empty, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) != 0 ||
        move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
        return err_sys(err, errno, "cannot cover %s", path);
    return true;
}

bool mask_apply(const char *path, struct err *err)
{
    AUTO_FD int place = open_place(path);
    return mask_place(place, path, err);
}

/* A link at the end is covered itself; what it leads to has another name, by which nobody looks. */
static bool apply_cover(struct launch *l, const struct plan_step *step, struct err *err)
{
    struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    const char *folder = plan_text(step, 0), *path = plan_text(step, 1);
    (void)l;
    AUTO_FD int base = open_place(folder);
    if (base < 0)
        return err_sys(err, errno, "cannot look into %s", folder);
    AUTO_FD int place = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
    return mask_place(place, path, err);
}

static bool apply_mask(struct launch *l, const struct plan_step *step, struct err *err)
{
    (void)l;
    return mask_apply(plan_text(step, 0), err);
}

static bool apply_freeze(struct launch *l, const struct plan_step *step, struct err *err)
{
    (void)l;
    return freeze_apply(plan_text(step, 0), err);
}

/* The names of the person's keys: /proc/keys knows users and no namespaces. */
static bool cover_keys(const char *proc, struct err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/keys", proc);
    return mask_apply(path, err);
}

/* Attached here, and protected: parts of procfs that change the machine rather than the process.
 * Written before this: user.max_*. */
static bool apply_proc(struct launch *l, const struct plan_step *step, struct err *err)
{
    static const char *const parts[] = {"sys", "irq", "bus", "fs", "sysrq-trigger"};
    const unsigned long flags = MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    char path[PATH_MAX];
    AUTO_FD int proc = l->proc_fd;
    l->proc_fd = -1;
    if (!attach(proc, plan_text(step, 0), true, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        snprintf(path, sizeof(path), "%s/%s", plan_text(step, 0), parts[i]);
        if (mount(path, path, NULL, MS_BIND, NULL) != 0) {
            if (errno == ENOENT)
                continue;
            return err_sys(err, errno, "cannot protect %s", path);
        }
        if (mount(NULL, path, NULL, flags | MS_REMOUNT | MS_RDONLY, NULL) != 0)
            return err_sys(err, errno, "cannot make %s read-only", path);
    }
    return !launch_has(l, LAYER_MOUNT) || cover_keys(plan_text(step, 0), err);
}

static bool (*const apply[PLAN_KIND_COUNT])(struct launch *, const struct plan_step *,
                                            struct err *) = {
    [PLAN_FOLDER] = apply_folder, [PLAN_FILE] = apply_file,     [PLAN_LINK] = apply_link,
    [PLAN_TREE] = apply_tree,     [PLAN_TMPFS] = apply_tmpfs,   [PLAN_DEVPTS] = apply_devpts,
    [PLAN_COVER] = apply_cover,   [PLAN_MASK] = apply_mask,     [PLAN_OVERLAY] = apply_overlay,
    [PLAN_PROC] = apply_proc,     [PLAN_FREEZE] = apply_freeze, [PLAN_MQUEUE] = apply_mqueue,
};

static bool enter_new_root(const char *root, struct err *err)
{
    if (chdir(root) != 0)
        return err_sys(err, errno, "cannot enter the root of the box");
    if (syscall(SYS_pivot_root, ".", ".") != 0)
        return err_sys(err, errno, "cannot change to the root of the box (pivot_root)");
    if (umount2(".", MNT_DETACH) != 0)
        return err_sys(err, errno, "cannot take the host's root away");
    if (chdir("/") != 0)
        return err_sys(err, errno, "cannot enter the root of the box");
    return true;
}

/* Attach the empty root somewhere; any folder will do, since what it hides has been opened. */
static bool attach_root(struct launch *l, struct err *err)
{
    static const char *const places[] = {"/tmp", "/mnt", "/usr"};
    AUTO_FD int fd = l->root_fd;
    l->root_fd = -1;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (move_mount(fd, "", AT_FDCWD, places[i], MOVE_MOUNT_F_EMPTY_PATH) == 0)
            return enter_new_root(places[i], err);
        if (errno != ENOENT)
            break;
    }
    return err_sys(err, errno, "cannot attach the root of the box");
}

bool root_build(struct launch *l, struct err *err)
{
    bool has_root = launch_has(l, LAYER_MOUNT);
    if (l->n_trees == 0 && !tree_open_all(l, err))
        return false;
    if (has_root && !attach_root(l, err))
        return false;
    launch_mark(l, "new root");
    const struct plan_step *step = NULL;
    while ((step = plan_next(&l->plan, step)))
        if (apply[step->kind] && !apply[step->kind](l, step, err))
            return false;
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (has_root && mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof(attr)) != 0)
        return err_sys(err, errno, "cannot make the root of the box read-only");
    close_range(WIRE_FIRST_FREE_FD, ~0U, 0); /* the trees: one call for all */
    launch_mark(l, "mounts");
    return true;
}
