#include "sandbox/launch/launch.h"
#include "sandbox/launch/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/mem.h"

enum { CREATE_VERSION = 1 << 0, RULE_PATH_BENEATH = 1 };

struct path_rule {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

static bool add_rule(int ruleset, const char *path, uint64_t allowed, struct err *err)
{
    struct stat st;
    struct path_rule rule = {.allowed = allowed};
    if (!allowed)
        return true;
    AUTO_FD int fd = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return true;
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot open %s for a Landlock rule", path);
    if (!S_ISDIR(st.st_mode))
        rule.allowed &= RIGHTS_OF_A_FILE;
    if (!rule.allowed)
        return true;
    rule.parent_fd = fd;
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) != 0)
        return err_sys(err, errno, "cannot add a Landlock rule for %s", path);
    return true;
}

/* What a place of the plan may be used for. */
static uint64_t allowed_by(const struct plan_step *step)
{
    if (step->flags & PLAN_DEVICE)
        return FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
    if (step->flags & PLAN_CONNECT)
        return FS_RESOLVE_UNIX;
    return ~(uint64_t)(FS_MAKE_CHAR | FS_MAKE_BLOCK);
}

static bool add_rules(const struct launch *l, int ruleset, uint64_t handled, struct err *err)
{
    if (!add_rule(ruleset, "/", RIGHTS_TO_READ, err))
        return false;
    const struct plan_step *step = NULL;
    while ((step = plan_next(&l->plan, step)))
        if (step->kind == PLAN_ALLOW &&
            !add_rule(ruleset, plan_text(step, 0), allowed_by(step) & handled, err))
            return false;
    return true;
}

static void report(struct launch *l, int abi)
{
    char mechanism[64];
    if (abi > RIGHTS_ABI_KNOWN)
        snprintf(mechanism, sizeof(mechanism), "Landlock ABI %d (rights up to %d)", abi,
                 RIGHTS_ABI_KNOWN);
    else
        snprintf(mechanism, sizeof(mechanism), "Landlock ABI %d", abi);
    if (abi >= RIGHTS_ABI_SCOPES)
        launch_set(l, LAYER_LANDLOCK, LAYER_ACTIVE, mechanism, "");
    else
        launch_set(l, LAYER_LANDLOCK, LAYER_DEGRADED, mechanism, rights_missing(abi));
}

bool landlock_apply(struct launch *l, struct err *err)
{
    if (!launch_has(l, LAYER_LANDLOCK))
        return true;
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    if (abi < 1) {
        launch_set(l, LAYER_LANDLOCK, LAYER_UNAVAILABLE, "",
                   errno == EOPNOTSUPP ? "Landlock is off; add it to the kernel's lsm= list"
                                       : "this kernel has no Landlock (Linux 5.13)");
        return true;
    }
    /* Ports are no second wall where the box has a loopback of its own, and the last one where the
     * kernel gave it none. */
    bool has_network =
        !launch_has(l, LAYER_NET) || l->report.layer[LAYER_NET].state == LAYER_ACTIVE;
    struct rights attr = rights_of((int)abi, !has_network);
    size_t size = rights_size(&attr);
    AUTO_FD int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return err_sys(err, errno, "cannot create a Landlock ruleset");
    if (!add_rules(l, ruleset, attr.fs, err))
        return false;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        return err_sys(err, errno, "cannot enforce the Landlock ruleset");
    report(l, (int)abi);
    launch_mark(l, "landlock");
    return true;
}
