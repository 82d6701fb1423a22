#include "runner/keep/exec_origin.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { ORIGIN_DEPTH_MAX = 64, ORIGIN_STAT_BYTES = 4096 };

struct process {
    pid_t pid, parent;
    uint64_t start_ticks;
};

void exec_origin_release(struct exec_origin *o)
{
    strv_release(&o->parents);
}

/* proc_pid_stat(5): the name in brackets may hold anything, so the fields are counted behind it. */
static bool process_of(struct process *ret, pid_t pid)
{
    char path[64];
    AUTO_BUF struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    int parent = 0;
    uint64_t start = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!fs_read_file(&text, AT_FDCWD, path, ORIGIN_STAT_BYTES, &err))
        return false;
    const char *at = strrchr(text.ptr, ')');
    if (!at || sscanf(at,
                      ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                      "%*d %" SCNu64,
                      &parent, &start) != 2)
        return false;
    *ret = (struct process){.pid = pid, .parent = parent, .start_ticks = start};
    return true;
}

static pid_t group_of(pid_t tid)
{
    char path[64];
    AUTO_BUF struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    int group = tid;
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    if (fs_read_file(&text, AT_FDCWD, path, ORIGIN_STAT_BYTES, &err)) {
        const char *line = strstr(text.ptr, "\nTgid:");
        if (line)
            sscanf(line, "\nTgid: %d", &group);
    }
    return group;
}

static void add_program(struct strv *names, pid_t pid)
{
    char path[64], program[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t len = readlink(path, program, sizeof program);
    if (len > 0)
        strv_push_n(names, program, (size_t)len);
}

static bool has_begun(const struct exec_family *f, const struct process *p)
{
    for (size_t i = 0; i < EXEC_ORIGIN_BEGUN; i++)
        if (f->begun[i].pid == p->pid && f->begun[i].start_ticks == p->start_ticks)
            return true;
    return false;
}

void exec_family_begun(struct exec_family *f, pid_t pid)
{
    struct process p;
    if (pid == f->agent_pid || !process_of(&p, pid) || has_begun(f, &p))
        return;
    f->begun[f->next].pid = pid;
    f->begun[f->next].start_ticks = p.start_ticks;
    f->next = (f->next + 1) % EXEC_ORIGIN_BEGUN;
}

static bool stat_program(struct stat *ret, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat(path, ret) == 0;
}

void exec_family_start(struct exec_family *f, pid_t init_pid, pid_t tid)
{
    struct stat st = {0};
    f->init_pid = init_pid;
    f->agent_pid = tid; /* just forked: its only thread */
    if (stat_program(&st, tid)) {
        f->launcher_dev = st.st_dev;
        f->launcher_ino = st.st_ino;
    }
}

static bool runs_program_of(pid_t pid, pid_t other)
{
    struct stat a, b;
    return stat_program(&a, pid) && stat_program(&b, other) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* pid 1's own child, before it became the program that it was forked for. */
static bool is_start(const struct exec_family *f, pid_t group)
{
    struct stat st;
    return stat_program(&st, group) && st.st_dev == f->launcher_dev && st.st_ino == f->launcher_ino;
}

void exec_origin_of(struct exec_origin *ret, struct exec_family *f, pid_t tid)
{
    struct process p = {0};
    pid_t group = group_of(tid);
    bool is_below = is_start(f, group);
    ret->is_own = false;
    pid_t at = group;
    for (int depth = 0; depth < ORIGIN_DEPTH_MAX && at > 0 && at != f->init_pid; depth++) {
        if (!process_of(&p, at))
            break;
        is_below = is_below || has_begun(f, &p);
        add_program(&ret->parents, at);
        if (at == f->agent_pid) {
            ret->is_own = !is_below && !f->is_setup;
            return;
        }
        at = p.parent;
    }
    ret->is_own = !is_below && !f->is_setup && runs_program_of(group, f->agent_pid);
}
