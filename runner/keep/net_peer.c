#include "runner/keep/net_peer.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum {
    PEER_TABLE_BYTES = 1024 * 1024,
    PEER_PROCESSES = 1024,
    PEER_DESCRIPTORS = 4096, /* of all processes together */
    PEER_CHILDREN_BYTES = 64 * 1024,
};

/* Lines of /proc/PID/net/tcp, proc(5): "sl local:port remote:port st queues timer retr uid timeout
 * inode". */
static uint64_t find_inode(pid_t init_pid, bool is_v6, uint16_t port, uint16_t proxy_port)
{
    char path[64];
    AUTO_BUF struct buf table = BUF_INIT;
    struct err ignored = ERR_INIT;
    snprintf(path, sizeof path, "/proc/%d/net/tcp%s", (int)init_pid, is_v6 ? "6" : "");
    if (!fs_read_file(&table, AT_FDCWD, path, PEER_TABLE_BYTES, &ignored))
        return 0;
    for (const char *line = table.ptr; (line = strchr(line, '\n')) && line[1]; line++) {
        unsigned local = 0, remote = 0;
        uint64_t inode = 0;
        if (sscanf(line + 1, " %*d: %*[0-9A-F]:%X %*[0-9A-F]:%X %*X %*s %*s %*X %*u %*u %" SCNu64,
                   &local, &remote, &inode) == 3 &&
            local == port && remote == proxy_port)
            return inode;
    }
    return 0;
}

static bool holds(pid_t pid, const char *link, int *left)
{
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    AUTO_DIR DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) && (*left)-- > 0) {
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        if (strcmp(target, link) == 0)
            return true;
    }
    return false;
}

struct queue {
    pid_t pids[PEER_PROCESSES];
    size_t n;
};

/* Each thread has children of its own. */
static void add_children(struct queue *q, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    AUTO_DIR DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        AUTO_BUF struct buf text = BUF_INIT;
        struct err ignored = ERR_INIT;
        AUTO_FREE char *file = xasprintf("%s/%s/children", path, entry->d_name);
        if (entry->d_name[0] == '.' ||
            !fs_read_file(&text, AT_FDCWD, file, PEER_CHILDREN_BYTES, &ignored))
            continue;
        char *at = text.ptr, *end;
        for (long child; q->n < PEER_PROCESSES && (child = strtol(at, &end, 10)) > 0; at = end)
            q->pids[q->n++] = (pid_t)child;
    }
}

pid_t net_peer_find(pid_t init_pid, bool is_v6, uint16_t port, uint16_t proxy_port)
{
    char link[64];
    struct queue q = {.n = 0};
    int left = PEER_DESCRIPTORS;
    uint64_t inode = find_inode(init_pid, is_v6, port, proxy_port);
    if (inode == 0)
        return 0;
    snprintf(link, sizeof link, "socket:[%" PRIu64 "]", inode);
    add_children(&q, init_pid);
    for (size_t i = 0; i < q.n && left > 0; i++) {
        if (holds(q.pids[i], link, &left))
            return q.pids[i];
        add_children(&q, q.pids[i]);
    }
    return 0;
}
