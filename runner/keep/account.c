#include "runner/keep/account.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/mem.h"
#include "runner/keep/tree.h"

enum {
    ACCOUNT_EVERY_MS = 500,
    ACCOUNT_NEAR_MS = 50, /* above half of the memory limit */
    ACCOUNT_MAX_PIDS = 16384,
    ACCOUNT_TOLD_STEP = 16, /* a change by 1/16 is told */
};

static bool account_read(struct buf *out, const char *path)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    buf_clear(out);
    if (fd < 0)
        return false;
    char chunk[4096];
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        buf_add(out, chunk, (size_t)n);
    return true;
}

/* Second field of statm: resident pages (proc(5)). */
static int64_t account_resident(struct buf *text, pid_t pid)
{
    char path[64];
    long long resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    if (account_read(text, path) && sscanf(text->ptr, "%*d %lld", &resident) != 1)
        resident = 0;
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

static int64_t account_rollup_member(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) * 1024 : 0;
}

static int64_t account_memory(struct buf *text, pid_t pid, bool is_exact)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    if (is_exact && account_read(text, path) && text->len > 0)
        return account_rollup_member(text->ptr, "\nPss:") +
               account_rollup_member(text->ptr, "\nSwapPss:");
    return account_resident(text, pid);
}

void account_measure(struct account_usage *ret, pid_t root, bool is_exact, int64_t max_pids)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_TREE struct tree tree = TREE_INIT;
    *ret = (struct account_usage){0};
    tree_list(&tree, root, (size_t)max_pids);
    for (size_t i = 0; i < tree.n; i++)
        ret->memory_bytes += account_memory(&text, tree.v[i], is_exact);
    ret->pids = (int64_t)tree.n;
}

static bool account_differs(int64_t now, int64_t before)
{
    int64_t difference = now > before ? now - before : before - now;
    return difference > before / ACCOUNT_TOLD_STEP;
}

static void account_tell(struct account *a, const struct account_usage *usage)
{
    if (!account_differs(usage->memory_bytes, a->told.memory_bytes) && usage->pids == a->told.pids)
        return;
    a->told = *usage;
    a->ops->usage(a->arg, usage);
}

static void account_on_timer(uv_timer_t *timer)
{
    struct account *a = timer->data;
    struct account_usage usage;
    int64_t max_pids = a->pids ? a->pids + 1 : ACCOUNT_MAX_PIDS;
    account_measure(&usage, a->root, false, max_pids);
    if (a->memory_bytes && usage.memory_bytes > a->memory_bytes)
        account_measure(&usage, a->root, true, max_pids);
    account_tell(a, &usage);
    bool is_over = a->memory_bytes && usage.memory_bytes > a->memory_bytes;
    if (is_over || (a->pids && usage.pids > a->pids)) {
        account_stop(a);
        a->ops->exceeded(a->arg, is_over);
        return;
    }
    bool is_near = a->memory_bytes && usage.memory_bytes > a->memory_bytes / 2;
    uv_timer_start(&a->timer, account_on_timer, is_near ? ACCOUNT_NEAR_MS : ACCOUNT_EVERY_MS, 0);
}

void account_init(struct account *a, uv_loop_t *loop, const struct account_ops *ops, void *arg)
{
    *a = (struct account){.ops = ops, .arg = arg};
    uv_timer_init(loop, &a->timer);
    a->timer.data = a;
}

void account_start(struct account *a, pid_t root, int64_t memory_bytes, int64_t pids)
{
    a->root = root;
    a->memory_bytes = memory_bytes;
    a->pids = pids;
    uv_timer_start(&a->timer, account_on_timer, ACCOUNT_NEAR_MS, 0);
}

void account_stop(struct account *a)
{
    uv_timer_stop(&a->timer);
}

void account_close(struct account *a)
{
    if (!uv_is_closing((uv_handle_t *)&a->timer))
        uv_close((uv_handle_t *)&a->timer, NULL);
}
