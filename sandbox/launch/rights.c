#include "sandbox/launch/rights.h"

#include "runner/base/mem.h"

/* What each ABI adds to the one before. */
static const struct {
    int abi;
    struct rights added;
} table[] = {
    {1,
     {.fs = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_DIR |
            FS_REMOVE_FILE | FS_MAKE_CHAR | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK |
            FS_MAKE_FIFO | FS_MAKE_BLOCK | FS_MAKE_SYM}},
    {2, {.fs = FS_REFER}},
    {3, {.fs = FS_TRUNCATE}},
    {4, {.net = NET_BIND_TCP | NET_CONNECT_TCP}},
    {5, {.fs = FS_IOCTL_DEV}},
    {6, {.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL}},
    {9, {.fs = FS_RESOLVE_UNIX}},
    {10, {.net = NET_BIND_UDP | NET_CONNECT_SEND_UDP}},
};

struct rights rights_of(int abi, bool with_net)
{
    struct rights all = {0};
    for (size_t i = 0; i < ARRAY_LEN(table) && table[i].abi <= abi; i++) {
        all.fs |= table[i].added.fs;
        all.scoped |= table[i].added.scoped;
        if (with_net)
            all.net |= table[i].added.net;
    }
    return all;
}

size_t rights_size(const struct rights *rights)
{
    if (rights->scoped)
        return sizeof(*rights);
    return rights->net ? offsetof(struct rights, scoped) : offsetof(struct rights, net);
}

const char *rights_missing(int abi)
{
    if (abi < 2)
        return "no moving of files between folders before Linux 5.19; no rule on truncating them, "
               "device ioctls, signals and abstract sockets before Linux 6.12";
    if (abi < 3)
        return "no rule on truncating files, device ioctls, signals and abstract sockets before "
               "Linux 6.12";
    if (abi < 5)
        return "no rule on device ioctls, signals and abstract sockets before Linux 6.12";
    return "no scopes of signals and abstract sockets before Linux 6.12";
}
