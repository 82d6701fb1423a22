/*
 * rights: what Landlock can restrict, by its ABI, as a table. Values and versions are those of the
 * kernel's Documentation/userspace-api/landlock.rst; Debian 12's header ends at ABI 2, hence own
 * constants. ABI 7 (audit flags) and 8 (all threads at once) add no right.
 */
#ifndef SANDBOX_RIGHTS_H
#define SANDBOX_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_DIR = 1 << 7,
    FS_MAKE_REG = 1 << 8,
    FS_MAKE_SOCK = 1 << 9,
    FS_MAKE_FIFO = 1 << 10,
    FS_MAKE_BLOCK = 1 << 11,
    FS_MAKE_SYM = 1 << 12,
    FS_REFER = 1 << 13,
    FS_TRUNCATE = 1 << 14,
    FS_IOCTL_DEV = 1 << 15,
    FS_RESOLVE_UNIX = 1 << 16, /* connect to a socket by its path, but for one made inside */

    NET_BIND_TCP = 1 << 0,
    NET_CONNECT_TCP = 1 << 1,
    NET_BIND_UDP = 1 << 2,
    NET_CONNECT_SEND_UDP = 1 << 3,

    SCOPE_ABSTRACT_UNIX = 1 << 0,
    SCOPE_SIGNAL = 1 << 1,

    /* A rule on a file may hold these; on a folder all. */
    RIGHTS_OF_A_FILE =
        FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV | FS_RESOLVE_UNIX,
    RIGHTS_TO_READ = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR,
    RIGHTS_ABI_SCOPES = 6,
    RIGHTS_ABI_KNOWN = 10,
};

/* The kernel's struct landlock_ruleset_attr. */
struct rights {
    uint64_t fs, net, scoped;
};

/* Every right that this ABI, and this table, know. with_net: those on ports too. */
struct rights rights_of(int abi, bool with_net);
/* How much of the struct to hand to a kernel that knows these: an older one refuses more. */
size_t rights_size(const struct rights *rights);
/* What an ABI below RIGHTS_ABI_SCOPES leaves open, and since when it is closed. Static. */
const char *rights_missing(int abi);

#endif
