#include "sandbox/escape/stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/escape/live.h"

enum { LOCK_TIMEOUT_MS = 5000, CONTROL_TIMEOUT_MS = 300, NAP_NS = 2000000, MOUNTS_MAX = 1 << 22 };

static bool find_port(int *ret, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return err_sys(err, errno, "cannot find a free port");
    *ret = ntohs(address.sin_port);
    return true;
}

/* The sibling's own things; {key} and {name} hold the pid, so that suites may run side by side. */
static bool name_sibling(struct escape_scene *s, char **ret_word, char **ret_folder,
                         struct err *err)
{
    int port = 0;
    if (!find_port(&port, err))
        return false;
    AUTO_FREE char *port_text = xasprintf("%d", port);
    AUTO_FREE char *key = xasprintf("%d", 0x48490000 + (int)((unsigned)getpid() & 0xffffU));
    AUTO_FREE char *name = xasprintf("headgate-sibling-%d", (int)getpid());
    escape_scene_value(s, "port", port_text);
    escape_scene_value(s, "key", key);
    escape_scene_value(s, "name", name);
    *ret_word = xasprintf("hold:%s %s %s", name, port_text, key);
    *ret_folder = fs_join(s->dir, "sibling");
    if (mkdir(*ret_folder, 0755) != 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot create %s", *ret_folder);
    return escape_scene_give(s, *ret_folder, err);
}

bool stage_sibling(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_ESCAPE_LIVE struct escape_live live = ESCAPE_LIVE_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *word = NULL;
    AUTO_FREE char *folder = NULL;
    if (!escape_spec(&spec, t, err) || !name_sibling(t->scene, &word, &folder, err))
        return false;
    box_spec_bind(&spec, folder, folder, BOX_BIND_WRITE);
    if (!escape_live_start(&live, t, &spec, word, err))
        return false;
    AUTO_FREE char *pid = xasprintf("%d", (int)live.child.pid);
    escape_scene_value(t->scene, "sibling", pid);
    return escape_plain(t, ret_outcome, err);
}

bool stage_untried(struct escape_try *t, char **ret_outcome, struct err *err)
{
    (void)err;
    *ret_outcome = xasprintf(ESCAPE_UNTRIED "%s", t->row->why);
    return true;
}

bool stage_end_all(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_FREE char *said = NULL;
    if (!escape_plain(t, &said, err))
        return false;
    bool is_alive = waitpid(t->scene->victim_pid, NULL, WNOHANG) == 0;
    *ret_outcome = xstrdup(is_alive ? "all outside live" : "ended");
    return true;
}

bool stage_mounts_left(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *said = NULL;
    if (!stage_supervisor_killed(t, &said, err) ||
        !fs_read_file(&text, AT_FDCWD, "/proc/self/mountinfo", MOUNTS_MAX, err))
        return false;
    const char *left = strstr(text.ptr, t->scene->dir);
    *ret_outcome = left ? xstrndup(left, strcspn(left, " \n")) : xstrdup("none");
    return true;
}

bool stage_descriptor(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_FREE char *path = fs_join(t->scene->host, "secret");
    AUTO_FD int fd = open(path, O_RDWR); /* not closed by exec, on purpose */
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s", path);
    return escape_plain(t, ret_outcome, err);
}

/* True when nobody holds the lock by then; waits for the other answer until it is late. */
static bool is_free(const char *path, bool wanted, int timeout_ms)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    int64_t late_ms = clock_mono_ms() + timeout_ms;
    bool is = true;
    do {
        AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
        is = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
    } while (is != wanted && clock_mono_ms() < late_ms && nanosleep(&nap, NULL) == 0);
    return is;
}

/* What is left behind where there is no layer wrote its pid, which is then one of the host. */
static void end_left_behind(const char *path)
{
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    if (!fs_read_file(&text, AT_FDCWD, path, 32, &ignored))
        return;
    pid_t pid = (pid_t)atol(text.ptr);
    if (pid > 1)
        kill(pid, SIGKILL);
}

static void conclude(const struct escape_try *t, const char *path, char **ret_outcome)
{
    bool is_gone = is_free(path, true, t->is_control ? CONTROL_TIMEOUT_MS : LOCK_TIMEOUT_MS);
    *ret_outcome = xstrdup(is_gone ? "gone" : "alive");
    if (!is_gone)
        end_left_behind(path);
    unlink(path);
}

static char *lock_path(const struct escape_try *t)
{
    char *path = fs_join(t->scene->work, "lock");
    unlink(path);
    return path;
}

bool stage_left_behind(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_FREE char *path = lock_path(t);
    AUTO_FREE char *said = NULL;
    if (!escape_plain(t, &said, err))
        return false;
    /* pid 1 has been reaped, so the kernel has ended every process of its namespace. */
    conclude(t, path, ret_outcome);
    return true;
}

bool stage_supervisor_killed(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_FREE char *path = lock_path(t);
    AUTO_FREE char *said = NULL;
    int status;
    pid_t pid = fork();
    if (pid < 0)
        return err_sys(err, errno, "cannot start a supervisor");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        _exit(escape_plain(t, &said, err) ? 0 : 1);
    }
    bool has_started = !is_free(path, false, LOCK_TIMEOUT_MS);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!has_started)
        return err_set(err, ERR_FAILED, "what should be killed did not start");
    conclude(t, path, ret_outcome);
    return true;
}

bool stage_init_killed(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_ESCAPE_LIVE struct escape_live live = ESCAPE_LIVE_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *path = lock_path(t);
    AUTO_FREE char *word = escape_fill(t->scene, t->row->word);
    if (!escape_spec(&spec, t, err) || !escape_live_start(&live, t, &spec, word, err))
        return false;
    kill(live.child.pid, SIGKILL);
    conclude(t, path, ret_outcome);
    return true;
}
