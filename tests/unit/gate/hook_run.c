#include "tests/unit/gate/hook_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

static _Noreturn void exec_hook(char *const *argv, enum hook_oddity odd)
{
    sigset_t all;
    struct rlimit little = {.rlim_cur = 4 << 20, .rlim_max = 4 << 20};
    switch (odd) {
    case HOOK_ODD_SIGNALS_BLOCKED:
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        signal(SIGTERM, SIG_IGN);
        break;
    case HOOK_ODD_NO_STDOUT:
        close(STDOUT_FILENO);
        break;
    case HOOK_ODD_FULL_STDOUT:
        dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        break;
    case HOOK_ODD_NO_STDIN:
        close(STDIN_FILENO);
        break;
    case HOOK_ODD_LITTLE_MEMORY:
        setrlimit(RLIMIT_AS, &little);
        break;
    case HOOK_ODD_NOTHING:
        break;
    }
    execv(HOOK, argv);
    _exit(99);
}

void hook_start(struct hook *h, const char *folder, const char *input, size_t len,
                char *const *argv, enum hook_oddity odd)
{
    int out[2], errout[2];
    struct err err = ERR_INIT;
    AUTO_FREE char *input_path = fs_join(folder, "input");
    assert_true(fs_write_plain(AT_FDCWD, input_path, input, len, 0600, &err));
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(errout, O_CLOEXEC), 0);
    *h = (struct hook){.out_text = BUF_INIT, .err_text = BUF_INIT};
    h->pid = fork();
    if (h->pid == 0) {
        int in = open(input_path, O_RDONLY | O_CLOEXEC);
        dup2(in, STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(errout[1], STDERR_FILENO);
        exec_hook(argv, odd);
    }
    close(out[1]);
    close(errout[1]);
    h->out = out[0];
    h->errout = errout[0];
}

void hook_finish(struct hook *h)
{
    struct err err = ERR_INIT;
    int status;
    if (h->out >= 0)
        assert_true(fs_read_fd(&h->out_text, h->out, 1 << 20, &err));
    assert_true(fs_read_fd(&h->err_text, h->errout, 1 << 20, &err));
    close(h->out);
    close(h->errout);
    assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
    if (!WIFEXITED(status))
        fail_msg("ended by signal %d", WTERMSIG(status));
    h->status = WEXITSTATUS(status);
}

void hook_release(struct hook *h)
{
    buf_release(&h->out_text);
    buf_release(&h->err_text);
}
