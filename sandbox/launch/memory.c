#include "sandbox/launch/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"

/* Nothing here fills memory faster. */
enum { FILL_BYTES_PER_MS = 8 << 20, SOONEST_MS = 2, LATEST_MS = 250, REST = 9 };

/* The start of a file below a process's folder. */
static bool read_start(char *text, size_t size, int proc_fd, const char *pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "%.20s/%s", pid, name);
    AUTO_FD int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static int64_t member_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* One that hides its memory counts with all that is resident. */
static int64_t used_by(int proc_fd, const char *pid, bool is_exact)
{
    char text[4096];
    long long resident = 0;
    if (is_exact && read_start(text, sizeof(text), proc_fd, pid, "smaps_rollup"))
        return member_bytes(text, "\nPss:") + member_bytes(text, "\nSwapPss:");
    if (!read_start(text, sizeof(text), proc_fd, pid, "statm") ||
        sscanf(text, "%*d %lld", &resident) != 1)
        return 0;
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

static int64_t used_by_all(bool is_exact)
{
    AUTO_DIR DIR *dir = opendir("/proc");
    const struct dirent *entry;
    int64_t sum = 0;
    while (dir && (entry = readdir(dir)))
        if (isdigit((unsigned char)entry->d_name[0]))
            sum += used_by(dirfd(dir), entry->d_name, is_exact);
    return sum;
}

void memory_count(struct memory *m, int64_t limit_bytes)
{
    *m = (struct memory){.limit_bytes = limit_bytes};
}

int memory_wait_ms(const struct memory *m)
{
    if (m->limit_bytes <= 0)
        return -1;
    int64_t wait_ms = m->due_ms - clock_mono_ms();
    return wait_ms < 0 ? 0 : (int)wait_ms;
}

bool memory_is_over(struct memory *m, struct err *err)
{
    int64_t began_us = clock_mono_us();
    if (m->limit_bytes <= 0 || began_us / 1000 < m->due_ms)
        return false;
    int64_t used = used_by_all(false);
    if (used > m->limit_bytes)
        used = used_by_all(true);
    if (used > m->limit_bytes) {
        err_set(err, ERR_LIMIT,
                "the box used more than its %" PRId64
                " MiB of memory and was ended; --memory gives it more",
                m->limit_bytes >> 20);
        return true;
    }
    int64_t wait_ms = (m->limit_bytes - used) / FILL_BYTES_PER_MS;
    /* A look at very many processes takes its time, of which the box has most. */
    int64_t rest_ms = SOONEST_MS + REST * (clock_mono_us() - began_us) / 1000;
    if (wait_ms > LATEST_MS)
        wait_ms = LATEST_MS;
    m->due_ms = clock_mono_ms() + (wait_ms > rest_ms ? wait_ms : rest_ms);
    return false;
}
