#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* Own constants: Debian 12's header ends at ABI 2. Values from the kernel's
 * Documentation/userspace-api/landlock.rst. */
enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_BLOCK = 1 << 11,
    FS_ABI_1 = (1 << 13) - 1,
    FS_REFER = 1 << 13,
    FS_TRUNCATE = 1 << 14,
    FS_IOCTL_DEV = 1 << 15,
    SCOPE_ABSTRACT_UNIX = 1 << 0,
    SCOPE_SIGNAL = 1 << 1,
    CREATE_VERSION = 1 << 0,
    RULE_PATH_BENEATH = 1,
    RIGHTS_OF_A_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
    RIGHTS_TO_READ = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR,
    ABI_WITH_SCOPES = 6,
    ABI_KNOWN = 7,
};

struct ruleset_attr {
    uint64_t handled_fs, handled_net, scoped;
};

struct path_rule {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

/*
 * The rights by ABI. Net rights are not among them: they know ports and no addresses, so they would
 * take the box's own loopback away, and the network namespace already holds the rest.
 */
static const struct {
    int abi;
    uint64_t fs, scoped;
} rights[] = {
    {1, FS_ABI_1, 0},
    {2, FS_ABI_1 | FS_REFER, 0},
    {3, FS_ABI_1 | FS_REFER | FS_TRUNCATE, 0},
    {5, FS_ABI_1 | FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV, 0},
    {ABI_WITH_SCOPES, FS_ABI_1 | FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV,
     SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL},
};

static struct ruleset_attr handled_by(int abi)
{
    struct ruleset_attr attr = {0};
    for (size_t i = 0; i < ARRAY_LEN(rights) && rights[i].abi <= abi; i++) {
        attr.handled_fs = rights[i].fs;
        attr.scoped = rights[i].scoped;
    }
    return attr;
}

static bool add_rule(int ruleset, const char *path, uint64_t allowed, struct err *err)
{
    struct stat st;
    struct path_rule rule = {.allowed = allowed};
    AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return true;
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot open %s for a Landlock rule", path);
    if (!S_ISDIR(st.st_mode))
        rule.allowed &= RIGHTS_OF_A_FILE;
    rule.parent_fd = fd;
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) != 0)
        return err_sys(err, errno, "cannot add a Landlock rule for %s", path);
    return true;
}

static bool add_rules(const struct launch *l, int ruleset, uint64_t handled, struct err *err)
{
    const uint64_t devices = FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
    const uint64_t trees = handled & ~(uint64_t)(FS_MAKE_CHAR | FS_MAKE_BLOCK);
    if (!add_rule(ruleset, "/", RIGHTS_TO_READ, err))
        return false;
    const struct plan_step *step = NULL;
    while ((step = plan_next(&l->plan, step))) {
        uint64_t allowed = step->flags & PLAN_DEVICE ? devices : trees;
        if (step->kind == PLAN_ALLOW &&
            !add_rule(ruleset, plan_text(step, 0), allowed & handled, err))
            return false;
    }
    return true;
}

static void report(struct launch *l, int abi)
{
    char mechanism[48];
    if (abi > ABI_KNOWN)
        snprintf(mechanism, sizeof(mechanism), "Landlock ABI %d (rights up to %d)", abi, ABI_KNOWN);
    else
        snprintf(mechanism, sizeof(mechanism), "Landlock ABI %d", abi);
    if (abi >= ABI_WITH_SCOPES)
        launch_set(l, LAYER_LANDLOCK, LAYER_ACTIVE, mechanism, "");
    else
        launch_set(l, LAYER_LANDLOCK, LAYER_DEGRADED, mechanism,
                   abi < 3 ? "no rule on truncating files, device ioctls, signals and abstract "
                             "sockets before Linux 6.12"
                           : "no scopes of signals and abstract sockets before Linux 6.12");
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
    struct ruleset_attr attr = handled_by((int)abi);
    size_t size = abi >= ABI_WITH_SCOPES ? sizeof(attr) : sizeof(attr.handled_fs);
    AUTO_FD int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return err_sys(err, errno, "cannot create a Landlock ruleset");
    if (!add_rules(l, ruleset, attr.handled_fs, err))
        return false;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        return err_sys(err, errno, "cannot enforce the Landlock ruleset");
    report(l, (int)abi);
    launch_mark(l, "landlock");
    return true;
}
