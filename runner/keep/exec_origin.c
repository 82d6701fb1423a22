#include "runner/keep/exec_origin.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runner/base/mem.h"
#include "runner/keep/procfs.h"

enum { ORIGIN_DEPTH_MAX = 64, ORIGIN_PLACES = 1024 };

struct process {
    pid_t pid, parent;
    uint64_t start_ticks;
};

static bool process_of(struct process *ret, pid_t pid)
{
    struct procfs_stat stat;
    if (!procfs_stat_of(&stat, pid))
        return false;
    *ret = (struct process){.pid = pid, .parent = stat.parent, .start_ticks = stat.start_ticks};
    return true;
}

static void add_program(struct strv *names, pid_t pid)
{
    char path[64], program[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t len = readlink(path, program, sizeof program);
    if (len > 0)
        strv_push_n(names, program, (size_t)len);
}

/* The place of a pid: its own, or the free one where it would stand. */
static struct exec_begun *place_of(const struct exec_family *f, pid_t pid)
{
    size_t i = (size_t)pid & (f->n_places - 1);
    while (f->begun[i].pid && f->begun[i].pid != pid)
        i = (i + 1) & (f->n_places - 1);
    return &f->begun[i];
}

/* NULL: it has begun none. A number that was given out again is another process. */
static const struct exec_begun *find_begun(const struct exec_family *f, const struct process *p)
{
    if (f->n_places == 0)
        return NULL;
    const struct exec_begun *b = place_of(f, p->pid);
    return b->pid && b->start_ticks == p->start_ticks ? b : NULL;
}

static bool lives(const struct exec_begun *b)
{
    struct process p;
    if (kill(b->pid, 0) != 0 && errno == ESRCH) /* most have ended: no need to read on */
        return false;
    return process_of(&p, b->pid) && p.start_ticks == b->start_ticks;
}

/* Half of the places in use: drop those that have ended, and take twice the room that is left. */
static void make_room(struct exec_family *f)
{
    struct exec_begun *old = f->begun;
    size_t n_old = f->n_places, n = 0;
    if (n_old > 0 && f->n_begun * 2 < n_old)
        return;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].pid && !lives(&old[i]))
            old[i].pid = 0;
        else
            n += old[i].pid != 0;
    f->n_places = ORIGIN_PLACES;
    while (f->n_places < n * 4)
        f->n_places *= 2;
    f->n_begun = n;
    f->begun = xcalloc(f->n_places, sizeof *f->begun);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].pid)
            *place_of(f, old[i].pid) = old[i];
    free(old);
}

void exec_family_begun(struct exec_family *f, pid_t pid, int64_t call)
{
    struct process p;
    if (pid == f->agent_pid || !process_of(&p, pid))
        return;
    make_room(f);
    struct exec_begun *b = place_of(f, pid);
    f->n_begun += b->pid == 0;
    *b = (struct exec_begun){.pid = pid, .start_ticks = p.start_ticks, .call = call};
}

void exec_family_release(struct exec_family *f)
{
    free(f->begun);
    f->begun = NULL;
    f->n_begun = f->n_places = 0;
}

static bool stat_program(struct stat *ret, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat(path, ret) == 0;
}

/* What the launcher has not become anything else yet. */
static bool is_launcher(const struct exec_family *f, const struct stat *st)
{
    return st->st_dev == f->launcher_dev && st->st_ino == f->launcher_ino;
}

void exec_family_start(struct exec_family *f, pid_t init_pid, pid_t tid)
{
    struct process p = {0};
    struct stat st = {0};
    bool is_told = stat_program(&st, tid);
    if (f->launcher_ino &&
        (!is_told || !is_launcher(f, &st) || !process_of(&p, tid) || p.parent != init_pid))
        return;
    f->init_pid = init_pid;
    f->agent_pid = tid; /* just forked: its only thread */
    if (is_told) {
        f->launcher_dev = st.st_dev;
        f->launcher_ino = st.st_ino;
    }
}

bool exec_family_holds(const struct exec_family *f, pid_t pid)
{
    struct process p = {0};
    for (int depth = 0; depth < ORIGIN_DEPTH_MAX && pid > 0 && pid != f->init_pid; depth++) {
        if (pid == f->agent_pid)
            return true;
        if (!process_of(&p, pid))
            return false;
        pid = p.parent;
    }
    return false;
}

static bool is_own_program(const struct exec_family *f, const struct stat *st)
{
    for (size_t i = 0; i < f->n_own; i++)
        if (f->own[i].dev == st->st_dev && f->own[i].ino == st->st_ino)
            return true;
    return false;
}

static bool runs_agent(const struct exec_family *f, pid_t pid)
{
    struct stat a, b;
    return stat_program(&a, pid) &&
           (is_own_program(f, &a) ||
            (stat_program(&b, f->agent_pid) && a.st_dev == b.st_dev && a.st_ino == b.st_ino));
}

void exec_family_own(struct exec_family *f, dev_t dev, ino_t ino)
{
    const struct stat st = {.st_dev = dev, .st_ino = ino};
    if (f->n_own == EXEC_OWN_PROGRAMS || is_own_program(f, &st))
        return;
    f->own[f->n_own].dev = dev;
    f->own[f->n_own++].ino = ino;
}

/* pid 1's own child, before it became the program that it was forked for. */
static bool is_start(const struct exec_family *f, pid_t group)
{
    struct stat st;
    return stat_program(&st, group) && is_launcher(f, &st);
}

void exec_origin_of(struct exec_origin *ret, const struct exec_family *f, pid_t tid)
{
    struct process p = {0};
    pid_t group = procfs_group(tid), at = group;
    *ret = (struct exec_origin){0};
    for (int depth = 0; depth < ORIGIN_DEPTH_MAX && at > 0 && at != f->init_pid; depth++) {
        if (!process_of(&p, at))
            break;
        const struct exec_begun *begun = find_begun(f, &p);
        if (begun) {
            ret->call = begun->call;
            return;
        }
        if (at == f->agent_pid) {
            ret->is_own = !f->is_setup && !is_start(f, group);
            return;
        }
        at = p.parent;
    }
    ret->is_own = !f->is_setup && !is_start(f, group) && runs_agent(f, group);
}

void exec_origin_parents(struct strv *out, const struct exec_family *f, pid_t tid)
{
    struct process p = {0};
    pid_t at = procfs_group(tid);
    for (int depth = 0; depth < ORIGIN_DEPTH_MAX && at > 0 && at != f->init_pid; depth++) {
        if (!process_of(&p, at))
            return;
        add_program(out, at);
        if (at == f->agent_pid)
            return;
        at = p.parent;
    }
}
