/*
 * gen: write the box's system call filter as a C header, at build time.
 *
 * libseccomp knows the names and numbers; the program itself is laid out here, as a binary search
 * over ranges of numbers with the same answer: about seven comparisons a call, and small enough
 * that the kernel's check at load time costs little. Building it in the launcher would cost a
 * millisecond at each start (measured).
 *
 * The answers: what is known and harmless is allowed; what is known and refused gives EPERM; what
 * is newer than this table gives ENOSYS, so that programs fall back, and so does clone3, whose
 * flags a filter cannot see (glibc then uses clone). Foreign ABIs are killed (i386) or unknown
 * (x32, whose numbers lie above the table).
 */
#include <asm/unistd.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the system call filter knows x86-64 and arm64 only"
#endif

enum { CALLS_MAX = 512, CODE_MAX = 2048, NEW_TIME = 0x80 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Namespaces, mounts, other processes' memory, keyrings, the machine's state, and large kernel
 * surface that work in a worktree does not need. */
/* clang-format off */
static const char *const refused[] = {
    "acct", "add_key", "adjtimex", "bpf", "chroot", "clock_adjtime", "clock_settime",
    "delete_module", "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick",
    "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp",
    "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "memfd_secret", "migrate_pages",
    "modify_ldt", "mount", "mount_setattr", "move_mount", "move_pages", "nfsservctl",
    "open_by_handle_at", "open_tree", "perf_event_open", "pidfd_getfd", "pivot_root",
    "process_madvise", "process_vm_readv", "process_vm_writev", "quotactl", "quotactl_fd", "reboot",
    "request_key", "setdomainname", "sethostname", "setns", "settimeofday", "swapoff", "swapon",
    "syslog", "umount2", "uselib", "userfaultfd", "vhangup",
};
/* clang-format on */

static const char *const unknown[] = {"clone3"};

/* Harmless calls newer than libseccomp 2.5.4; one number on every architecture. */
static const int newer[] = {
    462, /* mseal */
    463, /* setxattrat */
    464, /* getxattrat */
    465, /* listxattrat */
    466, /* removexattrat */
    468, /* file_getattr */
    469, /* file_setattr */
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_WORD(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#else
#define LOW_WORD(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#endif
/* The kernel looks at the low word only in all arguments checked here, and so does the filter: a
 * high word that is not zero must not change the answer. */
#define LOAD(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW_WORD(n))
#define AND(mask) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask)
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IF_ANY(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define FAIL_WITH(why) ANSWER(SECCOMP_RET_ERRNO | (why))
#define ALLOW ANSWER(SECCOMP_RET_ALLOW)

#define NAMESPACES                                                                            \
    ((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
                CLONE_NEWPID | CLONE_NEWNET))

static const struct sock_filter check_clone[] = {LOAD(0), IF_ANY(NAMESPACES, 0, 1),
                                                 FAIL_WITH(EPERM), ALLOW};

static const struct sock_filter check_unshare[] = {LOAD(0), IF_ANY(NAMESPACES | NEW_TIME, 0, 1),
                                                   FAIL_WITH(EPERM), ALLOW};

/* Typing into a terminal, the console's selection, and line disciplines. Subvolumes of btrfs: a
 * read-only one that lets nobody in could be removed by root alone. */
static const struct sock_filter check_ioctl[] = {LOAD(1),
                                                 IF_EQUAL(TIOCSTI, 7, 0),
                                                 IF_EQUAL(TIOCLINUX, 6, 0),
                                                 IF_EQUAL(TIOCSETD, 5, 0),
                                                 IF_EQUAL(BTRFS_IOC_SNAP_CREATE, 4, 0),
                                                 IF_EQUAL(BTRFS_IOC_SUBVOL_CREATE, 3, 0),
                                                 IF_EQUAL(BTRFS_IOC_SNAP_CREATE_V2, 2, 0),
                                                 IF_EQUAL(BTRFS_IOC_SUBVOL_CREATE_V2, 1, 0),
                                                 IF_EQUAL(BTRFS_IOC_SUBVOL_SETFLAGS, 0, 1),
                                                 FAIL_WITH(EPERM),
                                                 ALLOW};

/* A process may be traced by the parent that it asks to (TRACEME); nobody takes another. */
static const struct sock_filter check_ptrace[] = {
    LOAD(0), IF_EQUAL(PTRACE_ATTACH, 1, 0), IF_EQUAL(PTRACE_SEIZE, 0, 1), FAIL_WITH(EPERM), ALLOW};

/* Ask, or set one of the plain ones: 0 is Linux, 8 is its 32-bit face. */
static const struct sock_filter check_personality[] = {
    LOAD(0), IF_EQUAL(0, 3, 0), IF_EQUAL(8, 2, 0), IF_EQUAL(UINT32_MAX, 1, 0), FAIL_WITH(EPERM),
    ALLOW};

/* Limits of one's own and of children; pid 1 keeps what it has. */
static const struct sock_filter check_prlimit[] = {LOAD(0), IF_EQUAL(1, 0, 1), FAIL_WITH(EPERM),
                                                   ALLOW};

static const struct sock_filter check_socketpair[] = {LOAD(0), IF_EQUAL(AF_UNIX, 1, 0),
                                                      FAIL_WITH(EAFNOSUPPORT), ALLOW};

static const struct sock_filter check_socket[] = {
    /* 0 */ LOAD(0),
    /* 1 */ IF_EQUAL(AF_UNIX, 12, 0),
    /* 2 */ IF_EQUAL(AF_NETLINK, 9, 0),
    /* 3 */ IF_EQUAL(AF_INET, 1, 0),
    /* 4 */ IF_EQUAL(AF_INET6, 0, 11),
    /* 5 */ LOAD(1),
    /* 6 */ AND(0xf), /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
    /* 7 */ IF_EQUAL(SOCK_RAW, 7, 0),
    /* 8 */ IF_EQUAL(SOCK_PACKET, 6, 0),
    /* 9 */ LOAD(2),
    /* 10 */ IF_EQUAL(IPPROTO_MPTCP, 6, 0),
    /* 11 */ IF_EQUAL(IPPROTO_SCTP, 5, 2),
    /* 12 */ LOAD(2),
    /* 13 */ IF_EQUAL(0, 0, 2), /* NETLINK_ROUTE: the C library lists interfaces with it */
    /* 14 */ ALLOW,
    /* 15 */ FAIL_WITH(EPERM),
    /* 16 */ FAIL_WITH(EAFNOSUPPORT),
    /* 17 */ FAIL_WITH(EPROTONOSUPPORT),
};

static const struct sock_filter answer_allow[] = {ALLOW};
static const struct sock_filter answer_refuse[] = {FAIL_WITH(EPERM)};
static const struct sock_filter answer_unknown[] = {FAIL_WITH(ENOSYS)};

/* What answers a call, or a range of calls. */
struct answer {
    const struct sock_filter *code;
    size_t n;
};
#define ANSWER_OF(array) ((struct answer){array, COUNT(array)})

static const struct {
    const char *name;
    struct answer answer;
} checked[] = {
    {"clone", {check_clone, COUNT(check_clone)}},
    {"ioctl", {check_ioctl, COUNT(check_ioctl)}},
    {"personality", {check_personality, COUNT(check_personality)}},
    {"prlimit64", {check_prlimit, COUNT(check_prlimit)}},
    {"ptrace", {check_ptrace, COUNT(check_ptrace)}},
    {"socket", {check_socket, COUNT(check_socket)}},
    {"socketpair", {check_socketpair, COUNT(check_socketpair)}},
    {"unshare", {check_unshare, COUNT(check_unshare)}},
};

struct range {
    uint32_t first;
    struct answer answer;
};

struct code {
    struct sock_filter at[CODE_MAX];
    size_t n;
};

static _Noreturn void die(const char *what, const char *about)
{
    fprintf(stderr, "filter generator: %s %s\n", what, about);
    exit(1);
}

static void set_answer(struct answer *table, const char *name, struct answer answer)
{
    int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, name);
    if (number >= 0 && number < CALLS_MAX)
        table[number] = answer;
    else if (number == __NR_SCMP_ERROR)
        die("libseccomp does not know", name);
    /* A negative pseudo number: this architecture has no such call. */
}

static void fill(struct answer *table)
{
    for (int number = 0; number < CALLS_MAX; number++) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
        table[number] = name ? ANSWER_OF(answer_allow) : ANSWER_OF(answer_unknown);
        free(name);
    }
    for (size_t i = 0; i < COUNT(newer); i++)
        table[newer[i]] = ANSWER_OF(answer_allow);
    for (size_t i = 0; i < COUNT(refused); i++)
        set_answer(table, refused[i], ANSWER_OF(answer_refuse));
    for (size_t i = 0; i < COUNT(unknown); i++)
        set_answer(table, unknown[i], ANSWER_OF(answer_unknown));
    for (size_t i = 0; i < COUNT(checked); i++)
        set_answer(table, checked[i].name, checked[i].answer);
}

static size_t find_ranges(struct range *ranges, const struct answer *table)
{
    size_t n = 0;
    for (uint32_t number = 0; number < CALLS_MAX; number++)
        if (number == 0 || table[number].code != table[number - 1].code)
            ranges[n++] = (struct range){number, table[number]};
    /* Whatever lies above the table, x32 included, joins its unknown tail. */
    if (ranges[n - 1].answer.code != answer_unknown)
        ranges[n++] = (struct range){CALLS_MAX, ANSWER_OF(answer_unknown)};
    return n;
}

static void add(struct code *code, const struct sock_filter *at, size_t n)
{
    if (code->n + n > CODE_MAX)
        die("the filter is too long for", "its buffer");
    memcpy(code->at + code->n, at, n * sizeof(*at));
    code->n += n;
}

/* Binary search: the lower half follows the comparison, the upper half follows the lower one. */
static void add_search(struct code *code, const struct range *ranges, size_t n)
{
    if (n == 1) {
        add(code, ranges[0].answer.code, ranges[0].answer.n);
        return;
    }
    struct code *lower = calloc(1, sizeof(*lower));
    if (!lower)
        die("out of", "memory");
    size_t half = n / 2;
    add_search(lower, ranges, half);
    struct sock_filter jump =
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, (uint8_t)lower->n, 0);
    if (lower->n <= UINT8_MAX) {
        add(code, &jump, 1);
    } else { /* conditional jumps reach 255 instructions, the plain one reaches all */
        struct sock_filter far_jump[] = {
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[half].first, 0, 1),
            BPF_STMT(BPF_JMP | BPF_JA | BPF_K, (uint32_t)lower->n)};
        add(code, far_jump, COUNT(far_jump));
    }
    add(code, lower->at, lower->n);
    free(lower);
    add_search(code, ranges + half, n - half);
}

int main(void)
{
    static struct answer table[CALLS_MAX];
    static struct range ranges[CALLS_MAX + 1];
    static struct code code;
    const struct sock_filter head[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        IF_EQUAL(NATIVE_ARCH, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    fill(table);
    add(&code, head, COUNT(head));
    add_search(&code, ranges, find_ranges(ranges, table));
    puts("/* Generated by sandbox/filter/gen.c. */\n"
         "static const struct sock_filter sandbox_filter[] = {");
    for (size_t i = 0; i < code.n; i++)
        printf("    {0x%02x, %u, %u, 0x%08x},\n", code.at[i].code, code.at[i].jt, code.at[i].jf,
               code.at[i].k);
    puts("};");
    return ferror(stdout) || fflush(stdout) != 0;
}
