/*
 * scratch: what the unit tests of runner/base share: cmocka, a private folder for each test, and a
 * child process whose assertions count.
 *
 * scratch_set_up makes a fresh folder, the working folder of the test and its HOME and TMPDIR, and
 * puts its path into *state; scratch_tear_down removes it.
 */
#ifndef TESTS_BASE_SCRATCH_H
#define TESTS_BASE_SCRATCH_H

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif

/* Fail with the error's own text. */
#define assert_ok(call)                          \
    do {                                         \
        if (!(call))                             \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static inline int scratch_set_up(void **state)
{
    char folder[] = "/tmp/hg-unit-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return -1;
    setenv("HOME", folder, 1);
    setenv("TMPDIR", folder, 1);
    *state = xstrdup(folder);
    return 0;
}

static inline int scratch_tear_down(void **state)
{
    struct err err = ERR_INIT;
    bool ok = chdir("/") == 0 && fs_remove_tree(AT_FDCWD, *state, &err);
    if (!ok)
        fprintf(stderr, "cannot remove %s: %s\n", (const char *)*state, err.text);
    free(*state);
    return ok ? 0 : -1;
}

enum { CHILD_OK = 0, CHILD_SKIPS = 77 };

/* Run body in a child, for what cannot be undone (namespaces, credentials, closed descriptors).
 * body returns CHILD_OK, CHILD_SKIPS, or the line at which it failed. */
static inline void run_in_child(int (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(body() & 0xff);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPS)
        skip();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != CHILD_OK)
        fail_msg("the child ended with wait status %#x (exit code: its line modulo 256)", status);
}

/* A mount namespace of one's own, for a body of run_in_child(). Root has it at once, others by way
 * of a user namespace that maps them to themselves. False where this kernel does not allow it. */
static inline bool enter_mount_namespace(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) != 0)
        return false;
    if (uid != 0) {
        AUTO_FREE char *uid_map = xasprintf("%u %u 1", uid, uid);
        AUTO_FREE char *gid_map = xasprintf("%u %u 1", gid, gid);
        const char *const files[][2] = {
            {"/proc/self/setgroups", "deny"},
            {"/proc/self/uid_map", uid_map},
            {"/proc/self/gid_map", gid_map},
        };
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
            struct err err = ERR_INIT;
            AUTO_FD int fd = open(files[i][0], O_WRONLY | O_CLOEXEC);
            if (fd < 0 || !fs_write_fd(fd, files[i][1], strlen(files[i][1]), &err))
                return false;
        }
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* A line as an exit status that means neither success nor a skip. */
static inline int child_failure(int line)
{
    int status = line % 256;
    return status == CHILD_OK || status == CHILD_SKIPS ? 1 : status;
}

/* Inside a body of run_in_child(). */
#define CHILD_ASSERT(condition)             \
    do {                                    \
        if (!(condition))                   \
            return child_failure(__LINE__); \
    } while (0)

#endif
