#include "runner/keep/moves.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "gate/lexpath.h"
#include "runner/base/mem.h"
#include "runner/keep/exec_args.h"
#include "runner/keep/exec_resolve.h"
#include "runner/keep/procfs.h"
#include "runner/keep/tree.h"
#include "sandbox/box.h"

enum {
    LANDLOCK_RESTRICT_SELF = 446, /* one number on every architecture */
    PROCESSES_MAX = 65536,
};

/* What a rename was called with, whichever of the three it is. */
struct rename_call {
    int from_dirfd, to_dirfd;
    uint64_t from, to;
    unsigned flags;
};

static struct rename_call call_of(const struct notice *n)
{
#ifdef SYS_rename
    if (n->call == SYS_rename)
        return (struct rename_call){AT_FDCWD, AT_FDCWD, n->args[0], n->args[1], 0};
#endif
    return (struct rename_call){
        .from_dirfd = (int)n->args[0],
        .from = n->args[1],
        .to_dirfd = (int)n->args[2],
        .to = n->args[3],
        .flags = n->call == SYS_renameat2 ? (unsigned)n->args[4] : 0,
    };
}

void moves_init(struct moves *m, const char *worktree, const int *listener_fd,
                const struct box_side *box, struct records *records)
{
    *m = (struct moves){.worktree = worktree,
                        .listener_fd = listener_fd,
                        .records = records,
                        .box = box,
                        .root_fd = -1};
}

/* By the first caller, as every process has the box's root. */
static bool open_root(struct moves *m, pid_t tid)
{
    char root[64];
    struct stat st;
    if (m->root_fd >= 0)
        return true;
    snprintf(root, sizeof root, "/proc/%d/root", (int)tid);
    AUTO_FD int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct exec_place place = {.root_fd = fd, .tid = tid, .dirfd = AT_FDCWD};
    AUTO_FD int tree = fd < 0 ? -1 : exec_resolve(&place, m->worktree, 0);
    if (tree < 0 || fstat(tree, &st) != 0)
        return false;
    m->dev = st.st_dev;
    m->root_fd = steal_fd(&fd);
    return true;
}

/* The quick way to what a relative path means, for one that stays below its start. */
static int resolve_below(pid_t tid, int dirfd, const char *path)
{
    const struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    char start[64];
    if (dirfd == AT_FDCWD)
        snprintf(start, sizeof start, "/proc/%d/cwd", (int)tid);
    else
        snprintf(start, sizeof start, "/proc/%d/fd/%d", (int)tid, dirfd);
    AUTO_FD int base = open(start, O_PATH | O_CLOEXEC);
    return base < 0 ? -1 : (int)syscall(SYS_openat2, base, path, &how, sizeof how);
}

static int resolve(const struct moves *m, pid_t tid, int dirfd, const char *path)
{
    const struct exec_place place = {.root_fd = m->root_fd, .tid = tid, .dirfd = dirfd};
    int fd = path[0] == '/' ? -1 : resolve_below(tid, dirfd, path);
    return fd >= 0 ? fd : exec_resolve(&place, path, AT_SYMLINK_NOFOLLOW);
}

static int open_source(struct moves *m, const struct notice *n)
{
    struct rename_call call = call_of(n);
    char path[EXEC_PATH_BYTES];
    if (!open_root(m, n->tid) || exec_path_read(path, n->tid, call.from) != 0)
        return -1;
    return resolve(m, n->tid, call.from_dirfd, path);
}

static bool is_folder_of_overlay(struct moves *m, const struct notice *n)
{
    struct stat st;
    AUTO_FD int fd = open_source(m, n);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_dev == m->dev;
}

static bool read_link(char ret[EXEC_PATH_BYTES], const char *link)
{
    ssize_t len = readlink(link, ret, EXEC_PATH_BYTES - 1);
    ret[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/* Who of the box has its working folder at or below this path of the box; 0: nobody any more. */
static pid_t find_who_stands(const struct moves *m, const char *folder)
{
    AUTO_TREE struct tree tree = TREE_INIT;
    char link[64], cwd[EXEC_PATH_BYTES];
    tree_list(&tree, m->box->child.pid, PROCESSES_MAX);
    for (size_t i = 0; i < tree.n; i++) {
        snprintf(link, sizeof link, "/proc/%d/cwd", (int)tree.v[i]);
        if (read_link(cwd, link) && lexpath_is_below(cwd, folder))
            return tree.v[i];
    }
    return 0;
}

/* The caller learns by EBUSY that someone stands in the folder, and the person who. */
static void tell_who_stands(struct moves *m, const struct notice *n)
{
    char link[64], folder[EXEC_PATH_BYTES], name[64];
    struct procfs_numbers inside;
    AUTO_FD int fd = open_source(m, n);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    pid_t who = fd >= 0 && read_link(folder, link) ? find_who_stands(m, folder) : 0;
    if (who == 0 || who == m->told_of || !procfs_numbers_inside(&inside, who) ||
        procfs_read(name, sizeof name, who, "comm") <= 0)
        return;
    name[strcspn(name, "\n")] = '\0';
    bool is_in_worktree = lexpath_is_below(folder, m->worktree);
    records_note(m->records,
                 "%s was not renamed (EBUSY): %s, process %ld of the box, has its working folder "
                 "in it; once that has gone elsewhere (cd) or ended, the rename works",
                 is_in_worktree ? lexpath_below(folder, m->worktree) : folder, name,
                 inside.process);
    m->told_of = who;
}

/* Have pid 1 carry it out. False: it cannot be told, or what was called is out of reach. */
static bool begin(struct moves *m, const struct notice *n)
{
    struct rename_call call = call_of(n);
    struct procfs_numbers inside;
    struct err err = ERR_INIT;
    char from[EXEC_PATH_BYTES], to[EXEC_PATH_BYTES];
    int ctl = box_side_ctl(m->box);
    if (ctl < 0 || !procfs_numbers_inside(&inside, n->tid) ||
        exec_path_read(from, n->tid, call.from) != 0 || exec_path_read(to, n->tid, call.to) != 0 ||
        !notice_lives(n->id, *m->listener_fd))
        return false;
    const struct box_rename rename = {.tid = (int)inside.thread,
                                      .from_dirfd = call.from_dirfd,
                                      .to_dirfd = call.to_dirfd,
                                      .from = from,
                                      .to = to,
                                      .flags = call.flags};
    return box_move(ctl, ++m->last_id, &rename, &err);
}

static void drop_first(struct moves *m)
{
    m->n_waiting--;
    memmove(m->waiting, m->waiting + 1, m->n_waiting * sizeof *m->waiting);
}

/* One at a time, as the kernel has it with folders. */
static void begin_next(struct moves *m)
{
    while (!m->is_moving && m->n_waiting > 0) {
        m->is_moving = begin(m, &m->waiting[0]);
        if (m->is_moving)
            return;
        notice_go_on(m->waiting[0].id, *m->listener_fd);
        drop_first(m);
    }
}

/* Those that make it unknown who is narrowed. True: it was one of them. */
static bool keep_account(struct moves *m, const struct notice *n)
{
    if (n->call == LANDLOCK_RESTRICT_SELF)
        narrowed_add(&m->narrowed, n->tid);
    else if (n->call == SYS_prctl || n->call == SYS_clone)
        m->narrowed.is_unclear = true;
    else
        return false;
    return true;
}

static bool may_be_narrowed(struct moves *m, pid_t tid)
{
    if (!narrowed_may_be(&m->narrowed, m->box->child.pid, tid))
        return false;
    if (!m->has_told)
        records_note(
            m->records,
            "a folder was not renamed (EXDEV): who wanted it may be under Landlock rules of "
            "its own, which nobody else can keep");
    m->has_told = true;
    return true;
}

void moves_take(struct moves *m, const struct notice *n)
{
    if (keep_account(m, n) || !is_folder_of_overlay(m, n) || may_be_narrowed(m, n->tid)) {
        notice_go_on(n->id, *m->listener_fd);
        return;
    }
    m->waiting = xreallocarray(m->waiting, m->n_waiting + 1, sizeof *m->waiting);
    m->waiting[m->n_waiting++] = *n;
    begin_next(m);
}

void moves_over(struct moves *m, int id, int status)
{
    if (!m->is_moving || id != m->last_id)
        return;
    m->is_moving = false;
    if (status == EBUSY)
        tell_who_stands(m, &m->waiting[0]);
    if (status == BOX_MOVE_LEFT)
        notice_go_on(m->waiting[0].id, *m->listener_fd);
    else
        notice_end(m->waiting[0].id, *m->listener_fd, status);
    drop_first(m);
    begin_next(m);
}

void moves_release(struct moves *m)
{
    auto_fd_(&m->root_fd);
    free(m->waiting);
    narrowed_release(&m->narrowed);
}
