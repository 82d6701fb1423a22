#include "sandbox/probe_scene.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { SHM_TRIES = 16, SHM_BYTES = 4096 };

static bool make_folder(struct probe_scene *s, uid_t uid, gid_t gid, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    AUTO_FREE char *dir = fs_join(tmp && *tmp == '/' ? tmp : "/tmp", "headgate-probe-XXXXXX");
    if (!mkdtemp(dir))
        return err_sys(err, errno, "cannot create %s", dir);
    s->dir = steal_ptr(&dir);
    s->outside = fs_join(s->dir, "outside");
    if (chmod(s->dir, 0755) != 0 || mkdir(s->outside, 0755) != 0 ||
        (geteuid() == 0 && chown(s->outside, uid, gid) != 0))
        return err_sys(err, errno, "cannot prepare %s", s->dir);
    return true;
}

static bool make_files(struct probe_scene *s, const char *launcher, struct err *err)
{
    s->launcher = fs_join(s->dir, "headgate-box");
    s->marker = fs_join(s->dir, "marker");
    if (!fs_copy_file(AT_FDCWD, launcher, AT_FDCWD, s->launcher, err) ||
        !fs_write_plain(AT_FDCWD, s->marker, "x", 1, 0644, err))
        return false;
    if (chmod(s->launcher, 0755) != 0)
        return err_sys(err, errno, "cannot prepare %s", s->launcher);
    return true;
}

static bool open_port(struct probe_scene *s, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    s->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->port_fd < 0 || bind(s->port_fd, (struct sockaddr *)&address, len) != 0 ||
        listen(s->port_fd, 4) != 0 ||
        getsockname(s->port_fd, (struct sockaddr *)&address, &len) != 0)
        return err_sys(err, errno, "cannot listen on the loopback interface");
    s->port = ntohs(address.sin_port);
    return true;
}

static bool open_memory(struct probe_scene *s, struct err *err)
{
    for (int i = 0; i < SHM_TRIES && s->shm_id < 0; i++) {
        s->shm_key = 0x48470000 + (int)((unsigned)getpid() + (unsigned)i) % 0x10000;
        s->shm_id = shmget((key_t)s->shm_key, SHM_BYTES, IPC_CREAT | IPC_EXCL | 0666);
    }
    return s->shm_id >= 0 || err_sys(err, errno, "cannot create a shared memory segment");
}

static bool open_terminal(struct probe_scene *s, struct err *err)
{
    char name[64];
    s->pty_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (s->pty_fd < 0 || ptsname_r(s->pty_fd, name, sizeof(name)) != 0)
        return err_sys(err, errno, "cannot open a terminal");
    s->pty = xstrdup(name);
    return true;
}

bool probe_scene_set(struct probe_scene *s, const char *launcher, uid_t uid, gid_t gid,
                     struct err *err)
{
    return make_folder(s, uid, gid, err) && make_files(s, launcher, err) && open_port(s, err) &&
           open_memory(s, err) && open_terminal(s, err);
}

void probe_scene_release(struct probe_scene *s)
{
    struct err ignored = ERR_INIT;
    if (s->dir)
        (void)!fs_remove_tree(AT_FDCWD, s->dir, &ignored);
    if (s->shm_id >= 0)
        shmctl(s->shm_id, IPC_RMID, NULL);
    auto_fd_(&s->port_fd);
    auto_fd_(&s->pty_fd);
    free(s->dir);
    free(s->launcher);
    free(s->marker);
    free(s->outside);
    free(s->pty);
}
