#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "runner/base/mem.h"
#include <sandbox_filter.h>

/*
 * The generated program, run here instruction by instruction: every answer for every number, which
 * a test of real calls could not ask for.
 */

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define FAILS_WITH(why) (SECCOMP_RET_ERRNO | (why))

static unsigned steps;
static bool has_looked_at_arguments;

static bool jump(const struct sock_filter *i, uint32_t a)
{
    switch (BPF_OP(i->code)) {
    case BPF_JEQ:
        return a == i->k;
    case BPF_JGE:
        return a >= i->k;
    case BPF_JSET:
        return (a & i->k) != 0;
    default:
        fail_msg("unexpected jump %x", i->code);
        return false;
    }
}

static uint32_t judge(const struct seccomp_data *data)
{
    uint32_t a = 0;
    steps = 0;
    has_looked_at_arguments = false;
    for (size_t at = 0; at < ARRAY_LEN(sandbox_filter); at++, steps++) {
        const struct sock_filter *i = &sandbox_filter[at];
        switch (BPF_CLASS(i->code)) {
        case BPF_LD:
            assert_true(i->k + sizeof(a) <= sizeof(*data));
            has_looked_at_arguments |= i->k >= offsetof(struct seccomp_data, args);
            memcpy(&a, (const char *)data + i->k, sizeof(a));
            break;
        case BPF_ALU:
            assert_int_equal(BPF_OP(i->code), BPF_AND);
            a &= i->k;
            break;
        case BPF_JMP:
            at += BPF_OP(i->code) == BPF_JA ? i->k : jump(i, a) ? i->jt : i->jf;
            break;
        case BPF_RET:
            return i->k;
        default:
            fail_msg("unexpected instruction %x", i->code);
        }
    }
    fail_msg("the program ends without an answer");
    return 0;
}

static uint32_t answer(long number, uint64_t a0, uint64_t a1, uint64_t a2)
{
    const struct seccomp_data data = {
        .nr = (int)number, .arch = NATIVE, .args = {a0, a1, a2, 0, 0, 0}};
    return judge(&data);
}

static void foreign_abis_are_killed(void **state)
{
    (void)state;
    static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, 0, AUDIT_ARCH_PPC64LE};
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        const struct seccomp_data data = {.nr = SYS_read, .arch = foreign[i]};
        assert_int_equal(judge(&data), SECCOMP_RET_KILL_PROCESS);
    }
}

static void every_number_has_a_cheap_answer(void **state)
{
    (void)state;
    unsigned allowed = 0;
    for (long number = 0; number < 1024; number++) {
        uint32_t got = answer(number, 0, 0, 0);
        allowed += got == SECCOMP_RET_ALLOW;
        assert_true(got == SECCOMP_RET_ALLOW || got == FAILS_WITH(EPERM) ||
                    got == FAILS_WITH(ENOSYS) || got == FAILS_WITH(EAFNOSUPPORT));
        assert_true(steps < 24);
        if (number >= 470)
            assert_int_equal(got, FAILS_WITH(ENOSYS));
        assert_int_equal(answer(number | 0x40000000, 0, 0, 0), FAILS_WITH(ENOSYS)); /* x32 */
    }
    assert_true(allowed > 250 && allowed < 340);
    assert_int_equal(answer(-1, 0, 0, 0), FAILS_WITH(ENOSYS));
    assert_int_equal(answer(INT32_MAX, 0, 0, 0), FAILS_WITH(ENOSYS));
}

/* What is allowed without a look at its arguments the kernel answers from a bitmap, which costs
 * nothing (Linux 5.11). */
static void arguments_are_looked_at_for_a_few_calls_only(void **state)
{
    (void)state;
    static const long looked_at[] = {SYS_clone,  SYS_ioctl,  SYS_personality, SYS_prlimit64,
                                     SYS_ptrace, SYS_socket, SYS_socketpair,  SYS_unshare};
    for (long number = 0; number < 1024; number++) {
        bool is_expected = false;
        for (size_t i = 0; i < ARRAY_LEN(looked_at); i++)
            is_expected |= looked_at[i] == number;
        (void)answer(number, 0, 0, 0);
        assert_int_equal(has_looked_at_arguments, is_expected);
    }
}

static void ordinary_calls_pass(void **state)
{
    (void)state;
    static const long calls[] = {SYS_read,
                                 SYS_write,
                                 SYS_openat,
                                 SYS_execve,
                                 SYS_execveat,
                                 SYS_mmap,
                                 SYS_futex,
                                 SYS_wait4,
                                 SYS_kill,
                                 SYS_getrandom,
                                 SYS_memfd_create,
                                 SYS_copy_file_range,
                                 SYS_statx,
                                 SYS_prctl,
                                 SYS_seccomp,
                                 SYS_rseq,
                                 SYS_landlock_create_ruleset,
                                 SYS_openat2,
                                 SYS_close_range,
                                 SYS_pidfd_open,
                                 SYS_inotify_init1,
                                 SYS_epoll_pwait2,
                                 SYS_sched_setaffinity,
                                 SYS_name_to_handle_at,
                                 SYS_mknodat,
                                 SYS_fchmodat,
                                 SYS_setxattr,
                                 SYS_flock,
                                 SYS_bind,
                                 SYS_accept4,
                                 462};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        assert_int_equal(answer(calls[i], 0, 0, 0), SECCOMP_RET_ALLOW);
}

static void arguments_decide(void **state)
{
    (void)state;
    static const uint64_t high = 1ULL << 32; /* the kernel does not look there */
    static const int namespaces[] = {CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET,
                                     CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        uint64_t flag = (uint64_t)namespaces[i];
        assert_int_equal(answer(SYS_clone, flag | 17, 0, 0), FAILS_WITH(EPERM));
        assert_int_equal(answer(SYS_clone, flag | high | CLONE_VM, 0, 0), FAILS_WITH(EPERM));
        assert_int_equal(answer(SYS_unshare, flag, 0, 0), FAILS_WITH(EPERM));
    }
    assert_int_equal(answer(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD, 0, 0),
                     SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_clone3, 0, 0, 0), FAILS_WITH(ENOSYS));
    assert_int_equal(answer(SYS_unshare, CLONE_FILES | CLONE_FS, 0, 0), SECCOMP_RET_ALLOW);
    static const uint64_t refused[] = {TIOCSTI,
                                       TIOCLINUX,
                                       TIOCSETD,
                                       BTRFS_IOC_SNAP_CREATE,
                                       BTRFS_IOC_SUBVOL_CREATE,
                                       BTRFS_IOC_SNAP_CREATE_V2,
                                       BTRFS_IOC_SUBVOL_CREATE_V2,
                                       BTRFS_IOC_SUBVOL_SETFLAGS};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        assert_int_equal(answer(SYS_ioctl, 0, refused[i], 0), FAILS_WITH(EPERM));
        assert_int_equal(answer(SYS_ioctl, 0, refused[i] | high, 0), FAILS_WITH(EPERM));
    }
    assert_int_equal(answer(SYS_ioctl, 0, TCGETS, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_ioctl, 0, FIONREAD, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_ioctl, 0, FICLONE, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_ptrace, 0, 0, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_ptrace, 16, 0, 0), FAILS_WITH(EPERM));
    assert_int_equal(answer(SYS_ptrace, 0x4206, 0, 0), FAILS_WITH(EPERM));
    assert_int_equal(answer(SYS_prlimit64, 0, 7, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_prlimit64, 1234, 7, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_prlimit64, 1, 7, 0), FAILS_WITH(EPERM));
    assert_int_equal(answer(SYS_prlimit64, 1 | high, 7, 0), FAILS_WITH(EPERM));
    assert_int_equal(answer(SYS_personality, UINT32_MAX, 0, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_personality, 0x40000, 0, 0), FAILS_WITH(EPERM));
}

static void sockets_are_of_few_families(void **state)
{
    (void)state;
    static const struct {
        uint64_t family, type, protocol;
        uint32_t expected;
    } cases[] = {
        {AF_UNIX, SOCK_STREAM, 0, SECCOMP_RET_ALLOW},
        {AF_UNIX, SOCK_RAW, 0, SECCOMP_RET_ALLOW},
        {AF_INET, SOCK_STREAM, 6, SECCOMP_RET_ALLOW},
        {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 17, SECCOMP_RET_ALLOW},
        {AF_INET6, SOCK_STREAM, 0, SECCOMP_RET_ALLOW},
        {AF_INET, SOCK_RAW, 1, FAILS_WITH(EPERM)},
        {AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58, FAILS_WITH(EPERM)},
        {AF_INET, SOCK_PACKET, 0, FAILS_WITH(EPERM)},
        {AF_INET, SOCK_STREAM, 262, FAILS_WITH(EPROTONOSUPPORT)},
        {AF_INET6, SOCK_STREAM, 132, FAILS_WITH(EPROTONOSUPPORT)},
        {AF_NETLINK, SOCK_RAW, 0, SECCOMP_RET_ALLOW},
        {AF_NETLINK, SOCK_DGRAM, 9, FAILS_WITH(EAFNOSUPPORT)},
        {0, SOCK_STREAM, 0, FAILS_WITH(EAFNOSUPPORT)},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(answer(SYS_socket, cases[i].family, cases[i].type, cases[i].protocol),
                         cases[i].expected);
    for (uint64_t family = 3; family < 64; family++)
        if (family != AF_INET6 && family != AF_NETLINK)
            assert_int_equal(answer(SYS_socket, family, SOCK_STREAM, 0), FAILS_WITH(EAFNOSUPPORT));
    assert_int_equal(answer(SYS_socketpair, AF_UNIX, 1, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(answer(SYS_socketpair, 30 /* AF_TIPC */, 1, 0), FAILS_WITH(EAFNOSUPPORT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_abis_are_killed),
        cmocka_unit_test(every_number_has_a_cheap_answer),
        cmocka_unit_test(arguments_are_looked_at_for_a_few_calls_only),
        cmocka_unit_test(ordinary_calls_pass),
        cmocka_unit_test(arguments_decide),
        cmocka_unit_test(sockets_are_of_few_families)};
    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
