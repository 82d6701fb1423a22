/*
 * notify: the filter that parks calls of the box until the caller of the box answers: every execve
 * and execveat, and where the worktree is an overlay every rename, and by what a process narrows
 * itself or hides who started it: what is carried out for a caller would be so without rules of its
 * own.
 *
 * pid 1 loads it on itself, so that whatever it forks, joined programs too, is under it from birth
 * and nothing in the box is less confined than the agent. pid 1 itself never calls exec. A program
 * inside cannot make a listener of its own: the kernel allows one to a task (EBUSY, seccomp(2)).
 * When the last copy of the listener is closed, every call that would be parked fails with ENOSYS.
 */
#include "sandbox/launch/launch.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/mem.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

enum {
    FIRST_X32_CALL = 0x40000000,
    UNASKED = 0x68677266,         /* any number that a kernel does not look at */
    LANDLOCK_RESTRICT_SELF = 446, /* one number on every architecture */
    CODE_MAX = 64,
};

#define FLAGS_HIGH_WORD (offsetof(struct seccomp_data, args) + 8 * 4 + 4) /* little-endian */

static const int execs[] = {SYS_execve, SYS_execveat};

static const int renames[] = {
    LANDLOCK_RESTRICT_SELF,
#ifdef SYS_rename
    SYS_rename,
#endif
#ifdef SYS_renameat
    SYS_renameat,
#endif
};

struct code {
    struct sock_filter at[CODE_MAX];
    unsigned short n;
};

static void add(struct code *c, uint16_t op, size_t k, uint8_t yes, uint8_t no)
{
    c->at[c->n++] = (struct sock_filter){op, yes, no, (uint32_t)k};
}

static void add_head(struct code *c)
{
    add(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(c, BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
    add(c, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    add(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(c, BPF_JMP | BPF_JGE | BPF_K, FIRST_X32_CALL, 0, 1);
    add(c, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
}

static void add_parked(struct code *c, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add(c, BPF_JMP | BPF_JEQ | BPF_K, (size_t)calls[i], 0, 1);
        add(c, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
    }
}

/* Low words, which are all that the kernel takes of these; little-endian. */
static void add_parked_by_argument(struct code *c, int call, uint16_t test, unsigned value)
{
    add(c, BPF_JMP | BPF_JEQ | BPF_K, (size_t)call, 0, 4);
    add(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args), 0, 0);
    add(c, (uint16_t)(BPF_JMP | test | BPF_K), value, 0, 1);
    add(c, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
    add(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* The kernel reads 32 bits of the flags, so what pid 1's own calls have above them means something
 * to this filter only. Others may have it too: they then get what the kernel answers. */
static void add_renames(struct code *c)
{
    add_parked(c, renames, ARRAY_LEN(renames));
    add_parked_by_argument(c, SYS_prctl, BPF_JEQ, PR_SET_CHILD_SUBREAPER);
    add_parked_by_argument(c, SYS_clone, BPF_JSET, CLONE_PARENT);
    add(c, BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3);
    add(c, BPF_LD | BPF_W | BPF_ABS, FLAGS_HIGH_WORD, 0, 0);
    add(c, BPF_JMP | BPF_JEQ | BPF_K, UNASKED, 1, 0);
    add(c, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
}

int notify_rename_unasked(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, (uint64_t)UNASKED << 32 | flags);
}

static int load(unsigned parked, unsigned long flags)
{
    struct code code = {.n = 0};
    add_head(&code);
    if (parked & PLAN_EXEC_NOTIFY)
        add_parked(&code, execs, ARRAY_LEN(execs));
    if (parked & PLAN_MOVE_NOTIFY)
        add_renames(&code);
    add(&code, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    const struct sock_fprog program = {.len = code.n, .filter = code.at};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);
}

static void explain(int why, struct err *err)
{
    if (why == EBUSY)
        err_set(err, ERR_LAYER,
                "an outer sandbox watches the system calls of this process already, and the kernel "
                "allows one listener (WSL2 and some containers do so)");
    else if (why == EINVAL || why == ENOSYS)
        err_set(err, ERR_LAYER, "this kernel has no seccomp user notification");
    else
        err_sys(err, why, "the kernel refuses a listener for execs");
}

/* Before Linux 5.19 a signal interrupts a call that waits, which then begins anew. An exec can; a
 * rename that was carried out meanwhile cannot, so those are left to the kernel there. */
bool notify_apply(struct launch *l, struct err *err)
{
    struct wire_msg msg = {.kind = BOX_MSG_CALL_LISTENER, .error = ERR_INIT, .status = 1};
    unsigned parked = l->plan.head->flags & (PLAN_EXEC_NOTIFY | PLAN_MOVE_NOTIFY);
    if (!parked)
        return true;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot set no_new_privs");
    AUTO_FD int fd = load(parked, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (fd < 0 && errno == EINVAL) {
        msg.status = 0;
        fd = parked & PLAN_EXEC_NOTIFY ? load(PLAN_EXEC_NOTIFY, 0) : -1;
    }
    if (fd < 0)
        explain(errno, &msg.error);
    if (!launch_send(l->ctl_fd, &msg, fd))
        return err_set(err, ERR_SYS, "cannot hand out the listener for calls");
    launch_mark(l, "call listener");
    return true;
}
