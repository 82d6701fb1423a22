#include "runner/keep/freeze.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/procfs.h"
#include "runner/keep/tree.h"

enum { FREEZE_ROUNDS = 32, FREEZE_PROCESSES = 65536 };

/* cgroup version 2; the older freezer is a hierarchy of its own, which boxes are not in. */
static bool set_group(const struct freeze *f, bool frozen)
{
    for (size_t i = 0; f->groups && i < f->groups->n; i++) {
        AUTO_FREE char *path = fs_join(f->groups->v[i], "cgroup.freeze");
        AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0 && write(fd, frozen ? "1" : "0", 1) == 1)
            return true;
    }
    return false;
}

/* Stopped already, by whomever, or over. */
static bool stands_still(pid_t pid)
{
    struct procfs_stat stat;
    return !procfs_stat_of(&stat, pid) || strchr("TZXx", stat.state) != NULL;
}

static bool was_stopped(const struct freeze *f, pid_t pid)
{
    for (size_t i = 0; i < f->n_stopped; i++)
        if (f->stopped[i].pid == pid)
            return true;
    return false;
}

/* True when it is another one that has to stop. */
static bool stop(struct freeze *f, pid_t pid)
{
    struct proc_id id;
    struct err gone = ERR_INIT;
    if (was_stopped(f, pid) || stands_still(pid) || !proc_id_of(&id, pid, &gone) ||
        kill(pid, SIGSTOP) != 0)
        return false;
    f->stopped = xreallocarray(f->stopped, f->n_stopped + 1, sizeof *f->stopped);
    f->stopped[f->n_stopped++] = id;
    return true;
}

/* What was forked meanwhile is found in the next round. */
static void stop_all(struct freeze *f)
{
    bool is_new = true;
    for (int round = 0; is_new && round < FREEZE_ROUNDS; round++) {
        AUTO_TREE struct tree tree = TREE_INIT;
        is_new = false;
        tree_list(&tree, f->init_pid, FREEZE_PROCESSES);
        for (size_t i = 1; i < tree.n; i++)
            is_new |= stop(f, tree.v[i]);
    }
}

static void continue_all(struct freeze *f)
{
    while (f->n_stopped > 0) {
        const struct proc_id *id = &f->stopped[--f->n_stopped];
        struct proc_id now;
        struct err gone = ERR_INIT;
        if (proc_id_of(&now, id->pid, &gone) && now.start_ticks == id->start_ticks)
            kill(id->pid, SIGCONT);
    }
}

void freeze_set(struct freeze *f, bool frozen)
{
    if (frozen && !f->is_over && f->init_pid > 0) {
        if (!f->is_frozen && set_group(f, true))
            f->is_frozen = true;
        else if (f->may_stop && (!f->is_frozen || f->n_stopped > 0)) {
            f->is_frozen = true;
            stop_all(f);
        }
    } else if (!frozen && f->is_frozen) {
        f->is_frozen = false;
        set_group(f, false);
        continue_all(f);
    }
}

void freeze_end(struct freeze *f)
{
    freeze_set(f, false);
    f->is_over = true;
}

void freeze_release(struct freeze *f)
{
    free(f->stopped);
    *f = (struct freeze){0};
}
