/*
 * boxrun: the least that makes an attempt's worktree appear as a real box does, for tests of this
 * folder alone: a mount namespace with the overlay, the gitfile over <tree>/.git, and the person's
 * git folder gone but for its objects.
 *
 *   boxrun [OPTION VALUE]... -- COMMAND ARG...
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/worktree.h"

enum { OBJECTS_MAX = 16 };

struct options {
    const char *lower, *upper, *work, *tree, *gitfile, *gitdir, *common, *scratch, *cwd, *uid, *gid;
    const char *tree_ro, *gitdir_ro, *lower2;
    const char *objects[OBJECTS_MAX];
    int object_fds[OBJECTS_MAX];
    size_t n_objects;
};

static void die(const char *what)
{
    fprintf(stderr, "boxrun: %s: %s\n", what, strerror(errno));
    exit(125);
}

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        die(path);
    close(fd);
}

static char **parse(struct options *o, char **argv)
{
    const struct {
        const char *name;
        const char **value;
    } table[] = {
        {"--lower", &o->lower},     {"--lower2", &o->lower2},
        {"--upper", &o->upper},     {"--work", &o->work},
        {"--tree", &o->tree},       {"--gitfile", &o->gitfile},
        {"--gitdir", &o->gitdir},   {"--common", &o->common},
        {"--scratch", &o->scratch}, {"--cwd", &o->cwd},
        {"--uid", &o->uid},         {"--gid", &o->gid},
        {"--tree-ro", &o->tree_ro}, {"--gitdir-ro", &o->gitdir_ro},
    };
    for (argv++; *argv && strcmp(*argv, "--") != 0; argv += 2) {
        if (strcmp(argv[0], "--objects") == 0 && o->n_objects < OBJECTS_MAX)
            o->objects[o->n_objects++] = argv[1];
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
            if (strcmp(argv[0], table[i].name) == 0)
                *table[i].value = argv[1];
    }
    return *argv ? argv + 1 : argv;
}

static void enter_namespaces(void)
{
    uid_t uid = getuid();
    gid_t gid = getgid();
    bool is_root = uid == 0;
    char map[64];
    if (unshare(CLONE_NEWNS | (is_root ? 0 : CLONE_NEWUSER)) != 0)
        die("unshare");
    if (!is_root) {
        write_text("/proc/self/setgroups", "deny");
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        write_text("/proc/self/uid_map", map);
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        write_text("/proc/self/gid_map", map);
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        die("private /");
}

static int clone_tree(const char *path)
{
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (fd < 0)
        die(path);
    return fd;
}

static void attach(int fd, const char *path, bool is_read_only)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (is_read_only && syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) != 0)
        die("mount_setattr");
    if (syscall(SYS_move_mount, fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
        die(path);
    close(fd);
}

static void bind(const char *from, const char *to, bool is_read_only)
{
    attach(clone_tree(from), to, is_read_only);
}

static void make_folder(const char *path)
{
    struct err err = ERR_INIT;
    if (!fs_mkdirs(path, 0755, &err)) {
        fprintf(stderr, "boxrun: %s\n", err.text);
        exit(125);
    }
}

static void set_option(int fs, const char *key, const char *value)
{
    if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0) != 0)
        die(key);
}

static void mount_overlay(const struct options *o)
{
    int fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
    if (fs < 0)
        die("fsopen");
    if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) != 0)
        die("userxattr");
    char lowers[8192];
    snprintf(lowers, sizeof(lowers), "%s%s%s", o->lower, o->lower2 ? ":" : "",
             o->lower2 ? o->lower2 : "");
    set_option(fs, "lowerdir", lowers);
    set_option(fs, "upperdir", o->upper);
    set_option(fs, "workdir", o->work);
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
        die("overlay");
    int fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
    if (fd < 0)
        die("fsmount");
    attach(fd, o->tree, o->tree_ro != NULL);
}

/* The person's git folder is not in the box; only the objects are, read-only. */
static void hide_common(struct options *o)
{
    for (size_t i = 0; i < o->n_objects; i++)
        o->object_fds[i] = clone_tree(o->objects[i]);
    if (o->common && mount("none", o->common, "tmpfs", 0, NULL) != 0)
        die("hide");
    for (size_t i = 0; i < o->n_objects; i++) {
        make_folder(o->objects[i]);
        attach(o->object_fds[i], o->objects[i], true);
    }
}

static void show_tree(const struct options *o)
{
    char point[4096];
    snprintf(point, sizeof(point), "%s/.git", o->tree);
    if (o->lower)
        mount_overlay(o);
    else
        bind(o->upper ? o->upper : o->tree, o->tree, o->tree_ro != NULL);
    bind(o->gitfile, point, true);
}

static void show_run(const struct options *o)
{
    if (mount("none", "/run", "tmpfs", 0, NULL) != 0)
        die("/run");
    make_folder("/run/headgate/scratch");
    make_folder(WT_INSIDE_GITDIR);
    if (o->scratch)
        bind(o->scratch, "/run/headgate/scratch", false);
    if (o->gitdir)
        bind(o->gitdir, WT_INSIDE_GITDIR, o->gitdir_ro != NULL);
}

int main(int argc, char **argv)
{
    struct options o = {.lower = NULL};
    char **command = parse(&o, argv);
    if (argc < 2 || !*command || !o.tree)
        return 125;
    enter_namespaces();
    hide_common(&o);
    show_tree(&o);
    if (o.gitdir)
        bind(o.gitdir, o.gitdir, o.gitdir_ro != NULL);
    show_run(&o);
    if (o.gid && setgid((gid_t)strtoul(o.gid, NULL, 10)) != 0)
        die("setgid");
    if (o.uid && setuid((uid_t)strtoul(o.uid, NULL, 10)) != 0)
        die("setuid");
    if (chdir(o.cwd ? o.cwd : o.tree) != 0)
        die("chdir");
    execvp(*command, command);
    die(*command);
}
