#include "sandbox/launch/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/mem.h"

static int from(long result)
{
    return result < 0 ? errno : 0;
}

static int try_unshare(const char *flags)
{
    return from(unshare((int)strtol(flags, NULL, 16)));
}

/* The raw call, as a program that brings its own C library would make it. */
static int try_clone(const char *flags)
{
    unsigned long bits = strtoul(flags, NULL, 16);
    long pid = syscall(SYS_clone, bits | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    return from(pid);
}

static int try_clone3(const char *unused)
{
    struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    (void)unused;
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        _exit(0);
    return from(pid);
}

static int try_setns(const char *path)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? errno : from(setns(fd, 0));
}

static int try_mount(const char *unused)
{
    (void)unused;
    return from(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static int try_remount(const char *path)
{
    return from(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int try_umount(const char *path)
{
    return from(umount2(path, MNT_DETACH));
}

static int try_fsopen(const char *unused)
{
    (void)unused;
    return from(fsopen("tmpfs", 0));
}

static int try_open_tree(const char *unused)
{
    (void)unused;
    return from(open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE));
}

static int try_pivot_root(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_pivot_root, "/tmp", "/tmp"));
}

static int try_chroot(const char *unused)
{
    (void)unused;
    return from(chroot("/tmp"));
}

static int try_keyctl(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
}

static int try_add_key(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_add_key, "user", "headgate", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

static int try_bpf(const char *unused)
{
    union bpf_attr attr = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    (void)unused;
    return from(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int try_perf(const char *unused)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .exclude_kernel = 1};
    (void)unused;
    return from(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static int try_io_uring(const char *unused)
{
    char params[256] = {0};
    (void)unused;
    return from(syscall(SYS_io_uring_setup, 4, params));
}

static int try_userfaultfd(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */));
}

/* On a terminal it would type into the shell that follows. The high word must not hide the number.
 */
static int try_tiocsti(const char *unused)
{
    char c = 'x';
    (void)unused;
    AUTO_FD int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    long why = syscall(SYS_ioctl, fd, (unsigned long)TIOCSTI | 1UL << 32, &c);
    return from(why < 0 ? why : syscall(SYS_ioctl, fd, TIOCSTI, &c));
}

static int try_tioclinux(const char *unused)
{
    char c = 6;
    (void)unused;
    return from(ioctl(0, TIOCLINUX, &c));
}

static int try_attach(const char *pid)
{
    return from(ptrace(PTRACE_ATTACH, (pid_t)atol(pid), 0, 0));
}

static int try_seize(const char *pid)
{
    return from(ptrace(PTRACE_SEIZE, (pid_t)atol(pid), 0, 0));
}

/* What a debugger does with a program that it starts itself. */
static int try_trace_child(const char *unused)
{
    int status;
    (void)unused;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
            _exit(errno);
        raise(SIGSTOP);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return errno;
    if (!WIFSTOPPED(status))
        return WEXITSTATUS(status);
    int why = from(ptrace(PTRACE_DETACH, pid, 0, 0));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return why;
}

static int try_vm_read(const char *pid)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {&byte, 1};
    return from(process_vm_readv((pid_t)atol(pid), &local, 1, &remote, 1, 0));
}

static int try_socket(const char *family)
{
    return from(socket(atoi(family), SOCK_STREAM, 0));
}

static int try_datagram(const char *family)
{
    return from(socket(atoi(family), SOCK_DGRAM, 0));
}

static int try_raw_socket(const char *unused)
{
    (void)unused;
    return from(socket(AF_INET, SOCK_RAW, 1));
}

static int try_netlink(const char *protocol)
{
    return from(socket(AF_NETLINK, SOCK_RAW, atoi(protocol)));
}

static int try_personality(const char *unused)
{
    (void)unused;
    return from(personality(ADDR_NO_RANDOMIZE));
}

static int try_handle(const char *unused)
{
    struct file_handle handle = {.handle_bytes = 0};
    (void)unused;
    return from(open_by_handle_at(AT_FDCWD, &handle, O_RDONLY));
}

static int try_kexec(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

static int try_module(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_delete_module, "headgate", O_NONBLOCK));
}

/* A number newer than any that the filter knows. */
static int try_unknown(const char *unused)
{
    (void)unused;
    return from(syscall(511));
}

#if defined(__x86_64__)
static int try_x32(const char *unused)
{
    (void)unused;
    return from(syscall(0x40000000 | SYS_getpid));
}

static int try_i386(const char *unused)
{
    long result;
    (void)unused;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "0"(20L /* getpid */)
                     : "memory", "r8", "r9", "r10", "r11");
    return result < 0 ? (int)-result : 0;
}
#endif

const struct probe_attempt probe_calls[] = {
    {"unshare", try_unshare},
    {"clone", try_clone},
    {"clone3", try_clone3},
    {"setns", try_setns},
    {"mount", try_mount},
    {"remount", try_remount},
    {"umount", try_umount},
    {"fsopen", try_fsopen},
    {"open-tree", try_open_tree},
    {"pivot-root", try_pivot_root},
    {"chroot", try_chroot},
    {"keyctl", try_keyctl},
    {"add-key", try_add_key},
    {"bpf", try_bpf},
    {"perf", try_perf},
    {"io-uring", try_io_uring},
    {"userfaultfd", try_userfaultfd},
    {"tiocsti", try_tiocsti},
    {"tioclinux", try_tioclinux},
    {"attach", try_attach},
    {"seize", try_seize},
    {"trace-child", try_trace_child},
    {"vm-read", try_vm_read},
    {"socket", try_socket},
    {"datagram", try_datagram},
    {"raw-socket", try_raw_socket},
    {"netlink", try_netlink},
    {"personality", try_personality},
    {"handle", try_handle},
    {"kexec", try_kexec},
    {"module", try_module},
    {"unknown", try_unknown},
#if defined(__x86_64__)
    {"x32", try_x32},
    {"i386", try_i386},
#endif
    {NULL, NULL},
};
