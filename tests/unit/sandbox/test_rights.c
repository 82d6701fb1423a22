#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "sandbox/launch/rights.h"

static void each_abi_has_its_rights(void **state)
{
    (void)state;
    static const struct {
        int abi;
        struct rights all;
        size_t size, size_without_net;
    } cases[] = {
        {0, {0, 0, 0}, 8, 8},           {1, {0x1fff, 0, 0}, 8, 8},
        {2, {0x3fff, 0, 0}, 8, 8},      {3, {0x7fff, 0, 0}, 8, 8},
        {4, {0x7fff, 3, 0}, 16, 8},     {5, {0xffff, 3, 0}, 16, 8},
        {6, {0xffff, 3, 3}, 24, 24},    {7, {0xffff, 3, 3}, 24, 24},
        {8, {0xffff, 3, 3}, 24, 24},    {9, {0x1ffff, 3, 3}, 24, 24},
        {10, {0x1ffff, 15, 3}, 24, 24}, {99, {0x1ffff, 15, 3}, 24, 24},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rights got = rights_of(cases[i].abi, true);
        assert_true(got.fs == cases[i].all.fs && got.net == cases[i].all.net &&
                    got.scoped == cases[i].all.scoped);
        assert_int_equal(rights_size(&got), cases[i].size);
        got = rights_of(cases[i].abi, false);
        assert_true(got.fs == cases[i].all.fs && got.net == 0 && got.scoped == cases[i].all.scoped);
        assert_int_equal(rights_size(&got), cases[i].size_without_net);
    }
}

static bool accepts(struct rights rights)
{
    AUTO_FD int fd = (int)syscall(SYS_landlock_create_ruleset, &rights, rights_size(&rights), 0);
    assert_true(fd >= 0 || errno == EINVAL || errno == E2BIG);
    return fd >= 0;
}

/* The running kernel takes what the table has for its ABI, and not a single right more: nothing
 * that it can restrict is left out. */
static void the_table_is_complete_for_this_kernel(void **state)
{
    (void)state;
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    if (abi < 1) {
        print_message("skipped: this kernel has no Landlock\n");
        skip();
    }
    struct rights all = rights_of((int)abi, true);
    assert_true(accepts(all));
    if (abi > RIGHTS_ABI_KNOWN) {
        print_message("skipped: the rights of ABI %ld are not known here\n", abi);
        skip();
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        const uint64_t one = (uint64_t)1 << bit;
        const struct rights more[] = {{all.fs | one, all.net, all.scoped},
                                      {all.fs, all.net | one, all.scoped},
                                      {all.fs, all.net, all.scoped | one}};
        assert_true(accepts(more[0]) == ((all.fs & one) != 0));
        assert_true(accepts(more[1]) == ((all.net & one) != 0));
        assert_true(accepts(more[2]) == ((all.scoped & one) != 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_abi_has_its_rights),
                                       cmocka_unit_test(the_table_is_complete_for_this_kernel)};
    return cmocka_run_group_tests_name("rights", tests, NULL, NULL);
}
