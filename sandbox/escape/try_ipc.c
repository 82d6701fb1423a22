#include "sandbox/launch/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
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

/* Any of several. */
static int connect_any(const char *paths)
{
    AUTO_FREE char *list = xstrdup(paths);
    int why = ENOENT;
    for (char *rest = list, *path; why != 0 && (path = strsep(&rest, " "));)
        why = connect_socket(path);
    return why;
}

/* "LINK SOCKET": by a name made in a folder that is ours. */
static int connect_by(const char *argument, int (*make)(const char *, const char *))
{
    char path[108];
    const char *target = strchr(argument, ' ');
    if (!target || sscanf(argument, "%107s", path) != 1)
        return EINVAL;
    if (make(target + 1, path) != 0)
        return errno;
    int why = connect_socket(path);
    unlink(path);
    return why;
}

static int connect_by_link(const char *argument)
{
    return connect_by(argument, symlink);
}

static int connect_by_hard_link(const char *argument)
{
    return connect_by(argument, link);
}

/* The socket that a variable of the environment names, as a client of its daemon would. */
static int connect_named(const char *variable)
{
    const char *value = getenv(variable);
    const char *path = value ? strchr(value, '/') : NULL;
    if (!path)
        return value ? EINVAL : ENOENT;
    AUTO_FREE char *only = xstrndup(path, strcspn(path, ",:"));
    return connect_socket(only);
}

/* A folder that whoever listens on the abstract socket gives away, and a file made in it. */
static int receive_folder(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char c, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&c, 1};
    struct msghdr head = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control,
                          .msg_controllen = sizeof(control)};
    int folder = -1;
    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name);
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) != 0 ||
        recvmsg(fd, &head, 0) != 1)
        return errno;
    const struct cmsghdr *got = CMSG_FIRSTHDR(&head);
    if (got)
        memcpy(&folder, CMSG_DATA(got), sizeof(folder));
    return from(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Every process that a signal reaches, and this one's own parent is one of them. */
static int end_all(const char *unused)
{
    (void)unused;
    return from(kill(-1, SIGKILL));
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

/* Returns what listens on the abstract socket; negative: it could not all be had. */
static int open_all(const char *name, const char *port, key_t key)
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
        return -1;
    snprintf(path, sizeof(path), "/tmp/%s", name);
    AUTO_FD int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    snprintf(path, sizeof(path), "/%s", name);
    AUTO_FD int memory = shm_open(path, O_RDWR | O_CREAT, 0666);
    mq_open(path, O_RDWR | O_CREAT, 0666, NULL); /* not with Landlock: it lies in no folder */
    bool is_all = file >= 0 && memory >= 0 && shmget(key, 4096, IPC_CREAT | 0666) >= 0 &&
                  semget(key, 1, IPC_CREAT | 0666) >= 0 && msgget(key, IPC_CREAT | 0666) >= 0;
    return is_all ? local : -1;
}

/* To whoever connects: a folder. */
static void give_folder(int listening_fd)
{
    char c = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&c, 1};
    struct msghdr head = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control,
                          .msg_controllen = sizeof(control)};
    struct cmsghdr *given = CMSG_FIRSTHDR(&head);
    AUTO_FD int folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FD int fd = accept4(listening_fd, NULL, NULL, SOCK_CLOEXEC);
    given->cmsg_level = SOL_SOCKET;
    given->cmsg_type = SCM_RIGHTS;
    given->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(given), &folder, sizeof(folder));
    while (sendmsg(fd, &head, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
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
    int listening_fd = is_rich ? open_all(name, port, (key_t)key) : -1;
    if (is_rich && listening_fd < 0) {
        int why = errno;
        remove_all(name, (key_t)key);
        return why;
    }
    puts("ready");
    fflush(stdout);
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = listening_fd, .events = POLLIN}};
    while (poll(fds, ARRAY_LEN(fds), -1) > 0) {
        if (fds[1].revents)
            give_folder(listening_fd);
        if (fds[0].revents && read(STDIN_FILENO, &c, 1) <= 0)
            break;
    }
    if (is_rich)
        remove_all(name, (key_t)key);
    return PROBE_PRINTED;
}

const struct probe_attempt probe_ipc[] = {
    {"connect-socket", connect_socket},
    {"connect-any", connect_any},
    {"connect-by-link", connect_by_link},
    {"connect-by-hard-link", connect_by_hard_link},
    {"connect-named", connect_named},
    {"receive-folder", receive_folder},
    {"end-all", end_all},
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
