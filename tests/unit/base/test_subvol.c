#include "tests/unit/base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>

#include "runner/base/subvol.h"

enum { DEEP = 200, SKIPPED = 77 };

static void put(const char *path)
{
    struct err err = ERR_INIT;
    assert_ok(fs_write_plain(AT_FDCWD, path, "x", 1, 0644, &err));
}

static bool is_top(const char *path)
{
    struct err err = ERR_INIT;
    AUTO_FD int fd = fs_open_dir(AT_FDCWD, path, &err);
    return fd >= 0 && subvol_is(fd);
}

static void make_read_only(const char *path)
{
    struct err err = ERR_INIT;
    uint64_t flags = BTRFS_SUBVOL_RDONLY;
    AUTO_FD int fd = fs_open_dir(AT_FDCWD, path, &err);
    assert_int_equal(ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags), 0);
    assert_int_equal(unlinkat(fd, "file", 0), -1);
    assert_int_equal(errno, EROFS);
}

static void a_snapshot_is_the_same_and_apart(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct stat before, after;
    assert_ok(subvol_create("base", &err));
    put("base/file");
    assert_ok(subvol_snapshot("base", "copy", &err));
    assert_true(is_top("base") && is_top("copy"));
    assert_int_equal(lstat("base/file", &before), 0);
    assert_int_equal(lstat("copy/file", &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
    put("copy/new");
    assert_int_equal(unlink("copy/file"), 0);
    assert_true(fs_exists("base/file") && !fs_exists("base/new"));
    assert_false(subvol_snapshot("base", "copy", &err));
    assert_int_equal(err.sys_errno, EEXIST);
    assert_ok(fs_mkdirs("folder", 0755, &err));
    assert_false(is_top("folder"));
}

static void no_subvolume_stands_in_the_way_of_a_removal(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_ok(fs_mkdirs("tree", 0755, &err));
    assert_ok(subvol_create("tree/one", &err));
    assert_ok(subvol_create("tree/one/two", &err));
    put("tree/one/two/file");
    assert_ok(subvol_create("tree/read-only", &err));
    put("tree/read-only/file");
    assert_int_equal(chmod("tree/read-only", 0500), 0);
    make_read_only("tree/read-only");
    assert_ok(fs_remove_tree(AT_FDCWD, "tree", &err));
    assert_false(fs_exists("tree"));
}

/* Folders that lie too deep are moved up, which nothing can be out of a subvolume. */
static void depth_in_one_is_no_obstacle(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf path = BUF_INIT;
    assert_ok(fs_mkdirs("tree", 0755, &err));
    assert_ok(subvol_create("tree/deep", &err));
    assert_ok(subvol_create("tree/deep/er", &err)); /* so that neither goes at once */
    buf_adds(&path, "tree/deep/er");
    for (int i = 0; i < DEEP; i++)
        buf_adds(&path, "/d");
    assert_ok(fs_mkdirs(path.ptr, 0755, &err));
    buf_adds(&path, "/file");
    put(path.ptr);
    assert_ok(fs_remove_tree(AT_FDCWD, "tree", &err));
    assert_false(fs_exists("tree"));
}

static void elsewhere_there_are_none(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_false(subvol_create("/proc/self/task/none", &err));
    assert_int_equal(err.sys_errno, ENOTTY);
    AUTO_FD int fd = fs_open_dir(AT_FDCWD, "/proc", &err);
    assert_false(subvol_is(fd));
}

static int set_up(void **state)
{
    AUTO_FREE char *folder = fs_join(getenv("TEST_FS_BTRFS"), "hg-unit-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return -1;
    *state = steal_ptr(&folder);
    return 0;
}

#define SUBVOL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUBVOL_TEST(a_snapshot_is_the_same_and_apart),
        SUBVOL_TEST(no_subvolume_stands_in_the_way_of_a_removal),
        SUBVOL_TEST(depth_in_one_is_no_obstacle),
        SUBVOL_TEST(elsewhere_there_are_none),
    };
    const char *folder = getenv("TEST_FS_BTRFS");
    if (folder && *folder)
        return cmocka_run_group_tests(tests, NULL, NULL);
    printf("skipped: TEST_FS_BTRFS names no folder on a btrfs; tests/run.sh makes one when root "
           "starts "
           "it\n");
    return SKIPPED;
}
