#include "runner/keep/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "runner/base/mem.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

enum {
    FIRST_X32_CALL = 0x40000000,
    NEW_NAMESPACES = 0x7e020000, /* every CLONE_NEW flag that clone(2) knows */
    FIRST_LATER_CALL = 450,      /* than this table */
    CODE_MAX = 512,
};

/* What the keeper, libuv, the resolver and libc's start need. Those with a condition are below. */
static const int allowed[] = {
    /* files that are named by the keeper itself, and the box's through its root */
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_openat,
    SYS_openat2,
    SYS_close,
    SYS_close_range,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_lseek,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_statfs,
    SYS_fstatfs,
    SYS_getcwd,
    SYS_renameat,
    SYS_renameat2,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_flock,
    SYS_utimensat,
    SYS_umask,
    SYS_chdir,
    SYS_fchdir,
    SYS_fcntl,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_sendfile,
    SYS_splice,
    SYS_copy_file_range,
    SYS_fadvise64,
    SYS_memfd_create,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_inotify_rm_watch,
    /* waiting */
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_ppoll,
    SYS_pselect6,
    SYS_eventfd2,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_signalfd4,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_futex,
    SYS_sched_yield,
    SYS_restart_syscall,
    /* sockets, of the families below */
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_connect,
    SYS_getsockname,
    SYS_getpeername,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_sendmmsg,
    SYS_recvmmsg,
    SYS_shutdown,
    SYS_setsockopt,
    SYS_getsockopt,
    SYS_socketpair,
    /* the box's processes, and its own children */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_wait4,
    SYS_waitid,
    SYS_kill,
    SYS_tgkill,
    SYS_pidfd_open,
    SYS_pidfd_send_signal,
    SYS_execve,
    SYS_exit,
    SYS_exit_group,
    SYS_set_tid_address,
    SYS_set_robust_list,
    /* itself */
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getgroups,
    SYS_getpgid,
    SYS_getsid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_capget,
    SYS_getrandom,
    SYS_getrusage,
    SYS_prlimit64,
    SYS_sysinfo,
    SYS_uname,
    SYS_times,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_getcpu,
    SYS_sched_getaffinity,
    SYS_prctl,
    SYS_membarrier,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
/* what architectures of old have besides */
#ifdef SYS_open
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_rename,
    SYS_unlink,
    SYS_mkdir,
    SYS_rmdir,
    SYS_link,
    SYS_symlink,
    SYS_chmod,
    SYS_dup2,
    SYS_pipe,
    SYS_poll,
    SYS_select,
    SYS_epoll_wait,
    SYS_epoll_create,
    SYS_eventfd,
    SYS_getpgrp,
    SYS_time,
    SYS_fork,
    SYS_vfork,
    SYS_getrlimit,
    SYS_alarm,
    SYS_utimes,
    SYS_getdents,
#endif
};

static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

/* What looks at a box of another account and ends it. */
static const int kept_capabilities[] = {CAP_SYS_PTRACE, CAP_KILL, CAP_DAC_READ_SEARCH};

struct program {
    struct sock_filter code[CODE_MAX];
    unsigned short n;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    if (p->n < CODE_MAX)
        p->code[p->n++] = (struct sock_filter){code, yes, no, k};
}

static void give(struct program *p, uint32_t action)
{
    add(p, BPF_RET | BPF_K, action, 0, 0);
}

/* The low word of an argument; the kernel takes no more of these. */
static void load_argument(struct program *p, unsigned i)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * i), 0, 0);
}

static void add_conditions(struct program *p)
{
    const uint32_t refusal = SECCOMP_RET_ERRNO | EPERM;
    /* Flags of clone3 are out of sight; libc then uses clone. */
    add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    give(p, SECCOMP_RET_ERRNO | ENOSYS);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    load_argument(p, 0);
    add(p, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1);
    give(p, refusal);
    give(p, SECCOMP_RET_ALLOW);
    /* No typing into a terminal. */
    add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4);
    load_argument(p, 1);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 0, 1);
    give(p, refusal);
    give(p, SECCOMP_RET_ALLOW);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, (uint8_t)(ARRAY_LEN(families) + 3));
    load_argument(p, 0);
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)families[i], (uint8_t)(ARRAY_LEN(families) - i),
            0);
    give(p, refusal);
    give(p, SECCOMP_RET_ALLOW);
}

static void build(struct program *p)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
    give(p, SECCOMP_RET_KILL_PROCESS);
    add(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(p, BPF_JMP | BPF_JGE | BPF_K, FIRST_X32_CALL, 0, 1);
    give(p, SECCOMP_RET_ERRNO | ENOSYS);
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
        give(p, SECCOMP_RET_ALLOW);
    }
    add_conditions(p);
    /* What a later libc tries first, it does without then. */
    add(p, BPF_JMP | BPF_JGE | BPF_K, FIRST_LATER_CALL, 0, 1);
    give(p, SECCOMP_RET_ERRNO | ENOSYS);
    give(p, SECCOMP_RET_ERRNO | EPERM);
}

static bool is_kept(int capability)
{
    for (size_t i = 0; i < ARRAY_LEN(kept_capabilities); i++)
        if (kept_capabilities[i] == capability)
            return true;
    return false;
}

/* Before no_new_privs and the filter, which refuses it. Without privileges there are none to drop.
 */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (geteuid() != 0)
        return true;
    for (int i = 0; i <= CAP_LAST_CAP; i++)
        if (!is_kept(i))
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0); /* one that is unknown or gone already */
    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(data); i++) {
        uint32_t kept = 0;
        for (size_t k = 0; k < ARRAY_LEN(kept_capabilities); k++)
            if ((size_t)kept_capabilities[k] / 32 == i)
                kept |= 1U << (kept_capabilities[k] % 32);
        data[i].permitted &= kept;
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, data) == 0;
}

static void set(struct layer_status *ret, enum layer_state state, const char *reason)
{
    ret->state = state;
    snprintf(ret->reason, sizeof ret->reason, "%s", reason);
}

void confine_self(struct layer_status *ret)
{
    struct program p = {.n = 0};
    *ret = (struct layer_status){0};
    snprintf(ret->mechanism, sizeof ret->mechanism, "seccomp filter, no_new_privs%s",
             geteuid() == 0 ? ", few capabilities" : "");
    build(&p);
    const struct sock_fprog program = {.len = p.n, .filter = p.code};
    bool is_dropped = drop_capabilities();
    if (p.n == CODE_MAX || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        set(ret, LAYER_UNAVAILABLE, "the kernel takes no filter for the keeper");
    else if (!is_dropped)
        set(ret, LAYER_DEGRADED, "the keeper keeps root's capabilities: they could not be dropped");
    else
        set(ret, LAYER_ACTIVE, "");
}
