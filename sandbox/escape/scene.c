#include "sandbox/escape/scene.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum {
    SHM_TRIES = 16,
    SHM_BYTES = 4096,
    VICTIM_TIMEOUT_MS = 10000,
    FILE_MAX = 1 << 16,
    NOBODY = 65534
};

/* What lies in the folder that no box may touch. */
static const struct {
    const char *name, *text; /* text NULL: a folder */
    mode_t mode;
} files[] = {
    {"secret", "the secret of the host\n", 0644},
    {"settings", NULL, 0755},
    {"settings/config", "as the person wrote it\n", 0644},
    {"settings/run-me", "#!/bin/sh\n", 0755},
    {"empty", NULL, 0777},
};

void escape_scene_value(struct escape_scene *s, const char *name, const char *value)
{
    strv_env_set(&s->values, name, value);
}

static void set_number(struct escape_scene *s, const char *name, long value)
{
    AUTO_FREE char *text = xasprintf("%ld", value);
    escape_scene_value(s, name, text);
}

bool escape_scene_give(const struct escape_scene *s, const char *path, struct err *err)
{
    return geteuid() != 0 || lchown(path, s->uid, s->gid) == 0 ||
           err_sys(err, errno, "cannot give %s away", path);
}

static bool make_folder(struct escape_scene *s, char **ret, const char *name, mode_t mode,
                        struct err *err)
{
    *ret = fs_join(s->dir, name);
    escape_scene_value(s, name, *ret);
    if (mkdir(*ret, 0700) != 0 || chmod(*ret, mode) != 0)
        return err_sys(err, errno, "cannot create %s", *ret);
    return escape_scene_give(s, *ret, err);
}

static bool fill_folder(const struct escape_scene *s, const char *folder, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = fs_join(folder, files[i].name);
        const char *text = files[i].text;
        if (text && !fs_write_plain(AT_FDCWD, path, text, strlen(text), files[i].mode, err))
            return false;
        if (!text && mkdir(path, files[i].mode) != 0)
            return err_sys(err, errno, "cannot create %s", path);
        if (chmod(path, files[i].mode) != 0)
            return err_sys(err, errno, "cannot prepare %s", path);
        if (!escape_scene_give(s, path, err))
            return false;
    }
    return true;
}

/* One line for each file: its name, kind, mode and content. */
static void describe(struct buf *out, int dirfd, const char *name)
{
    struct err ignored = ERR_INIT;
    struct stat st;
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    buf_addf(out, "%s %o %ld ", name, st.st_mode, (long)st.st_nlink);
    if (S_ISREG(st.st_mode))
        (void)!fs_read_file(out, dirfd, name, FILE_MAX, &ignored);
    buf_addch(out, '\n');
    if (!S_ISDIR(st.st_mode))
        return;
    AUTO_FD int fd = fs_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0, &ignored);
    AUTO_DIR DIR *dir = fd >= 0 ? fdopendir(dup(fd)) : NULL;
    AUTO_STRV struct strv names = STRV_INIT;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            strv_push(&names, entry->d_name);
    for (size_t i = 1; i < names.n; i++)
        for (size_t j = i; j > 0 && strcmp(names.v[j - 1], names.v[j]) > 0; j--) {
            char *other = names.v[j];
            names.v[j] = names.v[j - 1];
            names.v[j - 1] = other;
        }
    for (size_t i = 0; i < names.n; i++)
        describe(out, fd, names.v[i]);
}

static void take_marks(struct buf *out, const struct escape_scene *s)
{
    struct err ignored = ERR_INIT;
    AUTO_FD int fd = fs_open_dir(AT_FDCWD, s->dir, &ignored);
    describe(out, fd, "host");
    describe(out, fd, "shown");
}

char *escape_scene_changed(const struct escape_scene *s)
{
    AUTO_BUF struct buf now = BUF_INIT;
    take_marks(&now, s);
    if (now.len == s->marks.len && memcmp(now.ptr, s->marks.ptr, now.len) == 0)
        return NULL;
    size_t at = 0, line = 0;
    while (at < now.len && at < s->marks.len && now.ptr[at] == s->marks.ptr[at])
        if (now.ptr[at++] == '\n')
            line = at;
    const char *name = line < now.len ? now.ptr + line : s->marks.ptr + line;
    return xstrndup(name, strcspn(name, " \n"));
}

bool escape_scene_reset(struct escape_scene *s, struct err *err)
{
    const char *const folders[] = {s->host, s->shown, s->work};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO_FD int fd = fs_open_dir(AT_FDCWD, folders[i], err);
        AUTO_DIR DIR *dir = fd >= 0 ? fdopendir(dup(fd)) : NULL;
        const struct dirent *entry;
        while (dir && (entry = readdir(dir)))
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                !fs_remove_tree(fd, entry->d_name, err))
                return false;
        if (fd < 0 || (folders[i] != s->work && !fill_folder(s, folders[i], err)))
            return false;
    }
    buf_clear(&s->marks);
    take_marks(&s->marks, s);
    return true;
}

/* Started by root: a program that gives the rights of an account without any to whoever starts it.
 * Never root's: it lies where everybody can reach it. */
static bool make_setuid(struct escape_scene *s, struct err *err)
{
    AUTO_FREE char *folder = fs_join(s->dir, "bin");
    AUTO_FREE char *path = fs_join(folder, "setuid");
    escape_scene_value(s, "bin", folder);
    escape_scene_value(s, "setuid", path);
    if (mkdir(folder, 0755) != 0)
        return err_sys(err, errno, "cannot create %s", folder);
    if (!fs_copy_file(AT_FDCWD, s->launcher, AT_FDCWD, path, err))
        return false;
    if (geteuid() == 0 && chown(path, NOBODY, NOBODY) != 0)
        return err_sys(err, errno, "cannot prepare %s", path);
    return chmod(path, 04755) == 0 || err_sys(err, errno, "cannot prepare %s", path);
}

static bool make_files(struct escape_scene *s, const char *launcher, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    AUTO_FREE char *dir = fs_join(tmp && *tmp == '/' ? tmp : "/tmp", "headgate-escape-XXXXXX");
    if (!mkdtemp(dir))
        return err_sys(err, errno, "cannot create %s", dir);
    s->dir = steal_ptr(&dir);
    s->launcher = fs_join(s->dir, "headgate-box");
    escape_scene_value(s, "dir", s->dir);
    if (chmod(s->dir, 0755) != 0)
        return err_sys(err, errno, "cannot prepare %s", s->dir);
    if (!fs_copy_file(AT_FDCWD, launcher, AT_FDCWD, s->launcher, err))
        return false;
    if (chmod(s->launcher, 0755) != 0)
        return err_sys(err, errno, "cannot prepare %s", s->launcher);
    return make_folder(s, &s->host, "host", 0755, err) &&
           make_folder(s, &s->work, "work", 0755, err) &&
           make_folder(s, &s->shown, "shown", 0755, err) && make_setuid(s, err) &&
           escape_scene_reset(s, err);
}

static int open_bound(int type, int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    AUTO_FD int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
        (type == SOCK_STREAM && listen(fd, 16) != 0) ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return -1;
    *ret_port = ntohs(address.sin_port);
    return steal_fd(&fd);
}

static int open_unix(const char *name, bool is_abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name), offset = is_abstract;
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (len + offset >= sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path + offset, name, len);
    if (fd < 0 ||
        bind(fd, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + offset + len + !is_abstract)) !=
            0 ||
        listen(fd, 64) != 0)
        return -1;
    return steal_fd(&fd);
}

static bool open_sockets(struct escape_scene *s, struct err *err)
{
    int tcp = 0, udp = 0;
    AUTO_FREE char *path = fs_join(s->dir, "daemon.sock");
    AUTO_FREE char *name = xasprintf("headgate-escape-%d", (int)getpid());
    s->tcp_fd = open_bound(SOCK_STREAM, &tcp);
    s->udp_fd = open_bound(SOCK_DGRAM, &udp);
    s->socket_fd = open_unix(path, false);
    s->abstract_fd = open_unix(name, true);
    if (s->tcp_fd < 0 || s->udp_fd < 0 || s->socket_fd < 0 || s->abstract_fd < 0)
        return err_sys(err, errno, "cannot listen on this host");
    if (chmod(path, 0666) != 0)
        return err_sys(err, errno, "cannot prepare %s", path);
    set_number(s, "tcp", tcp);
    set_number(s, "udp", udp);
    escape_scene_value(s, "socket", path);
    escape_scene_value(s, "abstract", name);
    strv_pushf(&s->env, "SSH_AUTH_SOCK=%s", path);
    strv_pushf(&s->env, "DBUS_SESSION_BUS_ADDRESS=unix:path=%s", path);
    strv_pushf(&s->env, "TMUX=%s,1,0", path);
    strv_pushf(&s->env, "VSCODE_IPC_HOOK_CLI=%s", path);
    strv_pushf(&s->env, "WAYLAND_DISPLAY=%s", path);
    strv_pushf(&s->env, "GPG_AGENT_INFO=%s:1:1", path);
    strv_pushf(&s->env, "PULSE_SERVER=unix:%s", path);
    strv_push(&s->env, "HEADGATE_SECRET_TOKEN=secret");
    strv_push(&s->env, "PATH=/usr/local/bin:/usr/bin:/bin");
    return true;
}

static bool open_memory(struct escape_scene *s, struct err *err)
{
    int key = 0;
    for (int i = 0; i < SHM_TRIES && s->shm_id < 0; i++) {
        key = 0x48480000 + (int)((unsigned)getpid() + (unsigned)i) % 0x10000;
        s->shm_id = shmget((key_t)key, SHM_BYTES, IPC_CREAT | IPC_EXCL | 0666);
    }
    set_number(s, "shm", key);
    if (s->shm_id < 0)
        return err_sys(err, errno, "cannot create a shared memory segment");
    s->memory_name = xasprintf("/%s", strv_env_get(&s->values, "abstract"));
    AUTO_FD int fd = shm_open(s->memory_name, O_RDWR | O_CREAT, 0666);
    mqd_t queue = mq_open(s->memory_name, O_RDWR | O_CREAT | O_CLOEXEC, 0666, NULL);
    if (fd < 0 || fchmod(fd, 0666) != 0 || queue == (mqd_t)-1 || fchmod(queue, 0666) != 0)
        return err_sys(err, errno, "cannot create memory of this host's own");
    mq_close(queue);
    return true;
}

static bool open_terminal(struct escape_scene *s, struct err *err)
{
    char name[64];
    s->pty_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (s->pty_fd < 0 || grantpt(s->pty_fd) != 0 || unlockpt(s->pty_fd) != 0 ||
        ptsname_r(s->pty_fd, name, sizeof(name)) != 0)
        return err_sys(err, errno, "cannot open a terminal");
    escape_scene_value(s, "pty", name);
    return escape_scene_give(s, name, err);
}

/* Started by posix_spawn with one pipe each way; it says so when it is there. */
static bool start_victim(struct escape_scene *s, struct err *err)
{
    AUTO_FD int in = -1;
    AUTO_FD int out = -1;
    AUTO_FD int in_ours = -1;
    AUTO_FD int out_ours = -1;
    int ends[2];
    char c;
    AUTO_FREE char *as = xasprintf("as:%u:%u", s->uid, s->gid);
    char name[] = "headgate-box", probe[] = "--probe", hold[] = "hold";
    char *argv[] = {name, probe, as, hold, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    in = ends[0];
    in_ours = ends[1];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    out_ours = ends[0];
    out = ends[1];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int why = posix_spawn(&s->victim_pid, s->launcher, &actions, NULL, argv, strv_array(&s->env));
    posix_spawn_file_actions_destroy(&actions);
    if (why)
        return s->victim_pid = 0, err_sys(err, why, "cannot start %s", s->launcher);
    s->victim_fd = steal_fd(&in_ours);
    auto_fd_(&out);
    out = -1;
    struct pollfd p = {.fd = out_ours, .events = POLLIN};
    if (poll(&p, 1, VICTIM_TIMEOUT_MS) != 1 || read(out_ours, &c, 1) != 1)
        return err_set(err, ERR_INTERNAL, "the process outside the boxes did not start");
    set_number(s, "victim", s->victim_pid);
    return true;
}

bool escape_scene_set(struct escape_scene *s, const char *launcher, uid_t uid, gid_t gid,
                      struct err *err)
{
    s->uid = uid;
    s->gid = gid;
    set_number(s, "uid", uid);
    set_number(s, "self", getpid());
    return make_files(s, launcher, err) && open_sockets(s, err) && open_memory(s, err) &&
           open_terminal(s, err) && start_victim(s, err);
}

void escape_scene_release(struct escape_scene *s)
{
    struct err ignored = ERR_INIT;
    int *const fds[] = {&s->victim_fd, &s->tcp_fd,      &s->udp_fd,
                        &s->socket_fd, &s->abstract_fd, &s->pty_fd};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        auto_fd_(fds[i]);
    if (s->victim_pid > 0)
        waitpid(s->victim_pid, NULL, 0);
    if (s->shm_id >= 0)
        shmctl(s->shm_id, IPC_RMID, NULL);
    if (s->memory_name) {
        shm_unlink(s->memory_name);
        mq_unlink(s->memory_name);
    }
    free(s->memory_name);
    if (s->dir)
        (void)!fs_remove_tree(AT_FDCWD, s->dir, &ignored);
    free(s->dir);
    free(s->launcher);
    free(s->host);
    free(s->work);
    free(s->shown);
    strv_release(&s->values);
    strv_release(&s->env);
    buf_release(&s->marks);
}
