/*
 * exec_resolve: the file that a path of an exec means, found as its caller would find it.
 *
 * Every process of a box has the box's root (chroot is refused), which is held open here. Symbolic
 * links are followed inside that root; `/proc/self`, `/dev/fd/N` and the like lead to the caller's
 * own objects, and what is above them is the box's procfs. The answer is an object and no name:
 * whatever races with it is found out when the kernel has taken its own (exec_trace).
 */
#ifndef KEEP_EXEC_RESOLVE_H
#define KEEP_EXEC_RESOLVE_H

#include <stdbool.h>
#include <sys/types.h>

struct exec_heads;

struct exec_place {
    int root_fd;
    pid_t tid; /* the caller */
    int dirfd; /* the caller's descriptor that relative paths start from, or AT_FDCWD */
    struct exec_heads
        *heads; /* what is known of files from earlier execs (exec_image.h); or NULL */
    const char
        *path; /* PATH of the box, which finds the system's programs (exec_names.h); or NULL */
};

/* An O_PATH descriptor of the file. flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH. -1 with the errno
 * that the kernel would give. */
int exec_resolve(const struct exec_place *place, const char *path, int flags);
/* Whether two descriptors are of one file. */
bool exec_is_same(int a, int b);

#endif
