#include "runner/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

enum { STDERR_KEEP_BYTES = 64 * 1024, PIPE_CHUNK_BYTES = 64 * 1024 };

/* Fields of /proc/PID/stat behind the name, which may itself hold spaces and parentheses. */
static bool read_stat(pid_t pid, char *ret_state, uint64_t *ret_start, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = xasprintf("/proc/%d/stat", (int)pid);
    if (!fs_read_file(&text, AT_FDCWD, path, PIPE_CHUNK_BYTES, err))
        return false;
    const char *p = strrchr(text.ptr, ')');
    if (!p || p[1] != ' ' || !p[2])
        return err_set(err, ERR_INTERNAL, "%s has an unknown form", path);
    *ret_state = p[2];
    p += 2;
    for (int field = 3; field < 22; field++) {
        p = strchr(p, ' ');
        if (!p)
            return err_set(err, ERR_INTERNAL, "%s has an unknown form", path);
        p++;
    }
    *ret_start = strtoull(p, NULL, 10);
    return true;
}

bool proc_boot_id(char ret_id[40], struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (!fs_read_file(&text, AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, err))
        return false;
    buf_rtrim(&text);
    if (text.len >= 40)
        return err_set(err, ERR_INTERNAL, "the boot id has an unknown form");
    memcpy(ret_id, text.ptr, text.len + 1);
    return true;
}

bool proc_id_of(struct proc_id *ret_id, pid_t pid, struct err *err)
{
    struct proc_id id = {.pid = pid};
    char state;
    if (!read_stat(pid, &state, &id.start_ticks, err) || !proc_boot_id(id.boot_id, err))
        return false;
    *ret_id = id;
    return true;
}

bool proc_id_alive(const struct proc_id *id)
{
    struct err err = ERR_INIT;
    char boot_id[40], state;
    uint64_t start_ticks;
    if (id->pid <= 0)
        return false;
    /* Only a clear answer counts as dead: with no descriptor left we would otherwise give up what
     * still runs. */
    if (!proc_boot_id(boot_id, &err))
        return true;
    if (strcmp(boot_id, id->boot_id) != 0)
        return false;
    if (!read_stat(id->pid, &state, &start_ticks, &err))
        return err.sys_errno != ENOENT && err.sys_errno != ESRCH;
    return start_ticks == id->start_ticks && state != 'Z' && state != 'X';
}

void proc_result_release(struct proc_result *r)
{
    buf_release(&r->out);
    buf_release(&r->errout);
    r->status = -1;
}

int proc_exit_code(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return 128 + WTERMSIG(wait_status);
    return WEXITSTATUS(wait_status);
}

int proc_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* One run of a helper program. */
struct child {
    const struct proc_cmd *cmd;
    const char *name; /* argv[0], for messages */
    pid_t pid;
    int pidfd;
    int out_fd; /* our ends of the pipes; -1 when not captured or at their end */
    int err_fd;
    int64_t deadline_ms; /* on the monotonic clock; INT64_MAX: none */
    struct buf out;
    struct buf errout;
};

static void child_release(struct child *c)
{
    auto_fd_(&c->pidfd);
    auto_fd_(&c->out_fd);
    auto_fd_(&c->err_fd);
    buf_release(&c->out);
    buf_release(&c->errout);
}

#define AUTO_CHILD __attribute__((cleanup(child_release)))

static bool is_program(const char *path, int *why)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    if (S_ISREG(st.st_mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
        return true;
    *why = EACCES;
    return false;
}

/* Look the program up as execvp(3) would, but in the child's PATH: posix_spawnp(3) uses ours. */
static char *find_program(const struct proc_cmd *cmd, struct err *err)
{
    const char *name = cmd->argv->v[0];
    if (strchr(name, '/'))
        return xstrdup(name);
    const char *path = cmd->env ? strv_env_get(cmd->env, "PATH") : getenv("PATH");
    AUTO_STRV struct strv folders = STRV_INIT;
    strv_split(&folders, path ? path : "/usr/bin:/bin", ':', true);
    int why = ENOENT;
    for (size_t i = 0; *name && i < folders.n; i++) {
        AUTO_FREE char *candidate = fs_join(*folders.v[i] ? folders.v[i] : ".", name);
        if (is_program(candidate, &why))
            return steal_ptr(&candidate);
    }
    if (why == EACCES)
        err_sys(err, why, "cannot run %s", name);
    else
        err_set(err, ERR_NOT_FOUND, "the program %s is not in PATH; install it or extend PATH",
                name);
    return NULL;
}

/* Descriptors 0 to 2 are the targets in the child, so ours must lie above them even in a program
 * that was started with these closed. */
static int lift_fd(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int why = errno;
    close(fd);
    errno = why;
    return high;
}

/* The whole input in memory: the child may read at its pace, and no SIGPIPE can meet us. */
static int open_input(const struct proc_cmd *cmd, struct err *err)
{
    AUTO_FD int fd = -1;
    if (cmd->input) {
        fd = lift_fd(memfd_create("input", MFD_CLOEXEC));
        if (fd < 0)
            return err_sys(err, errno, "cannot create a memory file"), -1;
        if (!fs_write_fd(fd, cmd->input, cmd->input_len, err))
            return -1;
        if (lseek(fd, 0, SEEK_SET) != 0)
            return err_sys(err, errno, "cannot rewind a memory file"), -1;
    } else {
        fd = lift_fd(cmd->input_fd > 0 ? fcntl(cmd->input_fd, F_DUPFD_CLOEXEC, 3)
                                       : open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (fd < 0)
            return err_sys(err, errno, "cannot open the input"), -1;
    }
    return steal_fd(&fd);
}

static bool open_pipe(int *ret_read, int *ret_write, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    AUTO_FD int read_end = lift_fd(ends[0]);
    AUTO_FD int write_end = lift_fd(ends[1]);
    if (read_end < 0 || write_end < 0)
        return err_sys(err, errno, "cannot create a pipe");
    if (!fs_set_nonblock(read_end, err)) /* the reader polls; the child's end stays blocking */
        return false;
    *ret_read = steal_fd(&read_end);
    *ret_write = steal_fd(&write_end);
    return true;
}

static int prepare_actions(posix_spawn_file_actions_t *actions, const struct proc_cmd *cmd,
                           int in_fd, int out_fd, int err_fd)
{
    int why = posix_spawn_file_actions_adddup2(actions, in_fd, STDIN_FILENO);
    if (!why)
        why = posix_spawn_file_actions_adddup2(actions, out_fd, STDOUT_FILENO);
    if (!why && err_fd >= 0)
        why = posix_spawn_file_actions_adddup2(actions, err_fd, STDERR_FILENO);
    if (!why)
        why = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    if (!why && cmd->cwd)
        why = posix_spawn_file_actions_addchdir_np(actions, cmd->cwd);
    return why;
}

/* The child starts with no signal blocked or ignored, whatever this program does with its own. */
static int prepare_attributes(posix_spawnattr_t *attr, const struct proc_cmd *cmd)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (cmd->new_session)
        flags = (short)(flags | POSIX_SPAWN_SETSID);
    int why = posix_spawnattr_setsigmask(attr, &none);
    if (!why)
        why = posix_spawnattr_setsigdefault(attr, &all);
    if (!why)
        why = posix_spawnattr_setflags(attr, flags);
    return why;
}

static bool spawn(struct child *c, const char *program, int in_fd, int out_fd, int err_fd,
                  struct err *err)
{
    const struct proc_cmd *cmd = c->cmd;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int why = posix_spawn_file_actions_init(&actions);
    if (why)
        return err_sys(err, why, "cannot start %s", c->name);
    why = posix_spawnattr_init(&attr);
    if (!why) {
        why = prepare_actions(&actions, cmd, in_fd, out_fd, err_fd);
        if (!why)
            why = prepare_attributes(&attr, cmd);
        if (!why)
            why = posix_spawn(&c->pid, program, &actions, &attr, strv_array(cmd->argv),
                              cmd->env ? strv_array(cmd->env) : environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (why && cmd->cwd)
        return err_sys(err, why, "cannot start %s in %s", c->name, cmd->cwd);
    if (why)
        return err_sys(err, why, "cannot start %s", c->name);
    return true;
}

static bool start(struct child *c, struct err *err)
{
    AUTO_FREE char *program = find_program(c->cmd, err);
    if (!program)
        return false;
    AUTO_FD int in_fd = open_input(c->cmd, err);
    if (in_fd < 0)
        return false;
    AUTO_FD int out_fd = -1;
    AUTO_FD int err_fd = -1;
    if (c->cmd->output_fd <= 0 && !open_pipe(&c->out_fd, &out_fd, err))
        return false;
    if (!c->cmd->inherit_stderr && !open_pipe(&c->err_fd, &err_fd, err))
        return false;
    return spawn(c, program, in_fd, out_fd < 0 ? c->cmd->output_fd : out_fd, err_fd, err);
}

static void reap(struct child *c, int *ret_status)
{
    while (waitpid(c->pid, ret_status, 0) < 0 && errno == EINTR)
        continue;
}

static void kill_and_reap(struct child *c)
{
    int ignored;
    kill(c->cmd->new_session ? -c->pid : c->pid, SIGKILL);
    reap(c, &ignored);
}

/* Read what is there. At its end the descriptor is closed. */
static bool drain(struct child *c, int *fd, struct buf *into, size_t max_bytes, bool is_strict,
                  struct err *err)
{
    char chunk[PIPE_CHUNK_BYTES];
    ssize_t got = read(*fd, chunk, sizeof(chunk));
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ||
               err_sys(err, errno, "cannot read the output of %s", c->name);
    if (got == 0) {
        auto_fd_(fd);
        *fd = -1;
        return true;
    }
    size_t room = max_bytes - into->len;
    if ((size_t)got > room && is_strict)
        return err_set(err, ERR_LIMIT, "%s printed more than %zu bytes", c->name, max_bytes);
    buf_add(into, chunk, (size_t)got < room ? (size_t)got : room);
    return true;
}

static int remaining_ms(const struct child *c)
{
    if (c->deadline_ms == INT64_MAX)
        return -1;
    int64_t left = c->deadline_ms - clock_mono_ms();
    if (left <= 0)
        return 0;
    return left > 60000 ? 60000 : (int)left;
}

/* Until both pipes are at their end and the process has exited. */
static bool supervise(struct child *c, struct err *err)
{
    size_t max = c->cmd->max_output_bytes ? c->cmd->max_output_bytes : LIMIT_CAPTURE_BYTES;
    bool has_exited = false;
    while (c->out_fd >= 0 || c->err_fd >= 0 || !has_exited) {
        struct pollfd fds[3] = {
            {.fd = c->out_fd, .events = POLLIN},
            {.fd = c->err_fd, .events = POLLIN},
            {.fd = has_exited ? -1 : c->pidfd, .events = POLLIN},
        };
        int timeout = remaining_ms(c);
        int ready = timeout == 0 ? 0 : poll(fds, ARRAY_LEN(fds), timeout);
        if (ready < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for %s", c->name);
        if (ready == 0 && remaining_ms(c) == 0)
            return err_set(err, ERR_LIMIT, "%s did not end within %" PRId64 " ms", c->name,
                           c->cmd->timeout_ms);
        if (ready <= 0)
            continue;
        if (fds[0].revents && !drain(c, &c->out_fd, &c->out, max, true, err))
            return false;
        if (fds[1].revents && !drain(c, &c->err_fd, &c->errout, STDERR_KEEP_BYTES, false, err))
            return false;
        has_exited = has_exited || fds[2].revents != 0;
    }
    return true;
}

bool proc_run(struct proc_result *ret, const struct proc_cmd *cmd, struct err *err)
{
    AUTO_CHILD struct child c = {
        .cmd = cmd,
        .name = cmd->argv->n > 0 ? cmd->argv->v[0] : "",
        .pidfd = -1,
        .out_fd = -1,
        .err_fd = -1,
        .deadline_ms = cmd->timeout_ms > 0 ? clock_mono_ms() + cmd->timeout_ms : INT64_MAX,
        .out = BUF_INIT,
        .errout = BUF_INIT,
    };
    if (cmd->argv->n == 0)
        return err_set(err, ERR_INTERNAL, "a program to run has no name");
    if (!start(&c, err))
        return false;
    c.pidfd = proc_pidfd(c.pid);
    if (c.pidfd < 0) {
        err_sys(err, errno, "cannot watch %s", c.name);
        kill_and_reap(&c);
        return false;
    }
    if (!supervise(&c, err)) {
        kill_and_reap(&c);
        return false;
    }
    int status = 0;
    reap(&c, &status);
    ret->status = proc_exit_code(status);
    buf_release(&ret->out);
    buf_release(&ret->errout);
    ret->out = c.out;
    ret->errout = c.errout;
    buf_init(&c.out);
    buf_init(&c.errout);
    return true;
}
