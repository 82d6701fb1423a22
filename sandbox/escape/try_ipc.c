#include "sandbox/launch/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* Daemons, sockets, siblings and the network, tried from inside (probe.h). */

static int from(long result)
{
    return result < 0 ? errno : 0;
}

static int connect_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? errno : from(connect(fd, (struct sockaddr *)&address, sizeof(address)));
}

/* The socket that a variable of the environment names, as a client of its daemon would. */
static int connect_named(const char *variable)
{
    const char *value = getenv(variable);
    if (!value)
        return ENOENT;
    const char *path = strchr(value, '/');
    return path ? connect_socket(path) : EINVAL;
}

static int has_variable(const char *name)
{
    return getenv(name) ? 0 : ENOENT;
}

static int read_queue(const char *name)
{
    mqd_t queue = mq_open(name, O_RDONLY | O_CLOEXEC);
    if (queue == (mqd_t)-1)
        return errno;
    mq_close(queue);
    return 0;
}

static int find_semaphores(const char *key)
{
    return from(semget((key_t)atol(key), 0, 0));
}

static int find_messages(const char *key)
{
    return from(msgget((key_t)atol(key), 0));
}

static int end_process(const char *pid)
{
    return from(kill((pid_t)atol(pid), SIGCONT)); /* harmless, and refused as any other */
}

static struct sockaddr_in loopback(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(port)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Two datagrams: the second tells what came of the first. */
static int send_datagrams(const char *port)
{
    struct sockaddr_in address = loopback(port);
    AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        send(fd, "x", 1, 0) < 0)
        return errno;
    return from(send(fd, "x", 1, 0));
}

/* Data before the connection is made (TCP Fast Open). */
static int send_early(const char *port)
{
    struct sockaddr_in address = loopback(port);
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? errno
                  : from(sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address,
                                sizeof(address)));
}

/* A route to an address, asked for without a packet that leaves: what connecting a datagram socket
 * does. */
static int find_route(const char *ip)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(53)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(53)};
    bool is_v6 = strchr(ip, ':') != NULL;
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, ip,
                  is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1)
        return EINVAL;
    AUTO_FD int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    return from(is_v6 ? connect(fd, (struct sockaddr *)&v6, sizeof(v6))
                      : connect(fd, (struct sockaddr *)&v4, sizeof(v4)));
}

static int other_protocol(const char *number)
{
    int protocol = atoi(number);
    AUTO_FD int fd = socket(AF_INET, protocol == IPPROTO_ICMP ? SOCK_DGRAM : SOCK_STREAM, protocol);
    return from(fd);
}

/* Listen on a port of the loopback interface: two boxes may both. */
static int listen_on(const char *port)
{
    struct sockaddr_in address = loopback(port);
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        return errno;
    return from(listen(fd, 1));
}

static bool open_all(const char *name, const char *port, key_t key)
{
    struct sockaddr_un abstract = {.sun_family = AF_UNIX};
    struct sockaddr_in address = loopback(port);
    char path[256];
    int tcp = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(abstract.sun_path + 1, sizeof(abstract.sun_path) - 1, "%s", name);
    if (bind(tcp, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(tcp, 16) != 0 ||
        bind(local, (struct sockaddr *)&abstract,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) != 0 ||
        listen(local, 16) != 0)
        return false;
    snprintf(path, sizeof(path), "/tmp/%s", name);
    AUTO_FD int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    snprintf(path, sizeof(path), "/%s", name);
    AUTO_FD int memory = shm_open(path, O_RDWR | O_CREAT, 0666);
    mq_open(path, O_RDWR | O_CREAT, 0666, NULL); /* not with Landlock: it lies in no folder */
    return file >= 0 && memory >= 0 && shmget(key, 4096, IPC_CREAT | 0666) >= 0 &&
           semget(key, 1, IPC_CREAT | 0666) >= 0 && msgget(key, IPC_CREAT | 0666) >= 0;
}

static void remove_all(const char *name, key_t key)
{
    char path[256];
    snprintf(path, sizeof(path), "/tmp/%s", name);
    unlink(path);
    snprintf(path, sizeof(path), "/%s", name);
    shm_unlink(path);
    mq_unlink(path);
    shmctl(shmget(key, 0, 0), IPC_RMID, NULL);
    semctl(semget(key, 0, 0), 0, IPC_RMID);
    msgctl(msgget(key, 0), IPC_RMID, NULL);
}

/* Be there until standard input ends; with "NAME PORT KEY", with one of everything that a sibling
 * could find. */
static int hold(const char *argument)
{
    char name[64] = "", port[16] = "", c;
    long key = 0;
    bool is_rich = sscanf(argument, "%63s %15s %ld", name, port, &key) == 3;
    if (is_rich && !open_all(name, port, (key_t)key)) {
        int why = errno;
        remove_all(name, (key_t)key);
        return why;
    }
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) > 0)
        continue;
    if (is_rich)
        remove_all(name, (key_t)key);
    return PROBE_PRINTED;
}

const struct probe_attempt probe_ipc[] = {
    {"connect-socket", connect_socket},
    {"connect-named", connect_named},
    {"variable", has_variable},
    {"queue", read_queue},
    {"semaphores", find_semaphores},
    {"messages", find_messages},
    {"end", end_process},
    {"datagrams", send_datagrams},
    {"early-data", send_early},
    {"route", find_route},
    {"protocol", other_protocol},
    {"listen", listen_on},
    {"hold", hold},
    {NULL, NULL},
};
