/*
 * exec_notify: the filter that parks every execve and execveat until the caller of the box answers.
 *
 * pid 1 loads it on itself, so that whatever it forks, joined programs too, is under it from birth
 * and nothing in the box is less confined than the agent. pid 1 itself never calls exec. A program
 * inside cannot make a listener of its own: the kernel allows one to a task (EBUSY, seccomp(2)).
 * When the last copy of the listener is closed, every exec fails with ENOSYS.
 */
#include "sandbox/launch/launch.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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

enum { FIRST_X32_CALL = 0x40000000 };

static int load(unsigned long flags)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_X32_CALL, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = ARRAY_LEN(code), .filter = code};
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

bool exec_notify_apply(struct launch *l, struct err *err)
{
    struct wire_msg msg = {.kind = BOX_MSG_EXEC_LISTENER, .error = ERR_INIT, .status = 1};
    if (!(l->plan.head->flags & PLAN_EXEC_NOTIFY))
        return true;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot set no_new_privs");
    AUTO_FD int fd = load(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (fd < 0 && errno == EINVAL) {
        msg.status = 0;
        fd = load(0);
    }
    if (fd < 0)
        explain(errno, &msg.error);
    if (!launch_send(l->ctl_fd, &msg, fd))
        return err_set(err, ERR_SYS, "cannot hand out the listener for execs");
    launch_mark(l, "exec listener");
    return true;
}
