#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/present.h"

static const char *const names[] = {".a",        ".conf",   ".conf-x", ".conf/b",   ".conf/c",
                                    ".conf/d",   ".conf/e", ".conf/f", ".conf/g/h", ".conf/g/i",
                                    ".dangling", ".link/b", ".none/b", ".z"};

static char folder[] = "/tmp/headgate-present-XXXXXX";

static void note(const char *name, void *arg)
{
    struct buf *all = arg;
    buf_addf(all, "%s ", name);
}

static void expect(const char *wanted)
{
    AUTO_BUF struct buf all = BUF_INIT;
    present_each(folder, names, ARRAY_LEN(names), note, &all);
    assert_string_equal(all.ptr, wanted);
}

static void make(const char *name, bool is_folder)
{
    AUTO_FREE char *path = fs_join(folder, name);
    if (is_folder)
        assert_int_equal(mkdir(path, 0755), 0);
    else
        assert_int_equal(close(open(path, O_WRONLY | O_CREAT, 0644)), 0);
}

static void link_to(const char *target, const char *name)
{
    AUTO_FREE char *path = fs_join(folder, name);
    assert_int_equal(symlink(target, path), 0);
}

static void what_is_there_is_found(void **state)
{
    (void)state;
    static const char all[] = ".a .conf .conf/b .conf/f .conf/g/h .dangling .link/b ";
    char name[32];
    expect("");
    make(".a", false);
    make(".conf", true);
    expect(".a .conf ");
    make(".conf/b", false);
    make(".conf/f", true);
    make(".conf/g", true);
    make(".conf/g/h", false);
    make("other", false);
    link_to("nowhere", ".dangling");
    link_to(".conf", ".link");
    expect(all);
    /* A folder that lets itself be searched, and not be listed. */
    assert_int_equal(chmod(folder, 0311), 0);
    expect(all);
    assert_int_equal(chmod(folder, 0755), 0);
    /* One that is too long to be listed to its end. */
    for (int i = 0; i < 1100; i++) {
        snprintf(name, sizeof(name), "more-%d", i);
        make(name, false);
    }
    expect(all);
}

static void a_folder_that_is_absent_has_nothing(void **state)
{
    (void)state;
    AUTO_BUF struct buf all = BUF_INIT;
    present_each("/nonexistent/folder", names, ARRAY_LEN(names), note, &all);
    assert_int_equal(all.len, 0);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    return fs_remove_tree(AT_FDCWD, folder, &err) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_there_is_found),
                                       cmocka_unit_test(a_folder_that_is_absent_has_nothing)};
    return cmocka_run_group_tests_name("present", tests, set_up, tear_down);
}
