/*
 * headgate-keep ATTEMPT_FOLDER: detaches and keeps one attempt (keep.h).
 * headgate-keep --resolve NAME: finds addresses for a keeper (resolve.h).
 *
 * The first process stays until the sockets listen, so whoever started it may connect at once; then
 * it exits 0. Else it prints one sentence and exits with the error's code. The child forks only
 * through box_spawn, from its one thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/keep/keep.h"

enum { KEYS_BYTES = 256 * 1024 };

static int fail(const struct err *err)
{
    fprintf(stderr, "headgate-keep: %s\n", err->text);
    return err_exit_code(err);
}

/* The child's report: one struct err, ERR_NONE when its sockets listen. */
static int wait_for_child(int fd)
{
    struct err err = ERR_INIT;
    ssize_t n;
    do
        n = read(fd, &err, sizeof err);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof err)
        err_set(&err, ERR_INTERNAL, "the keeper ended before its sockets listened");
    return err.code == ERR_NONE ? 0 : fail(&err);
}

static void report(int fd, const struct err *err)
{
    ssize_t n = write(fd, err, sizeof *err);
    (void)n; /* nobody is waiting any more */
    close(fd);
}

static void on_sigpipe(int signal_number)
{
    (void)signal_number;
}

/* Signals as a fresh process has them, whatever the parent ignored or blocked: dispositions and
 * masks pass through execve(2) into the agent. SIGPIPE gets a handler and is not ignored, for the
 * same reason. */
static void reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    struct sigaction action = {.sa_handler = on_sigpipe, .sa_flags = SA_RESTART};
    sigaction(SIGPIPE, &action, NULL);
}

static bool detach(struct err *err)
{
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        return err_sys(err, errno, "cannot put the standard streams to /dev/null");
    if (setsid() < 0 || chdir("/") != 0)
        return err_sys(err, errno, "cannot detach");
    umask(077);
    return true;
}

/* Keys of a model come as one line of JSON, so that no file holds them (PROTOCOL.md). */
static bool read_keys(json_t **ret, struct err *err)
{
    char chunk[4096];
    ssize_t n;
    AUTO_BUF struct buf text = BUF_INIT;
    while (!isatty(STDIN_FILENO) && text.len < KEYS_BYTES &&
           ((n = read(STDIN_FILENO, chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR)))
        buf_add(&text, chunk, n > 0 ? (size_t)n : 0);
    explicit_bzero(chunk, sizeof chunk);
    bool ok = text.len <= 1 || jx_parse(ret, text.ptr, text.len, err);
    explicit_bzero(text.ptr, text.len);
    return ok;
}

static int run_child(int dirfd, int report_fd, const json_t *keys)
{
    struct err err = ERR_INIT;
    struct keep *keep = NULL;
    if (!detach(&err) || !keep_open(&keep, dirfd, keys, &err)) {
        report(report_fd, &err);
        _exit(err_exit_code(&err)); /* what was half opened ends with the process */
    }
    report(report_fd, &err);
    keep_run(keep);
    return 0;
}

int main(int argc, char **argv)
{
    int fds[2];
    struct err err = ERR_INIT;
    if (argc == 3 && strcmp(argv[1], "--resolve") == 0)
        return resolve_print(argv[2]);
    if (argc != 2) {
        fprintf(stderr, "usage: headgate-keep ATTEMPT_FOLDER\n");
        return 2;
    }
    close_range(3, ~0U, 0); /* what the parent forgot to close must not be held for hours */
    reset_signals();
    AUTO_JSON json_t *keys = NULL;
    int dirfd = fs_open_dir(AT_FDCWD, argv[1], &err);
    if (dirfd < 0 || !read_keys(&keys, &err))
        return fail(&err);
    pid_t child = pipe2(fds, O_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0) {
        err_sys(&err, errno, "cannot start the keeper");
        return fail(&err);
    }
    if (child == 0) {
        close(fds[0]);
        return run_child(dirfd, fds[1], keys);
    }
    close(fds[1]);
    return wait_for_child(fds[0]);
}
