#include "sandbox/launch/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* Resources, the end of a box, and ways to start a program, tried from inside (probe.h). */

/* What is left behind outlives the suite by no more than this. */
enum { LIFE_S = 30, CHUNK = 1 << 20, THREAD_BYTES = 16384 };

static int from(long result)
{
    return result < 0 ? errno : 0;
}

static int fill_disk(const char *argument)
{
    static char chunk[CHUNK];
    char path[4096];
    int mebibytes, why = 0;
    if (sscanf(argument, "%4095s %d", path, &mebibytes) != 2)
        return EINVAL;
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    while (mebibytes-- > 0 && why == 0)
        why = from(write(fd, chunk, sizeof(chunk)));
    unlink(path);
    return why;
}

static int open_many(const char *count)
{
    for (int i = atoi(count); i > 0; i--)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
            return errno;
    return 0;
}

static int watch_often(const char *count)
{
    for (int i = atoi(count); i > 0; i--)
        if (inotify_init1(IN_CLOEXEC) < 0)
            return errno;
    return 0;
}

static void *wait_for_ever(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

static int start_threads(const char *count)
{
    pthread_attr_t attr;
    pthread_t thread;
    int why = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_BYTES);
    for (int i = atoi(count); i > 0 && why == 0; i--)
        why = pthread_create(&thread, &attr, wait_for_ever, NULL);
    return why;
}

/* Hold a lock, and say who does. */
static int take_lock(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        return errno;
    return dprintf(fd, "%d\n", (int)getpid()) < 0 ? errno : 0;
}

static int stay(const char *path)
{
    int why = take_lock(path);
    if (why != 0)
        return why;
    alarm(LIFE_S);
    puts("ready");
    fflush(stdout);
    wait_for_ever(NULL);
    return 0;
}

/* A process of nobody's: two forks and a session. Its output is the given one, or none. */
static pid_t start_daemon(void)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    setsid();
    if (fork() != 0)
        _exit(0);
    return 0;
}

static int leave_daemon(const char *path)
{
    int ends[2], why = ECHILD;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    pid_t pid = start_daemon();
    if (pid == 0) {
        why = take_lock(path);
        alarm(LIFE_S);
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
        while (write(ends[1], &why, sizeof(why)) < 0)
            continue;
        close(ends[1]);
        close(ends[0]);
        wait_for_ever(NULL);
    }
    close(ends[1]);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid || read(ends[0], &why, sizeof(why)) < 0)
        return errno;
    return why;
}

static int own_program(void)
{
    return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

/* A copy of this program in an anonymous file. */
static int copy_program(int to)
{
    char chunk[65536];
    ssize_t got;
    AUTO_FD int own = own_program();
    while ((got = read(own, chunk, sizeof(chunk))) > 0)
        if (write(to, chunk, (size_t)got) != got)
            return -1;
    return got == 0 ? to : -1;
}

/* A file without a name that may be executed: opened again to read, since what is open to write
 * may not. */
static int nameless_program(void)
{
    char again[64];
    AUTO_FD int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
    if (fd < 0 || copy_program(fd) < 0)
        return -1;
    snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
    return open(again, O_RDONLY | O_CLOEXEC);
}

static _Noreturn void start_program(const char *way, char *word)
{
    char name[] = "headgate-box", odd[] = "h\xffg\n\x1b[2J", probe[] = "--probe", path[4096];
    char *argv[] = {strcmp(way, "bytes") == 0 ? odd : name, probe, word, NULL};
    char *env[] = {NULL};
    int fd = -1;
    if (strcmp(way, "memfd") == 0)
        fd = copy_program((int)syscall(SYS_memfd_create, "program", 0));
    else if (strcmp(way, "tmpfile") == 0)
        fd = nameless_program();
    else if (strcmp(way, "execveat") == 0 || strcmp(way, "bytes") == 0)
        fd = own_program();
    if (fd >= 0)
        syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH);
    else if (strcmp(way, "fd") == 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", open("/proc/self/exe", O_RDONLY));
        execve(path, argv, env);
    } else if (strcmp(way, "shell") == 0) {
        ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
        path[len > 0 ? len : 0] = '\0';
        execl("/bin/sh", "sh", "-c", "exec \"$0\" --probe \"$1\"", path, word, (char *)NULL);
    } else if (strcmp(way, "exec") == 0) {
        char *space = strchr(word, ' ');
        if (space) {
            *space = '\0';
            argv[2] = space + 1;
            execve(word, argv, env);
        }
    } else if (strcmp(way, "daemon") == 0) {
        execve("/proc/self/exe", argv, env);
    }
    puts(sys_errno_name(errno));
    fflush(stdout);
    _exit(1);
}

/* "WAY WORD": try the word in a program that was started in this way. */
static int try_through(const char *argument)
{
    char way[16];
    int ends[2];
    char c;
    if (sscanf(argument, "%15s", way) != 1 || !strchr(argument, ' ') || pipe(ends) != 0)
        return EINVAL;
    AUTO_FREE char *word = xstrdup(strchr(argument, ' ') + 1);
    pid_t pid = strcmp(way, "daemon") == 0 ? start_daemon() : fork();
    if (pid == 0)
        start_program(way, word);
    close(ends[1]);
    /* Whoever tries it holds the other end, orphan or not. */
    while (pid > 0 && read(ends[0], &c, 1) > 0)
        continue;
    close(ends[0]);
    return pid < 0 || waitpid(pid, NULL, 0) != pid ? errno : PROBE_PRINTED;
}

static int effective_user(const char *unused)
{
    (void)unused;
    printf("%u\n", (unsigned)geteuid());
    return PROBE_PRINTED;
}

static int become_root(const char *unused)
{
    (void)unused;
    return from(setuid(0));
}

/* A program whose mode asks for its owner's rights, on a mount where that counts. */
static int make_setuid(const char *path)
{
    struct statvfs fs;
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0 || fchmod(fd, 04755) != 0 || fstatvfs(fd, &fs) != 0 || unlink(path) != 0)
        return errno;
    return fs.f_flag & ST_NOSUID ? EPERM : 0;
}

/* A program with capabilities of its own (capabilities(7): version 3, of this account's root). */
static int give_capabilities(const char *path)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    const struct vfs_ns_cap_data caps = {.magic_etc = VFS_CAP_REVISION_3 | VFS_CAP_FLAGS_EFFECTIVE,
                                         .data = {{.permitted = 1U << CAP_SYS_ADMIN}},
                                         .rootid = geteuid()};
    if (fd < 0)
        return errno;
    int why = from(fsetxattr(fd, "security.capability", &caps, sizeof(caps), 0));
    unlink(path);
    return why;
}

/* As a shell does it, quietly. */
static int run_script(const char *script)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++)
        if (dup2(null, fd) < 0)
            return errno;
    return system(script) == 0 ? 0 : ECANCELED;
}

/* Say that it begins, try until standard input ends, and give the best that came of it. */
static int repeat_until_end(int (*once)(const char *), const char *argument)
{
    struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
    int why = ENOENT;
    puts("ready");
    fflush(stdout);
    while (why != 0 && poll(&end, 1, 0) == 0)
        why = once(argument);
    while (poll(&end, 1, -1) != 1)
        continue;
    return why;
}

static int append_once(const char *path)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return fd < 0 ? errno : from(write(fd, "escaped\n", 8));
}

/* A new file, which stays, with the folders above it. */
static int plant(const char *path)
{
    AUTO_FREE char *folder = xstrdup(path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return from(fd);
}

static int append_often(const char *path)
{
    return repeat_until_end(append_once, path);
}

/* "PATH TARGET": exchange a folder for a link to elsewhere, and back. */
static int exchange_often(const char *argument)
{
    char path[4096], target[4096], link_path[4200];
    struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
    if (sscanf(argument, "%4095s %4095s", path, target) != 2)
        return EINVAL;
    snprintf(link_path, sizeof(link_path), "%s.link", path);
    if (symlink(target, link_path) != 0)
        return errno;
    puts("ready");
    fflush(stdout);
    int why = 0;
    bool is_away = false;
    while ((poll(&end, 1, 0) == 0 || is_away) && why == 0) {
        why = from(renameat2(AT_FDCWD, path, AT_FDCWD, link_path, RENAME_EXCHANGE));
        is_away = !is_away;
    }
    unlink(link_path);
    return why;
}

const struct probe_attempt probe_life[] = {
    {"fill", fill_disk},
    {"files", open_many},
    {"inotify", watch_often},
    {"threads", start_threads},
    {"stay", stay},
    {"leave-daemon", leave_daemon},
    {"through", try_through},
    {"euid", effective_user},
    {"setuid-zero", become_root},
    {"make-setuid", make_setuid},
    {"capabilities", give_capabilities},
    {"sh", run_script},
    {"plant", plant},
    {"append-loop", append_often},
    {"exchange", exchange_often},
    {NULL, NULL},
};
