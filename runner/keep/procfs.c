#include "runner/keep/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/mem.h"

enum {
    STAT_BYTES = 1024,
    STATUS_BYTES = 4096,
    FIELD_PARENT = 1,
    FIELD_START = 19
}; /* counted from the state on */

ssize_t procfs_read(char *ret, size_t size, pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n;
}

/* The last number of a line of status, which is the one inside (NStgid, NSpid: proc(5)); 0: none.
 */
static long number_inside(const char *status, const char *key)
{
    const char *line = strstr(status, key);
    char last[64];
    if (!line)
        return 0;
    line += strlen(key);
    snprintf(last, sizeof last, "%.*s", (int)strcspn(line, "\n"), line);
    const char *tab = strrchr(last, '\t');
    return tab ? strtol(tab, NULL, 10) : 0;
}

bool procfs_numbers_inside(struct procfs_numbers *ret, pid_t tid)
{
    char status[STATUS_BYTES];
    if (procfs_read(status, sizeof status, tid, "status") <= 0)
        return false;
    ret->process = number_inside(status, "\nNStgid:");
    ret->thread = number_inside(status, "\nNSpid:");
    return ret->process > 0 && ret->thread > 0;
}

pid_t procfs_group(pid_t tid)
{
    char status[STATUS_BYTES];
    if (procfs_read(status, sizeof status, tid, "status") <= 0)
        return tid;
    const char *line = strstr(status, "\nTgid:");
    return line ? (pid_t)strtol(line + strlen("\nTgid:"), NULL, 10) : tid;
}

/* The name in brackets may hold anything, so the fields are counted behind it. */
bool procfs_stat_of(struct procfs_stat *ret, pid_t pid)
{
    char text[STAT_BYTES];
    if (procfs_read(text, sizeof text, pid, "stat") <= 0)
        return false;
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    ret->state = at[2];
    at += 2;
    for (int field = 1; field <= FIELD_START; field++) {
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
        if (field == FIELD_PARENT)
            ret->parent = (pid_t)strtol(at, NULL, 10);
    }
    ret->start_ticks = strtoull(at, NULL, 10);
    return true;
}
