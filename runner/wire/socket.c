#include "runner/wire/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "runner/base/mem.h"

static bool socket_address(struct sockaddr_un *ret, const char *path, struct err *err)
{
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof ret->sun_path)
        return err_set(err, ERR_USAGE, "a socket path has 1 to %zu bytes, which '%s' has not",
                       sizeof ret->sun_path - 1, path);
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path, path, len + 1);
    return true;
}

int socket_connect(const char *path, struct err *err)
{
    struct sockaddr_un address;
    if (!socket_address(&address, path, err))
        return -1;
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        err_sys(err, errno, "cannot make a socket");
        return -1;
    }
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        err_sys(err, errno, "cannot connect to %s", path);
        return -1;
    }
    return steal_fd(&fd);
}

/* Remove the file of a listener that is gone. Only a refused connection proves that nobody listens.
 */
static bool socket_clear(const char *path, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? true : err_sys(err, errno, "cannot look at %s", path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_CONFLICT, "%s exists and is no socket", path);
    struct err refused = ERR_INIT;
    AUTO_FD int fd = socket_connect(path, &refused);
    if (fd >= 0)
        return err_set(err, ERR_CONFLICT, "another process listens on %s", path);
    if (refused.sys_errno != ECONNREFUSED && refused.sys_errno != ENOENT) {
        *err = refused;
        return false;
    }
    if (unlink(path) != 0 && errno != ENOENT)
        return err_sys(err, errno, "cannot replace %s", path);
    return true;
}

int socket_listen(const char *path, unsigned mode, struct err *err)
{
    struct sockaddr_un address;
    if (!socket_address(&address, path, err) || !socket_clear(path, err))
        return -1;
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        err_sys(err, errno, "cannot make a socket");
        return -1;
    }
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        err_sys(err, errno, "cannot bind %s", path);
        return -1;
    }
    if (chmod(path, (mode_t)mode) != 0 || listen(fd, SOMAXCONN) != 0) {
        err_sys(err, errno, "cannot listen on %s", path);
        unlink(path);
        return -1;
    }
    return steal_fd(&fd);
}

bool socket_peer_is_trusted(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return false;
    return peer.uid == 0 || peer.uid == geteuid();
}
