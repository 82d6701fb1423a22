#include "tests/unit/base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

static void strings_are_copied(void **state)
{
    (void)state;
    AUTO_FREE char *whole = xstrdup("abc");
    AUTO_FREE char *part = xstrndup("abcdef", 2);
    AUTO_FREE char *shorter = xstrndup("ab", 10);
    AUTO_FREE char *printed = xasprintf("%d-%s", 7, "x");
    AUTO_FREE char *bytes = xmemdup("a\0b", 3);
    assert_string_equal(whole, "abc");
    assert_string_equal(part, "ab");
    assert_string_equal(shorter, "ab");
    assert_string_equal(printed, "7-x");
    assert_memory_equal(bytes, "a\0b", 3);
}

static void nothing_is_a_pointer_too(void **state)
{
    (void)state;
    AUTO_FREE void *a = xmalloc(0);
    AUTO_FREE void *b = xcalloc(0, 0);
    AUTO_FREE void *c = xreallocarray(NULL, 0, 8);
    AUTO_FREE void *d = xmemdup("", 0);
    assert_true(a && b && c && d);
}

static void scope_closes_but_not_what_was_handed_over(void **state)
{
    (void)state;
    int closed, kept;
    {
        AUTO_FD int one = open("/dev/null", O_RDONLY | O_CLOEXEC);
        AUTO_FD int two = open("/dev/null", O_RDONLY | O_CLOEXEC);
        AUTO_FD int none = -1;
        closed = one;
        kept = steal_fd(&two);
        assert_int_equal(two, -1);
        assert_int_equal(none, -1);
        errno = EDOM;
    }
    assert_int_equal(errno, EDOM);
    assert_int_equal(fcntl(closed, F_GETFD), -1);
    assert_true(fcntl(kept, F_GETFD) >= 0);
    close(kept);
}

static void stolen_pointers_leave_null(void **state)
{
    (void)state;
    AUTO_FREE char *text = xstrdup("x");
    AUTO_FREE char *taken = steal_ptr(&text);
    assert_null(text);
    assert_string_equal(taken, "x");
}

static int allocate_too_much(void)
{
    volatile size_t huge = SIZE_MAX;
    int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(silent, STDERR_FILENO);
    free(xreallocarray(NULL, huge, 2));
    return 1;
}

static void running_out_aborts(void **state)
{
    (void)state;
    if (HAS_ASAN) /* its allocator ends the program in its own way */
        skip();
    pid_t pid = fork();
    if (pid == 0)
        _exit(allocate_too_much());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(nothing_is_a_pointer_too),
        cmocka_unit_test(scope_closes_but_not_what_was_handed_over),
        cmocka_unit_test(stolen_pointers_leave_null),
        cmocka_unit_test(running_out_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
