#include "runner/keep/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { TREE_CHILDREN_BYTES = 1024 * 1024 };

void tree_release(struct tree *t)
{
    free(t->v);
    *t = (struct tree)TREE_INIT;
}

static void push(struct tree *t, pid_t pid)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 64;
        t->v = xreallocarray(t->v, t->cap, sizeof *t->v);
    }
    t->v[t->n++] = pid;
}

/* Children belong to the thread that forked them, so each thread is asked (proc(5)). */
static void add_children(struct tree *t, pid_t pid)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    AUTO_DIR DIR *tasks = opendir(path);
    if (!tasks)
        return;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        AUTO_BUF struct buf text = BUF_INIT;
        struct err gone = ERR_INIT;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, entry->d_name);
        if (!fs_read_file(&text, AT_FDCWD, path, TREE_CHILDREN_BYTES, &gone))
            continue;
        char *next = text.ptr;
        for (long child; (child = strtol(next, &next, 10)) > 0;)
            push(t, (pid_t)child);
    }
}

void tree_list(struct tree *ret, pid_t root, size_t max)
{
    push(ret, root);
    for (size_t i = 0; i < ret->n && ret->n < max; i++)
        add_children(ret, ret->v[i]);
}
