#include "tests/unit/base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include "tests/unit/base/fuse_stub.h"

static void put(const char *path, const char *text)
{
    struct err err = ERR_INIT;
    assert_ok(fs_write_plain(AT_FDCWD, path, text, strlen(text), 0644, &err));
}

static void removes_what_is_under_the_name_only(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_ok(fs_mkdirs("tree/a/b", 0755, &err));
    assert_ok(fs_mkdirs("other", 0755, &err));
    put("tree/file", "x");
    put("tree/a/b/file", "x");
    put("other/kept", "x");
    assert_int_equal(symlink("../other", "tree/to-folder"), 0);
    assert_int_equal(symlink("../../other/kept", "tree/a/to-file"), 0);
    assert_int_equal(mkfifo("tree/fifo", 0600), 0);
    assert_ok(fs_remove_tree(AT_FDCWD, "tree", &err));
    assert_false(fs_exists("tree"));
    assert_true(fs_exists("other/kept"));
    assert_ok(fs_remove_tree(AT_FDCWD, "tree", &err));
    assert_ok(fs_remove_tree(AT_FDCWD, "absent/tree", &err));
    assert_int_equal(symlink("other", "link"), 0);
    assert_ok(fs_remove_tree(AT_FDCWD, "link", &err));
    assert_false(fs_exists("link"));
    assert_true(fs_exists("other/kept"));
}

static void names_that_are_no_names_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"", ".", "..", "/", "tree/", "tree/.", "tree/.."};
    struct err err = ERR_INIT;
    mkdir("tree", 0755);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_false(fs_remove_tree(AT_FDCWD, names[i], &err));
        assert_int_equal(err.code, ERR_REFUSED);
    }
    assert_true(fs_exists("tree"));
}

static void a_symlink_on_the_way_is_not_followed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_ok(fs_mkdirs("other/victim", 0755, &err));
    mkdir("tree", 0755);
    assert_int_equal(symlink("../other", "tree/way"), 0);
    AUTO_FD int tree = fs_open_dir(AT_FDCWD, "tree", &err);
    assert_false(fs_remove_tree(tree, "way/victim", &err));
    assert_int_equal(err.sys_errno, ELOOP);
    assert_false(fs_remove_tree(tree, "../other", &err));
    assert_true(fs_exists("other/victim"));
}

/* A chain of folders, far deeper than descriptors, stack or PATH_MAX allow; each with a file. */
static void make_deep(const char *name, int depth)
{
    AUTO_FD int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(at, name, 0755), 0);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(at);
        at = next;
        close(openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    }
}

static void depth_is_no_obstacle(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    make_deep("deep", 2500);
    assert_ok(fs_remove_tree(AT_FDCWD, "deep", &err));
    assert_false(fs_exists("deep"));
}

static void wide_folders_go_too(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    mkdir("wide", 0755);
    for (int i = 0; i < 1000; i++) {
        AUTO_FREE char *folder = xasprintf("wide/d%d", i);
        AUTO_FREE char *file = xasprintf("wide/f%d", i);
        mkdir(folder, 0755);
        put(file, "");
    }
    assert_ok(fs_remove_tree(AT_FDCWD, "wide", &err));
    assert_false(fs_exists("wide"));
}

/* Root passes every mode, so this needs somebody else. */
static bool become_nobody(void)
{
    return geteuid() != 0 ||
           (chown(".", 65534, 65534) == 0 && setgroups(0, NULL) == 0 &&
            setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
}

static int remove_without_permissions(void)
{
    struct err err = ERR_INIT;
    CHILD_ASSERT(become_nobody());
    CHILD_ASSERT(fs_mkdirs("tree/a/b", 0755, &err));
    CHILD_ASSERT(fs_write_plain(AT_FDCWD, "tree/a/b/file", "x", 1, 0, &err));
    CHILD_ASSERT(fs_write_plain(AT_FDCWD, "tree/a/file", "x", 1, 0, &err));
    CHILD_ASSERT(chmod("tree/a/b", 0) == 0);
    CHILD_ASSERT(chmod("tree/a", 0555) == 0);
    CHILD_ASSERT(chmod("tree", 0) == 0);
    CHILD_ASSERT(fs_remove_tree(AT_FDCWD, "tree", &err));
    CHILD_ASSERT(!fs_exists("tree"));
    return CHILD_OK;
}

static void modes_are_no_obstacle(void **state)
{
    (void)state;
    run_in_child(remove_without_permissions);
}

/* Folders too deep for the walk are moved up, which a folder that is not writable withstands. */
static int remove_deep_without_permissions(void)
{
    struct err err = ERR_INIT;
    AUTO_FD int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHILD_ASSERT(become_nobody());
    for (int i = 0; i < 200; i++) {
        CHILD_ASSERT(mkdirat(at, "d", 0755) == 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHILD_ASSERT(next >= 0);
        if (i > 0)
            CHILD_ASSERT(fchmod(at, 0555) == 0);
        close(at);
        at = next;
    }
    CHILD_ASSERT(fs_remove_tree(AT_FDCWD, "d", &err));
    CHILD_ASSERT(!fs_exists("d"));
    return CHILD_OK;
}

static void modes_are_no_obstacle_in_the_deep(void **state)
{
    (void)state;
    run_in_child(remove_deep_without_permissions);
}

static int remove_with_mounts(void)
{
    struct err err = ERR_INIT;
    struct stat st;
    if (!enter_mount_namespace())
        return CHILD_SKIPS;
    CHILD_ASSERT(fs_mkdirs("tree/mnt", 0755, &err) && fs_mkdirs("outside", 0755, &err));
    CHILD_ASSERT(fs_write_plain(AT_FDCWD, "outside/kept", "x", 1, 0644, &err));
    /* A bind mount has the same device number as its surroundings. */
    CHILD_ASSERT(mount("outside", "tree/mnt", NULL, MS_BIND, NULL) == 0);
    CHILD_ASSERT(!fs_remove_tree(AT_FDCWD, "tree", &err));
    CHILD_ASSERT(err.code == ERR_REFUSED);
    CHILD_ASSERT(!fs_remove_tree(AT_FDCWD, "tree/mnt", &err));
    CHILD_ASSERT(err.code == ERR_REFUSED);
    uid_t other = geteuid() == 0 ? 65534 : geteuid();
    CHILD_ASSERT(!fs_chown_tree(AT_FDCWD, "tree", other, getegid(), &err));
    CHILD_ASSERT(err.code == ERR_REFUSED);
    CHILD_ASSERT(stat("outside", &st) == 0 && st.st_uid == geteuid());
    CHILD_ASSERT(fs_exists("outside/kept"));
    CHILD_ASSERT(umount("tree/mnt") == 0);
    CHILD_ASSERT(fs_remove_tree(AT_FDCWD, "tree", &err));
    CHILD_ASSERT(fs_exists("outside/kept"));
    return CHILD_OK;
}

static void mount_points_are_refused(void **state)
{
    (void)state;
    run_in_child(remove_with_mounts);
}

static void copies_content_mode_and_time(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT, copied = BUF_INIT;
    for (int i = 0; i < 50000; i++)
        buf_addf(&text, "%d\n", i);
    assert_ok(fs_write_plain(AT_FDCWD, "from", text.ptr, text.len, 0600, &err));
    assert_int_equal(chmod("from", 04751), 0);
    const struct timespec times[2] = {{1000, 1}, {2000, 123456789}};
    assert_int_equal(utimensat(AT_FDCWD, "from", times, 0), 0);
    mkdir("d", 0755);
    AUTO_FD int d = fs_open_dir(AT_FDCWD, "d", &err);
    assert_ok(fs_copy_file(AT_FDCWD, "from", d, "to", &err));
    assert_ok(fs_read_file(&copied, d, "to", text.len, &err));
    assert_int_equal(copied.len, text.len);
    assert_memory_equal(copied.ptr, text.ptr, text.len);
    struct stat st;
    assert_int_equal(stat("d/to", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0751);
    assert_int_equal(st.st_mtim.tv_sec, 2000);
    assert_int_equal(st.st_mtim.tv_nsec, 123456789);
    assert_false(fs_copy_file(AT_FDCWD, "from", d, "to", &err));
    assert_int_equal(err.sys_errno, EEXIST);
}

static void copies_between_file_systems_and_from_proc(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf copied = BUF_INIT, original = BUF_INIT;
    assert_ok(fs_copy_file(AT_FDCWD, "/proc/sys/kernel/ostype", AT_FDCWD, "copy", &err));
    assert_ok(fs_read_file(&copied, AT_FDCWD, "copy", 100, &err));
    assert_string_equal(copied.ptr, "Linux\n");
    put("empty", "");
    assert_ok(fs_copy_file(AT_FDCWD, "empty", AT_FDCWD, "empty2", &err));
    assert_ok(fs_read_file(&original, AT_FDCWD, "empty2", 0, &err));
}

static void copies_regular_files_only(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    put("secret", "x");
    assert_int_equal(symlink("secret", "link"), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_false(fs_copy_file(AT_FDCWD, "link", AT_FDCWD, "copy", &err));
    assert_int_equal(err.sys_errno, ELOOP);
    assert_false(fs_copy_file(AT_FDCWD, "fifo", AT_FDCWD, "copy", &err));
    assert_int_equal(err.code, ERR_FORMAT);
    assert_false(fs_copy_file(AT_FDCWD, ".", AT_FDCWD, "copy", &err));
    assert_false(fs_exists("copy"));
    assert_int_equal(symlink("planted", "target"), 0);
    assert_false(fs_copy_file(AT_FDCWD, "secret", AT_FDCWD, "target", &err));
    assert_false(fs_exists("planted"));
}

static void chown_reaches_all_and_follows_nothing(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct err err = ERR_INIT;
    assert_ok(fs_mkdirs("tree/a", 0700, &err));
    put("tree/a/file", "");
    put("outside", "");
    assert_int_equal(symlink("../outside", "tree/link"), 0);
    assert_ok(fs_chown_tree(AT_FDCWD, "tree", 12345, 23456, &err));
    static const struct {
        const char *path;
        uid_t uid;
        gid_t gid;
    } cases[] = {
        {"tree", 12345, 23456},      {"tree/a", 12345, 23456}, {"tree/a/file", 12345, 23456},
        {"tree/link", 12345, 23456}, {"outside", 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct stat st;
        assert_int_equal(lstat(cases[i].path, &st), 0);
        assert_int_equal(st.st_uid, cases[i].uid);
        assert_int_equal(st.st_gid, cases[i].gid);
    }
    assert_false(fs_chown_tree(AT_FDCWD, "absent", 1, 1, &err));
    assert_int_equal(err.sys_errno, ENOENT);
    make_deep("deep", 200);
    assert_false(fs_chown_tree(AT_FDCWD, "deep", 12345, 23456, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

/* A real FUSE mount that calls itself sshfs, served by a thread of this test. */
static int look_at_fuse(void)
{
    if (!enter_mount_namespace() || mkdir("remote", 0755) != 0 ||
        !fuse_stub_mount("remote", "sshfs"))
        return CHILD_SKIPS;
    const char *type = fs_network_type("remote");
    CHILD_ASSERT(type && strcmp(type, "fuse.sshfs") == 0);
    CHILD_ASSERT(mkdir("local", 0755) == 0 && fuse_stub_mount("local", "ntfs-3g"));
    CHILD_ASSERT(!fs_network_type("local"));
    return CHILD_OK;
}

static void network_file_systems_have_a_name(void **state)
{
    (void)state;
    assert_null(fs_network_type("."));
    assert_null(fs_network_type("/proc"));
    assert_null(fs_network_type("absent"));
    run_in_child(look_at_fuse);
}

#define FS_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

static bool is_ext4(const char *path)
{
    struct statfs st;
    assert_int_equal(statfs(path, &st), 0);
    return st.f_type == EXT4_SUPER_MAGIC;
}

static int flags_of(const char *path)
{
    int flags = 0;
    AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    (void)ioctl(fd, FS_IOC_GETFLAGS, &flags);
    return flags;
}

static void a_folder_is_marked_where_that_helps(void **state)
{
    (void)state;
    assert_int_equal(mkdir("many", 0700), 0);
    int before = flags_of("many");
    fs_scatter("many");
    fs_scatter("many");
    fs_scatter("absent");
    assert_int_equal(flags_of("many"), is_ext4("many") ? before | FS_TOPDIR_FL : before);
    assert_int_equal(mkdir("many/one", 0700), 0);
    assert_int_equal(flags_of("many/one") & FS_TOPDIR_FL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(removes_what_is_under_the_name_only),
        FS_TEST(names_that_are_no_names_are_refused),
        FS_TEST(a_symlink_on_the_way_is_not_followed),
        FS_TEST(depth_is_no_obstacle),
        FS_TEST(wide_folders_go_too),
        FS_TEST(modes_are_no_obstacle),
        FS_TEST(modes_are_no_obstacle_in_the_deep),
        FS_TEST(mount_points_are_refused),
        FS_TEST(copies_content_mode_and_time),
        FS_TEST(copies_between_file_systems_and_from_proc),
        FS_TEST(copies_regular_files_only),
        FS_TEST(chown_reaches_all_and_follows_nothing),
        FS_TEST(a_folder_is_marked_where_that_helps),
        FS_TEST(network_file_systems_have_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
