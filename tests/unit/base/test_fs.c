#include "tests/unit/base/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

static void put(const char *path, const char *text)
{
    struct err err = ERR_INIT;
    assert_ok(fs_write_plain(AT_FDCWD, path, text, strlen(text), 0644, &err));
}

static char *get(const char *path)
{
    struct err err = ERR_INIT;
    struct buf out = BUF_INIT;
    assert_ok(fs_read_file(&out, AT_FDCWD, path, 1 << 20, &err));
    return buf_steal(&out);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void reads_within_the_bound(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    put("five", "12345");
    buf_adds(&out, "kept ");
    assert_ok(fs_read_file(&out, AT_FDCWD, "five", 5, &err));
    assert_string_equal(out.ptr, "kept 12345");
    assert_false(fs_read_file(&out, AT_FDCWD, "five", 4, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(out.ptr, "kept 12345");
    assert_false(fs_read_file(&out, AT_FDCWD, "absent", 4, &err));
    assert_int_equal(err.sys_errno, ENOENT);
    assert_ok(fs_read_file(&out, AT_FDCWD, "/proc/self/status", 1 << 20, &err));
}

static void a_large_file_comes_whole(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT, out = BUF_INIT;
    for (int i = 0; i < 50000; i++)
        buf_addf(&text, "%d\n", i);
    assert_ok(fs_write_plain(AT_FDCWD, "large", text.ptr, text.len, 0600, &err));
    assert_ok(fs_read_file(&out, AT_FDCWD, "large", text.len, &err));
    assert_int_equal(out.len, text.len);
    assert_memory_equal(out.ptr, text.ptr, text.len);
}

/* What an agent may have planted in its tree: all of it is refused, none of it blocks. */
static void nothing_planted_is_followed(void **state)
{
    (void)state;
    put("secret", "secret");
    mkdir("tree", 0755);
    mkdir("tree/folder", 0755);
    put("tree/folder/file", "inside");
    assert_int_equal(symlink("../secret", "tree/out"), 0);
    assert_int_equal(symlink("folder/file", "tree/in"), 0);
    assert_int_equal(symlink("..", "tree/up"), 0);
    assert_int_equal(symlink("/proc/self/root", "tree/magic"), 0);
    assert_int_equal(mkfifo("tree/fifo", 0644), 0);
    static const struct {
        const char *path;
        int sys_errno;
        enum err_code code;
    } cases[] = {
        {"folder/file", 0, ERR_NONE},  {"folder/../folder/file", 0, ERR_NONE},
        {"out", ELOOP, ERR_SYS},       {"in", ELOOP, ERR_SYS},
        {"up/secret", ELOOP, ERR_SYS}, {"magic/etc/passwd", ELOOP, ERR_SYS},
        {"../secret", EXDEV, ERR_SYS}, {"/etc/passwd", EXDEV, ERR_SYS},
        {"fifo", 0, ERR_FORMAT},       {"folder", 0, ERR_FORMAT},
        {"absent", ENOENT, ERR_SYS},
    };
    struct err err = ERR_INIT;
    AUTO_FD int tree = fs_open_dir(AT_FDCWD, "tree", &err);
    assert_true(tree >= 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err = (struct err)ERR_INIT;
        AUTO_BUF struct buf out = BUF_INIT;
        bool ok = fs_read_file(&out, tree, cases[i].path, 100, &err);
        assert_int_equal(ok, cases[i].code == ERR_NONE);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(err.sys_errno, cases[i].sys_errno);
        assert_string_equal(out.ptr, ok ? "inside" : "");
    }
    assert_false(fs_write_plain(tree, "out", "x", 1, 0644, &err));
    assert_false(fs_write_plain(tree, "fifo", "x", 1, 0644, &err));
    assert_false(fs_write_atomic(tree, "up/secret", "x", 1, 0644, &err));
    AUTO_FREE char *secret = get("secret");
    assert_string_equal(secret, "secret");
    /* Replacing a symlink replaces the link, not what it names. */
    assert_ok(fs_write_atomic(tree, "out", "x", 1, 0644, &err));
    AUTO_FREE char *still = get("secret");
    assert_string_equal(still, "secret");
}

static void descriptors_close_on_exec(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    put("file", "");
    AUTO_FD int dir = fs_open_dir(AT_FDCWD, ".", &err);
    AUTO_FD int file = fs_open_beneath(dir, "file", O_RDONLY, 0, &err);
    assert_true(fcntl(dir, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(fs_open_dir(dir, "file", &err), -1);
    assert_int_equal(err.sys_errno, ENOTDIR);
    assert_ok(fs_set_nonblock(file, &err));
    assert_true(fcntl(file, F_GETFL) & O_NONBLOCK);
}

static int names_in(const char *path)
{
    AUTO_DIR DIR *dir = opendir(path);
    assert_non_null(dir);
    int n = 0;
    while (readdir(dir))
        n++;
    return n - 2;
}

static void atomic_replaces_or_leaves_alone(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    mkdir("d", 0755);
    mode_t old_umask = umask(077);
    assert_ok(fs_write_atomic(AT_FDCWD, "d/file", "one", 3, 0640, &err));
    umask(old_umask);
    assert_int_equal(mode_of("d/file"), 0640);
    assert_ok(fs_write_atomic(AT_FDCWD, "d/file", "two", 3, 0600, &err));
    AUTO_FREE char *text = get("d/file");
    assert_string_equal(text, "two");
    assert_int_equal(mode_of("d/file"), 0600);
    mkdir("d/folder", 0755);
    put("d/folder/x", "x");
    assert_false(fs_write_atomic(AT_FDCWD, "d/folder", "x", 1, 0600, &err));
    assert_false(fs_write_atomic(AT_FDCWD, "absent/file", "x", 1, 0600, &err));
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(names_in("d"), 2); /* no temporary file stays behind */
}

static int write_to_full_disk(void)
{
    struct err err = ERR_INIT;
    AUTO_FD int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHILD_ASSERT(!fs_write_fd(full, "x", 1, &err));
    CHILD_ASSERT(err.sys_errno == ENOSPC);
    return CHILD_OK;
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    run_in_child(write_to_full_disk);
}

static void plain_truncates(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    put("file", "long text");
    assert_ok(fs_write_plain(AT_FDCWD, "file", "x", 1, 0755, &err));
    AUTO_FREE char *text = get("file");
    assert_string_equal(text, "x");
    assert_int_equal(mode_of("file"), 0755);
}

static void mkdirs_makes_what_is_missing(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_ok(fs_mkdirs("a/b//c/", 0700, &err));
    assert_ok(fs_mkdirs("a/b/c", 0755, &err));
    assert_int_equal(mode_of("a"), 0700);
    assert_int_equal(mode_of("a/b/c"), 0700);
    assert_ok(fs_mkdirs("/", 0700, &err));
    assert_ok(fs_mkdirs(".", 0700, &err));
    assert_int_equal(symlink("a", "link"), 0);
    assert_ok(fs_mkdirs("link/d", 0700, &err));
    put("file", "");
    assert_false(fs_mkdirs("file", 0700, &err));
    assert_int_equal(err.sys_errno, ENOTDIR);
    assert_false(fs_mkdirs("file/below", 0700, &err));
    assert_int_equal(err.sys_errno, ENOTDIR);
    assert_false(fs_mkdirs("", 0700, &err));
    AUTO_FREE char *deep = xcalloc(1, 20001);
    memset(deep, 'd', 20000);
    assert_false(fs_mkdirs(deep, 0700, &err));
}

static void knows_what_is_there(void **state)
{
    (void)state;
    put("file", "");
    assert_int_equal(symlink("absent", "dangling"), 0);
    assert_int_equal(symlink(".", "here"), 0);
    assert_true(fs_exists("file") && fs_exists("dangling") && fs_exists("here"));
    assert_false(fs_exists("absent"));
    assert_true(fs_is_dir(".") && fs_is_dir("here"));
    assert_false(fs_is_dir("file") || fs_is_dir("dangling"));
}

static void paths_are_taken_apart_and_joined(void **state)
{
    (void)state;
    static const struct {
        const char *path, *dir, *base;
    } parts[] = {
        {"/a/b", "/a", "b"}, {"a", ".", "a"},   {"/a", "/", "a"}, {"/", "/", ""},
        {"a//b", "a", "b"},  {"a/b/", "a", ""}, {"", ".", ""},    {"//a", "/", "a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        AUTO_FREE char *dir = fs_dirname(parts[i].path);
        assert_string_equal(dir, parts[i].dir);
        assert_string_equal(fs_basename(parts[i].path), parts[i].base);
    }
    static const struct {
        const char *a, *b, *joined;
    } joins[] = {
        {"a", "b", "a/b"},
        {"a/", "/b", "a/b"},
        {"/", "b", "/b"},
        {"a//", "b/c", "a/b/c"},
    };
    for (size_t i = 0; i < ARRAY_LEN(joins); i++) {
        AUTO_FREE char *joined = fs_join(joins[i].a, joins[i].b);
        assert_string_equal(joined, joins[i].joined);
    }
}

static void realpath_resolves(void **state)
{
    struct err err = ERR_INIT;
    assert_int_equal(symlink(".", "here"), 0);
    AUTO_FREE char *real = fs_realpath("here/here", &err);
    assert_string_equal(real, *state);
    assert_null(fs_realpath("absent", &err));
    assert_int_equal(err.sys_errno, ENOENT);
}

#define FS_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(reads_within_the_bound),
        FS_TEST(a_large_file_comes_whole),
        FS_TEST(nothing_planted_is_followed),
        FS_TEST(descriptors_close_on_exec),
        FS_TEST(atomic_replaces_or_leaves_alone),
        FS_TEST(a_full_disk_is_an_error),
        FS_TEST(plain_truncates),
        FS_TEST(mkdirs_makes_what_is_missing),
        FS_TEST(knows_what_is_there),
        FS_TEST(paths_are_taken_apart_and_joined),
        FS_TEST(realpath_resolves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
