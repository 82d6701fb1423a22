/*
 * fuse_stub: a FUSE file system with nothing but a root folder, served by a child process, so that
 * a test can meet a mount that calls itself by any type. It answers what mount, stat and statfs ask
 * (linux/fuse.h) and refuses the rest.
 */
#ifndef TESTS_BASE_FUSE_STUB_H
#define TESTS_BASE_FUSE_STUB_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/mem.h"

static inline void fuse_stub_answer(int fd, uint64_t unique, int error, const void *body,
                                    size_t len)
{
    char message[sizeof(struct fuse_out_header) + 256];
    struct fuse_out_header head = {
        .len = (uint32_t)(sizeof(head) + len), .error = -error, .unique = unique};
    memcpy(message, &head, sizeof(head));
    if (len > 0)
        memcpy(message + sizeof(head), body, len);
    ssize_t ignored = write(fd, message, sizeof(head) + len);
    (void)ignored; /* the request may have been interrupted meanwhile */
}

static inline void fuse_stub_serve(int fd)
{
    const struct fuse_init_out init = {
        .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096};
    const struct fuse_attr_out attr = {
        .attr = {.ino = 1, .mode = S_IFDIR | 0755, .nlink = 2, .uid = geteuid(), .gid = getegid()}};
    const struct fuse_statfs_out statfs_out = {.st = {.bsize = 4096, .namelen = 255}};
    static char request[FUSE_MIN_READ_BUFFER];
    for (;;) {
        ssize_t got = read(fd, request, sizeof(request));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < (ssize_t)sizeof(struct fuse_in_header))
            return;
        struct fuse_in_header in;
        memcpy(&in, request, sizeof(in));
        if (in.opcode == FUSE_INIT)
            fuse_stub_answer(fd, in.unique, 0, &init, sizeof(init));
        else if (in.opcode == FUSE_GETATTR)
            fuse_stub_answer(fd, in.unique, 0, &attr, sizeof(attr));
        else if (in.opcode == FUSE_STATFS)
            fuse_stub_answer(fd, in.unique, 0, &statfs_out, sizeof(statfs_out));
        else if (in.opcode != FUSE_FORGET && in.opcode != FUSE_BATCH_FORGET)
            fuse_stub_answer(fd, in.unique, ENOSYS, NULL, 0);
    }
}

/* Mount at target as "fuse.<subtype>"; the server ends with the calling process. False where FUSE
 * cannot be had. */
static inline bool fuse_stub_mount(const char *target, const char *subtype)
{
    AUTO_FD int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    AUTO_FREE char *type = xasprintf("fuse.%s", subtype);
    AUTO_FREE char *options =
        xasprintf("fd=%d,rootmode=40755,user_id=%u,group_id=%u", fd, geteuid(), getegid());
    if (mount("stub", target, type, MS_NOSUID | MS_NODEV, options) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fuse_stub_serve(fd);
        _exit(0);
    }
    return pid > 0;
}

#endif
