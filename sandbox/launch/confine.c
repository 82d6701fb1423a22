#include "sandbox/launch/launch.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "sandbox_filter.h"

/* The negative control: without the layer the box is one whose programs hold every capability of
 * its namespaces, else an attempt would be refused for want of one and prove nothing. */
static bool keep_capabilities(struct err *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct all[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &head, all) != 0)
        return err_sys(err, errno, "cannot read the capabilities");
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        all[i].inheritable = all[i].permitted;
    if (syscall(SYS_capset, &head, all) != 0)
        return err_sys(err, errno, "cannot keep the capabilities");
    for (unsigned long cap = 0; prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) == 0; cap++)
        continue;
    return true;
}

static bool drop_capabilities(struct launch *l, struct err *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (!launch_has(l, LAYER_CAPS))
        return keep_capabilities(err);
    for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
        continue;
    if (errno != EINVAL) /* the kernel's last capability is behind us */
        return err_sys(err, errno, "cannot drop the bounding set of capabilities");
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        syscall(SYS_capset, &head, none) != 0)
        return err_sys(err, errno, "cannot drop capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot set no_new_privs");
    launch_set(l, LAYER_CAPS, LAYER_ACTIVE, "no capabilities, no_new_privs", "");
    return true;
}

static bool load_filter(struct launch *l, struct err *err)
{
    struct sock_fprog program = {
        .len = ARRAY_LEN(sandbox_filter),
        .filter = (struct sock_filter *)(uintptr_t)sandbox_filter,
    };
    if (!launch_has(l, LAYER_SECCOMP))
        return true;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) {
        launch_set(l, LAYER_SECCOMP, LAYER_ACTIVE, "seccomp filter, native ABI only", "");
        return true;
    }
    if (errno != ENOSYS && errno != EINVAL)
        return err_sys(err, errno, "cannot load the filter of system calls");
    launch_set(l, LAYER_SECCOMP, LAYER_UNAVAILABLE, "",
               "this kernel was built without CONFIG_SECCOMP_FILTER");
    return true;
}

/*
 * Capabilities first: Landlock and the filter must do without. The signal of the caller's death
 * comes after every change of credentials, since each clears it (prctl(2)). The filter comes last.
 */
bool confine(struct launch *l, struct err *err)
{
    if (!drop_capabilities(l, err))
        return false;
    launch_mark(l, "capabilities");
    if (!landlock_apply(l, err))
        return false;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot tie the box to its caller");
    if (!notify_apply(l, err) || !load_filter(l, err))
        return false;
    launch_mark(l, "seccomp");
    return true;
}
