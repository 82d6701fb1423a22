/*
 * fixture: a throwaway home, a real repository, attempts in it, and commands run where an agent
 * would run them.
 */
#ifndef TEST_WORKTREE_FIXTURE_H
#define TEST_WORKTREE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runner/base/buf.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/worktree.h"

struct fixture {
    char *root; /* removed at the end */
    char *repo; /* root/repo, on main with one commit */
    char *bases;
    char *attempts;
    enum wt_engine engine;      /* of fixture_use() */
    const struct strv *include; /* worktree.include of the next attempt */
    const char *base;           /* commit of the next attempt; NULL: HEAD */
    struct wt_source *source;   /* of the next attempts; NULL: each reads for itself */
    uid_t uid;                  /* owner of attempts; (uid_t)-1: the caller */
};

/* Let fixtures be for an engine, on a file system that it needs; NULL: overlay. False, with the
 * reason on standard output: there is none, and the test is a skip. */
bool fixture_use(const char *engine);
enum { SKIPPED = 77 };

/* For cmocka_unit_test_setup_teardown; *state is the fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* Run a shell script in folder (NULL: root); fails the test unless it ends with status 0. Output
 * without trailing white space, allocated. */
char *sh(const struct fixture *f, const char *folder, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same, returning the status. */
int sh_status(const struct fixture *f, const char *folder, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* In the repository. */
#define in_repo(f, ...) free(sh((f), (f)->repo, __VA_ARGS__))

/* Make attempt `id` ("3.2") from HEAD; fails the test on an error. */
void make_attempt(struct fixture *f, struct wt_attempt *ret, const char *id, bool force,
                  enum wt_engine engine);
/* The same, returning success. */
bool try_attempt(struct fixture *f, struct wt_attempt *ret, const char *id, bool force,
                 enum wt_engine engine, struct err *err);
/* Run a shell script where the agent would be, with the tree shown. */
char *inside(const struct fixture *f, const struct wt_attempt *a, const char *format, ...)
    PRINTF_LIKE(3, 4);
int inside_status(const struct fixture *f, const struct wt_attempt *a, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* A wt_box_fn; arg is a struct box_arg. */
struct box_arg {
    const struct fixture *f;
    const struct wt_attempt *a;
    const char *replace_script; /* a hostile box: run this instead of what was asked for */
};
bool box_fn(void *arg, const struct wt_box_job *job, struct proc_result *ret, struct err *err);

/* Harvest; fails the test on an error. */
void harvest(const struct fixture *f, const struct wt_attempt *a, bool with_snapshot,
             struct wt_harvest *ret);

/* Create, work, harvest, merge and discard in the repository f->repo. */
void go_round(struct fixture *f);

#define assert_ok(call, err)                        \
    do {                                            \
        if (!(call))                                \
            fail_msg("%s: %s", #call, (err)->text); \
    } while (0)
/* Compare an allocated string and free it. */
void assert_text(char *got, const char *expected);
void assert_has(const char *text, const char *part);

/* An attempt 1.1 with two commits that change src/one.c and add new, harvested. */
void make_two_commits(struct fixture *f, struct wt_attempt *a);

#endif
