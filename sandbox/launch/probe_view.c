#include "sandbox/launch/probe.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/mem.h"

static int from(int result)
{
    return result < 0 ? errno : 0;
}

static int read_file(const char *path)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    char c;
    return fd < 0 || read(fd, &c, 1) < 0 ? errno : 0;
}

static int write_file(const char *path)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    return from(fd);
}

static int create_file(const char *path)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    unlink(path);
    return 0;
}

static int remove_file(const char *path)
{
    return from(unlink(path));
}

static int truncate_file(const char *path)
{
    return from(truncate(path, 0));
}

static int make_device(const char *path)
{
    return from(mknod(path, S_IFCHR | 0600, 0x103));
}

/* The number of ids that the user namespace maps. */
static int mapped_uids(const char *unused)
{
    (void)unused;
    AUTO_FILE FILE *file = fopen("/proc/self/uid_map", "re");
    unsigned long inside, outside, count, sum = 0;
    if (!file)
        return errno;
    while (fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3)
        sum += count;
    printf("%lu\n", sum);
    return PROBE_PRINTED;
}

static int processes(const char *unused)
{
    (void)unused;
    AUTO_DIR DIR *dir = opendir("/proc");
    unsigned n = 0;
    const struct dirent *entry;
    if (!dir)
        return errno;
    while ((entry = readdir(dir)))
        n += isdigit((unsigned char)entry->d_name[0]) != 0;
    printf("%u\n", n);
    return PROBE_PRINTED;
}

static int signal_process(const char *pid)
{
    return from(kill((pid_t)atol(pid), 0));
}

static int shared_memory(const char *key)
{
    return from(shmget((key_t)atol(key), 1, 0));
}

static int host_name(const char *unused)
{
    char name[256];
    (void)unused;
    if (gethostname(name, sizeof(name)) != 0)
        return errno;
    puts(name);
    return PROBE_PRINTED;
}

static int interfaces(const char *unused)
{
    (void)unused;
    struct if_nameindex *all = if_nameindex();
    if (!all)
        return errno;
    for (const struct if_nameindex *i = all; i->if_name; i++)
        printf("%s%s", i == all ? "" : " ", i->if_name);
    putchar('\n');
    if_freenameindex(all);
    return PROBE_PRINTED;
}

static int connect_to(const struct sockaddr *address, socklen_t len, int type)
{
    AUTO_FD int fd = socket(address->sa_family, type | SOCK_CLOEXEC, 0);
    return fd < 0 ? errno : from(connect(fd, address, len));
}

static int connect_loopback(const char *port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(port)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    return connect_to((const struct sockaddr *)&address, sizeof(address), SOCK_STREAM);
}

static int connect_away(const char *ip)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(443)};
    if (inet_pton(AF_INET, ip, &address.sin_addr) != 1)
        return EINVAL;
    return connect_to((const struct sockaddr *)&address, sizeof(address), SOCK_STREAM);
}

static int connect_abstract(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strnlen(name, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path + 1, name, len);
    return connect_to((const struct sockaddr *)&address,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len), SOCK_STREAM);
}

/* "/" when every hierarchy shows this process at its root. */
static int cgroup_path(const char *unused)
{
    (void)unused;
    char line[4096];
    AUTO_FILE FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return errno;
    while (fgets(line, sizeof(line), file)) {
        const char *names = strchr(line, ':');
        const char *path = names ? strchr(names + 1, ':') : NULL;
        if (path && strcmp(path + 1, "/\n") != 0) {
            printf("%s", path + 1);
            return PROBE_PRINTED;
        }
    }
    puts("/");
    return PROBE_PRINTED;
}

/* Start so many children at once. */
static int start_children(const char *count)
{
    int wanted = atoi(count), why = 0;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    for (int i = 0; i < wanted && why == 0; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            char c;
            close(ends[1]);
            _exit(read(ends[0], &c, 1) < 0); /* until the parent lets go */
        }
        why = pid < 0 ? errno : 0;
    }
    close(ends[1]);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    return why;
}

static int touch_memory(const char *mebibytes)
{
    size_t size = (size_t)atol(mebibytes) << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    memset(memory, 1, size);
    sleep(1); /* where it is counted now and then, it is kept until then */
    return 0;
}

/* Of no process: a file in memory that nobody maps. */
static int fill_memory_file(const char *mebibytes)
{
    static char chunk[1 << 20];
    AUTO_FD int fd = (int)syscall(SYS_memfd_create, "headgate-escape", 0);
    if (fd < 0)
        return errno;
    memset(chunk, 1, sizeof(chunk));
    for (int i = atoi(mebibytes); i > 0; i--)
        if (write(fd, chunk, sizeof(chunk)) < 0)
            return errno;
    return 0;
}

/* Fields of /proc/PID/status, joined by spaces: "1 CapEff CapBnd". */
static int status_fields(const char *argument)
{
    char path[64], line[512], names[256];
    bool is_first = true;
    int pid_len = (int)strcspn(argument, " ");
    snprintf(path, sizeof(path), "/proc/%.*s/status", pid_len, argument);
    AUTO_FILE FILE *file = fopen(path, "re");
    if (!file)
        return errno;
    snprintf(names, sizeof(names), "%s ", argument + pid_len);
    while (fgets(line, sizeof(line), file)) {
        char name[64];
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = '\0';
        snprintf(name, sizeof(name), " %.60s ", line);
        if (!strstr(names, name))
            continue;
        colon += 1 + strspn(colon + 1, "\t ");
        colon[strcspn(colon, "\n")] = '\0';
        printf("%s%s", is_first ? "" : " ", colon);
        is_first = false;
    }
    putchar('\n');
    return PROBE_PRINTED;
}

/* Open descriptors beyond the standard three, but for the one that lists them. */
static int open_files(const char *unused)
{
    (void)unused;
    unsigned n = 0;
    for (int fd = 3; fd < 4096; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    printf("%u\n", n);
    return PROBE_PRINTED;
}

static int is_terminal(const char *unused)
{
    (void)unused;
    AUTO_FD int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    return from(fd);
}

const struct probe_attempt probe_views[] = {
    {"read", read_file},
    {"write", write_file},
    {"create", create_file},
    {"remove", remove_file},
    {"truncate", truncate_file},
    {"mknod", make_device},
    {"uids", mapped_uids},
    {"processes", processes},
    {"signal", signal_process},
    {"shm", shared_memory},
    {"hostname", host_name},
    {"interfaces", interfaces},
    {"connect", connect_loopback},
    {"connect-away", connect_away},
    {"connect-abstract", connect_abstract},
    {"cgroup", cgroup_path},
    {"children", start_children},
    {"memory", touch_memory},
    {"memory-file", fill_memory_file},
    {"status", status_fields},
    {"descriptors", open_files},
    {"tty", is_terminal},
    {NULL, NULL},
};
