#include "gate/hook/tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { HEAD_BYTES = 16 * 1024, CHUNK_BYTES = 64 * 1024 };

static int connect_to(const char *proxy, struct err *err)
{
    const char *colon = strchr(proxy, ':');
    AUTO_FREE char *address_text = xstrndup(proxy, strcspn(proxy, ":"));
    struct sockaddr_in address = {.sin_family = AF_INET};
    long port = colon ? strtol(colon + 1, NULL, 10) : 0;
    if (port < 1 || port > UINT16_MAX || inet_pton(AF_INET, address_text, &address.sin_addr) != 1)
        return err_set(err, ERR_USAGE, "HEADGATE_PROXY is not ADDRESS:PORT"), -1;
    address.sin_port = htons((uint16_t)port);
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return err_sys(err, errno, "cannot reach the proxy at %s", proxy), -1;
    return steal_fd(&fd);
}

/* Byte by byte: what is behind the head belongs to the other end. */
static bool read_head(struct buf *head, int fd, struct err *err)
{
    while (head->len < HEAD_BYTES) {
        char c;
        ssize_t n = read(fd, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, ERR_FAILED, "the proxy closed the connection");
        buf_addch(head, c);
        if (head->len >= 4 && memcmp(head->ptr + head->len - 4, "\r\n\r\n", 4) == 0)
            return true;
    }
    return err_set(err, ERR_LIMIT, "the proxy's answer is too long");
}

static bool open_tunnel(int fd, const char *target, struct err *err)
{
    static const char header[] = "\r\nX-Headgate: ";
    AUTO_BUF struct buf head = BUF_INIT;
    AUTO_BUF struct buf request = BUF_INIT;
    buf_addf(&request, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target);
    if (!fs_write_fd(fd, request.ptr, request.len, err) || !read_head(&head, fd, err))
        return false;
    if (strncmp(head.ptr, "HTTP/1.1 200 ", 13) == 0)
        return true;
    const char *why = strstr(head.ptr, header);
    why = why ? why + sizeof(header) - 1 : head.ptr;
    return err_set(err, ERR_REFUSED, "%.*s", (int)strcspn(why, "\r"), why);
}

/* One piece from one side to the other. False: that side has ended. */
static bool pass(int from, int to, char *chunk, struct err *err)
{
    ssize_t n = read(from, chunk, CHUNK_BYTES);
    if (n < 0 && errno == EINTR)
        return true;
    return n > 0 && fs_write_fd(to, chunk, (size_t)n, err);
}

bool tunnel(const char *proxy, const char *target, struct err *err)
{
    AUTO_FD int fd = connect_to(proxy, err);
    if (fd < 0 || !open_tunnel(fd, target, err))
        return false;
    AUTO_FREE char *chunk = xmalloc(CHUNK_BYTES);
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    struct err end = ERR_INIT;
    for (;;) {
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for the connection");
        if (fds[1].revents && !pass(fd, STDOUT_FILENO, chunk, &end))
            return true;
        if (fds[0].revents && !pass(STDIN_FILENO, fd, chunk, &end)) {
            shutdown(fd, SHUT_WR);
            fds[0].fd = -1;
        }
    }
}
