/*
 * boxtest: what the tests of real boxes share: a folder of their own, a reachable copy of the
 * launcher, a spec to start from, and trying one thing inside.
 *
 * A test program started by root runs its tests twice: first in a child that has become an ordinary
 * user, then as root, where the box runs as that user. Started by anybody else, only the first.
 */
#ifndef TESTS_SANDBOX_BOXTEST_H
#define TESTS_SANDBOX_BOXTEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sandbox/box.h"

/* No account has it; the tests need none. */
enum { BOXTEST_UID = 61234, BOXTEST_TIMEOUT_MS = 20000 };

#define BOXTEST_PROBE "/run/headgate/probe"

struct boxtest {
    char *dir;  /* 0755, removed at the end */
    char *work; /* a folder in it that belongs to the account of the box */
    char *launcher;
    uid_t uid;
    gid_t gid;
    bool is_root; /* of this process */
};

/* The main function of a test program. */
int boxtest_main(const char *name, const struct CMUnitTest *tests, size_t n);
/* The fixture of the running group. */
const struct boxtest *boxtest(void);

/* Initialise a spec: the account, a small environment, "/" as cwd, the probe program shown. */
void boxtest_spec(struct box_spec *spec);
/* Run /bin/sh -c script to its end; its output without the last newline, allocated. Fails the test
 * when no box comes about. ret_status may be NULL: then it must be 0. */
char *boxtest_sh(int *ret_status, const struct box_spec *spec, const char *script);
/* The same for a program without a shell. */
char *boxtest_argv(int *ret_status, const struct box_spec *spec, const char *const *argv);
/* Try one thing (sandbox/launch/probe.c): "ok", an errno's name, or a value. */
char *boxtest_try(const struct box_spec *spec, const char *attempt);
/* It comes out as expected. */
void boxtest_expect(const struct box_spec *spec, const char *attempt, const char *expected);
/* No box comes about: the error. */
void boxtest_expect_failure(struct err *ret, const struct box_spec *spec);
/* A file with this text, owned by the account of the box; its path, allocated. */
char *boxtest_file(const char *folder, const char *name, const char *text);
char *boxtest_folder(const char *folder, const char *name);

/* A box whose messages the test reads itself. */
struct boxtest_live {
    struct box_child child;
    struct box_msg last; /* what boxtest_await found */
};
void boxtest_start(struct boxtest_live *ret, const struct box_spec *spec, const int std_fds[3]);
/* Read on until this message; others are dropped. Fails the test at the end of the box or of
 * patience. */
void boxtest_await(struct boxtest_live *b, enum box_msg_kind kind);
/* Wait for the end of pid 1: its exit code. */
int boxtest_reap(struct boxtest_live *b);
/* Read from a descriptor until text has been seen. */
void boxtest_read_until(int fd, const char *text);

#endif
