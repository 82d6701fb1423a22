/*
 * exec_racer MODE N: attackers and unusual callers of exec, run inside a gated box.
 *
 * It prints one line of counts: `good` and `evil` are the programs that really ran, `killed` what
 * the gate ended before its first instruction, `denied` EACCES or EPERM, `missing` ENOENT.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

#define FOLDER "/t/exec_"
#define GOOD FOLDER "good"
#define EVIL FOLDER "evil"

enum { STATUS_EVIL = 66, STATUS_MISSING = 70, STATUS_DENIED = 77, STATUS_OTHER = 78 };
enum { STACK_BYTES = 64 * 1024, BIG_ARGS = 16, BIG_BYTES = 120 * 1024 };

static char path[64] __attribute__((aligned(64))) = GOOD;
static char *const no_env[] = {NULL};
static volatile bool is_over;

struct counts {
    int good, evil, killed, denied, missing, other;
};

static int status_of_errno(void)
{
    if (errno == ENOENT)
        return STATUS_MISSING;
    return errno == EACCES || errno == EPERM ? STATUS_DENIED : STATUS_OTHER;
}

static void count(struct counts *c, int status)
{
    if (WIFSIGNALED(status))
        c->killed++;
    else if (WEXITSTATUS(status) == 0)
        c->good++;
    else if (WEXITSTATUS(status) == STATUS_EVIL)
        c->evil++;
    else if (WEXITSTATUS(status) == STATUS_DENIED)
        c->denied++;
    else if (WEXITSTATUS(status) == STATUS_MISSING)
        c->missing++;
    else
        c->other++;
}

static void wait_for(struct counts *c, pid_t pid)
{
    int status;
    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
        continue;
    count(c, status);
}

static void spin(void)
{
    for (volatile int i = 0; i < 400; i++)
        continue;
}

/* Four bytes, at once: the path is always one of the two. */
static void flip(void)
{
    unsigned good, evil;
    volatile unsigned *word = (volatile unsigned *)(void *)(path + sizeof(FOLDER) - 1);
    memcpy(&good, "good", 4);
    memcpy(&evil, "evil", 4);
    *word = evil;
    spin();
    *word = good;
    spin();
}

static void *flip_for_ever(void *arg)
{
    (void)arg;
    while (!is_over)
        flip();
    return NULL;
}

static int flip_in_peer(void *arg)
{
    flip_for_ever(arg);
    return 0;
}

static _Noreturn void become(const char *program)
{
    char *const argv[] = {(char *)"x", NULL};
    execve(program, argv, no_env);
    _exit(status_of_errno());
}

static void try_thread(struct counts *c)
{
    pthread_t t;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_create(&t, NULL, flip_for_ever, NULL);
        for (int i = 0; i < 40; i++)
            spin();
        become(path);
    }
    wait_for(c, pid);
}

static void try_vfork(struct counts *c)
{
    pid_t pid = vfork();
    if (pid == 0)
        become(path);
    wait_for(c, pid);
}

/* The file behind the name changes: a symbolic link that another process turns. */
static void turn_link(void)
{
    while (!is_over) {
        unlink("/w/new");
        if (symlink(EVIL, "/w/new") == 0)
            rename("/w/new", "/w/link");
        if (symlink(GOOD, "/w/new") == 0)
            rename("/w/new", "/w/link");
    }
}

static void try_link(struct counts *c)
{
    pid_t pid = fork();
    if (pid == 0)
        become("/w/link");
    wait_for(c, pid);
}

/* The file behind one name changes: two files that another process exchanges. The one is a copy of
 * the allowed program, the other a script whose interpreter is the refused one. */
static void exchange(void)
{
    while (!is_over)
        syscall(SYS_renameat2, AT_FDCWD, "/w/file", AT_FDCWD, "/w/other", RENAME_EXCHANGE);
}

static void try_file(struct counts *c)
{
    pid_t pid = fork();
    if (pid == 0)
        become("/w/file");
    wait_for(c, pid);
}

static void *exec_in_thread(void *arg)
{
    (void)arg;
    become(GOOD);
}

static void try_nonleader(struct counts *c)
{
    pthread_t t;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_create(&t, NULL, exec_in_thread, NULL);
        for (;;)
            pause();
    }
    wait_for(c, pid);
}

/* Every thread of a process at once, the first one too: one of them wins. */
static void try_crowd(struct counts *c)
{
    pthread_t t;
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 4; i++)
            pthread_create(&t, NULL, exec_in_thread, NULL);
        become(GOOD);
    }
    wait_for(c, pid);
}

static void try_missing(struct counts *c)
{
    pid_t pid = fork();
    if (pid == 0)
        become(GOOD "-missing");
    wait_for(c, pid);
}

/* The next exec of a thread follows its failed one at once, as when a shell meets a script without
 * a first line. */
static void try_stubborn(struct counts *c)
{
    int fd = open("/w/plain", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (fd >= 0 && (write(fd, "true\n", 5) != 5 || close(fd) != 0))
        exit(STATUS_OTHER);
    pid_t pid = fork();
    if (pid == 0) {
        char *const argv[] = {(char *)"x", NULL};
        for (int i = 0; i < 20; i++)
            if (execve("/w/plain", argv, no_env), errno != ENOEXEC)
                _exit(STATUS_OTHER);
        become(GOOD);
    }
    wait_for(c, pid);
}

static void try_undumpable(struct counts *c)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        become(GOOD);
    }
    wait_for(c, pid);
}

static void try_evil(struct counts *c)
{
    pid_t pid = fork();
    if (pid == 0)
        become(EVIL);
    wait_for(c, pid);
}

static void try_fd(struct counts *c, const char *program, bool is_named)
{
    char name[32], *const argv[] = {(char *)"x", NULL};
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(program, O_PATH | O_CLOEXEC);
        snprintf(name, sizeof name, is_named ? "/dev/fd/%d" : "/proc/self/fd/%d", fd);
        if (is_named)
            execve(name, argv, no_env);
        else
            syscall(SYS_execveat, fd, "", argv, no_env, AT_EMPTY_PATH);
        _exit(status_of_errno());
    }
    wait_for(c, pid);
}

static void try_fds(struct counts *c)
{
    try_fd(c, GOOD, false);
    try_fd(c, GOOD, true);
    try_fd(c, EVIL, false);
    try_fd(c, EVIL, true);
}

static void try_loader(struct counts *c)
{
    const char *programs[] = {"/usr/bin/true", EVIL};
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            char *const argv[] = {(char *)"ld.so", (char *)"--argv0", (char *)"x",
                                  (char *)programs[i], NULL};
            execve("/lib64/ld-linux-x86-64.so.2", argv, no_env);
            _exit(status_of_errno());
        }
        wait_for(c, pid);
    }
}

static void try_memory(struct counts *c)
{
    pid_t pid = fork();
    if (pid == 0) {
        char bytes[4096], *const argv[] = {(char *)"x", NULL};
        int from = open(GOOD, O_RDONLY | O_CLOEXEC);
        int fd = memfd_create("copy", MFD_CLOEXEC);
        for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;)
            if (write(fd, bytes, (size_t)n) != n)
                _exit(STATUS_OTHER);
        syscall(SYS_execveat, fd, "", argv, no_env, AT_EMPTY_PATH);
        _exit(status_of_errno());
    }
    wait_for(c, pid);
}

static void try_big(struct counts *c)
{
    static char text[BIG_BYTES];
    char *argv[BIG_ARGS + 1] = {NULL};
    memset(text, 'a', sizeof text - 1);
    for (int i = 0; i < BIG_ARGS; i++)
        argv[i] = text;
    pid_t pid = fork();
    if (pid == 0) {
        execve(GOOD, argv, no_env);
        _exit(status_of_errno());
    }
    wait_for(c, pid);
}

static void try_bytes(struct counts *c)
{
    char *const argv[] = {(char *)"x", (char *)"print", (char *)"\xff\xfe\n", (char *)"", NULL};
    pid_t pid = fork();
    if (pid == 0) {
        execve(GOOD, argv, no_env);
        _exit(status_of_errno());
    }
    wait_for(c, pid);
}

/* A debugger: its child asks to be traced and calls exec. */
static void try_debugger(struct counts *c)
{
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        become(GOOD);
    }
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    count(c, status);
}

/* N processes at once. */
static void spawn_all(struct counts *c, int n)
{
    char *const argv[] = {(char *)"x", NULL};
    pid_t *pids = calloc((size_t)n, sizeof *pids);
    for (int i = 0; i < n; i++)
        if (posix_spawn(&pids[i], GOOD, NULL, NULL, argv, no_env) != 0)
            pids[i] = 0;
    for (int i = 0; i < n; i++)
        if (pids[i] > 0)
            wait_for(c, pids[i]);
        else
            c->other++;
    free(pids);
}

static const struct mode {
    const char *name;
    void (*once)(struct counts *c);
} modes[] = {
    {"thread", try_thread},     {"vfork", try_vfork},           {"peer", try_vfork},
    {"link", try_link},         {"nonleader", try_nonleader},   {"crowd", try_crowd},
    {"missing", try_missing},   {"undumpable", try_undumpable}, {"evil", try_evil},
    {"fds", try_fds},           {"loader", try_loader},         {"memory", try_memory},
    {"big", try_big},           {"bytes", try_bytes},           {"debugger", try_debugger},
    {"stubborn", try_stubborn}, {"rename", try_file},
};

/* Whoever changes things meanwhile. */
static pid_t start_helper(const char *mode, pthread_t *ret_thread)
{
    if (strcmp(mode, "vfork") == 0)
        pthread_create(ret_thread, NULL, flip_for_ever, NULL);
    if (strcmp(mode, "peer") == 0) {
        static char stack[STACK_BYTES] __attribute__((aligned(16)));
        return clone(flip_in_peer, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    }
    if (strcmp(mode, "link") == 0 || strcmp(mode, "rename") == 0) {
        pid_t pid = fork();
        if (pid == 0) {
            if (strcmp(mode, "link") == 0)
                turn_link();
            exchange();
        }
        return pid;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct counts c = {0};
    pthread_t thread;
    const char *mode = argc > 2 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    pid_t helper = start_helper(mode, &thread);
    if (strcmp(mode, "spawn") == 0)
        spawn_all(&c, n);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        for (int k = 0; strcmp(modes[i].name, mode) == 0 && k < n; k++)
            modes[i].once(&c);
    is_over = true;
    if (helper > 0)
        kill(helper, SIGKILL);
    printf("%s: good=%d evil=%d killed=%d denied=%d missing=%d other=%d\n", mode, c.good, c.evil,
           c.killed, c.denied, c.missing, c.other);
    return 0;
}
