/*
 * What the keeper took from itself: the acts that it has no use for are refused, in it and in a
 * child that confined itself alike, and come through without; what it lives on still works.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/confine.h"
#include "tests/unit/keep/world.h"

extern char **environ;

static char target[16] = "before";

static int errno_of(long result)
{
    return result < 0 ? errno : 0;
}

static int new_namespace(void)
{
    return errno_of(unshare(CLONE_NEWUSER));
}

static int child_in_namespace(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    return errno_of(pid);
}

static int write_memory(void)
{
    char bytes[] = "after";
    const struct iovec local = {bytes, sizeof bytes}, remote = {target, sizeof bytes};
    return errno_of(process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
}

static int use_keyring(void)
{
    return errno_of(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1));
}

static int use_io_uring(void)
{
    char params[120] = {0}; /* struct io_uring_params */
    return errno_of(syscall(SYS_io_uring_setup, 1, params));
}

static int change_personality(void)
{
    return errno_of(personality(0xffffffff));
}

static int raw_socket(void)
{
    return errno_of(socket(AF_ALG, SOCK_SEQPACKET, 0));
}

static int exec_by_descriptor(void)
{
    char *const argv[] = {NULL};
    return errno_of(syscall(SYS_execveat, -1, "", argv, argv, 0));
}

static int read_memory(void)
{
    char bytes[sizeof target];
    const struct iovec local = {bytes, sizeof bytes}, remote = {target, sizeof bytes};
    return errno_of(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

static int start_program(void)
{
    char *const argv[] = {(char *)"true", NULL};
    pid_t pid;
    int status;
    int why = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ);
    if (why)
        return why;
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : ECHILD;
}

static int trace_child(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        poll(NULL, 0, -1);
        _exit(0);
    }
    int why = errno_of(ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACEEXEC));
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return why;
}

static int connect_out(void)
{
    const struct sockaddr_in nobody = {.sin_family = AF_INET,
                                       .sin_port = htons(1),
                                       .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    return connect(fd, (const struct sockaddr *)&nobody, sizeof nobody) != 0 &&
                   errno != ECONNREFUSED
               ? errno
               : 0;
}

static const struct act {
    const char *name;
    int (*run)(void);
    bool is_refused;
} acts[] = {
    {"a new namespace", new_namespace, true},
    {"a child in a namespace", child_in_namespace, true},
    {"writing memory", write_memory, true},
    {"a keyring", use_keyring, true},
    {"io_uring", use_io_uring, true},
    {"personality", change_personality, true},
    {"a socket of another family", raw_socket, true},
    {"execveat", exec_by_descriptor, true},
    {"reading memory", read_memory, false},
    {"starting a program", start_program, false},
    {"tracing", trace_child, false},
    {"connecting", connect_out, false},
};

/* The errno of an act in a process of its own. */
static int in_child(const struct act *a, bool is_confined)
{
    int status;
    struct layer_status layer = {.state = LAYER_ACTIVE};
    pid_t pid = fork();
    if (pid == 0) {
        if (is_confined)
            confine_self(&layer);
        _exit(layer.state == LAYER_ACTIVE ? a->run() : 255);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

static void what_is_of_no_use_is_refused_and_the_rest_works(void **state)
{
    (void)state;
    int n_proven = 0;
    for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
        int got = in_child(&acts[i], true), control = in_child(&acts[i], false);
        print_message("%s: %s; without: %s\n", acts[i].name, strerror(got), strerror(control));
        assert_int_equal(got, acts[i].is_refused ? EPERM : 0);
        n_proven += control != got;
    }
    assert_true(n_proven >= 5); /* some the host itself may refuse */
}

static void expect_in_status(pid_t pid, const char *line)
{
    char path[64];
    AUTO_BUF struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    assert_true(fs_read_file(&text, AT_FDCWD, path, 65536, &err));
    if (!strstr(text.ptr, line))
        fail_msg("no '%s' in %s", line, text.ptr);
}

#if defined(__x86_64__)
/* A system call made by another process, where it waits in one: its answer. */
static long call_in(pid_t pid, long number, long argument)
{
    struct user_regs_struct saved, regs;
    int status;
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &saved), 0);
    regs = saved;
    regs.rip -= 2; /* the `syscall` that it came from */
    regs.rax = (unsigned long)number;
    regs.rdi = (unsigned long)argument;
    regs.orig_rax = (unsigned long)-1;
    assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
    assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &saved), 0);
    assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
    return (long)regs.rax;
}
#endif

static void a_running_keeper_is_confined(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "read line < /w/go; echo went on");
    world_fifo_to_box(&w, "go");
    world_start(&w);
    AUTO_JSON json_t *layers = world_record(&w, "layers");
    const json_t *own = json_array_get(jx_arr(layers, "layers"), LAYER_COUNT + 1);
    assert_string_equal(jx_str(own, "name", ""), "keeper");
    assert_string_equal(jx_str(own, "state", ""), "active");
    AUTO_JSON json_t *started = world_record(&w, "started");
    assert_non_null(started);
    expect_in_status(w.keeper.pid, "\nSeccomp:\t2\n");
    expect_in_status(w.keeper.pid, "\nNoNewPrivs:\t1\n");
    expect_in_status(w.keeper.pid, geteuid() == 0 ? "\nCapEff:\t0000000000080024\n"
                                                  : "\nCapEff:\t0000000000000000\n");
#if defined(__x86_64__)
    assert_int_equal(call_in(w.keeper.pid, SYS_unshare, CLONE_NEWUSER), -EPERM);
    assert_int_equal(call_in(w.keeper.pid, SYS_getppid, 0) >= 0, 1);
#endif
    world_go(&w, "go");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "went on\n");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_of_no_use_is_refused_and_the_rest_works),
        world_test(a_running_keeper_is_confined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
