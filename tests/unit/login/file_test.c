#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/login/credfile.h"
#include "runner/login/lock.h"

struct scene {
    char root[64];
    char *folder, *file;
};

static void write_text(const char *path, const char *text, mode_t mode)
{
    struct err err = ERR_INIT;
    if (!fs_write_plain(AT_FDCWD, path, text, strlen(text), mode, &err))
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    struct scene *s = xcalloc(1, sizeof(*s));
    memcpy(s->root, "/tmp/headgate-login.XXXXXX", sizeof("/tmp/headgate-login.XXXXXX"));
    if (!mkdtemp(s->root))
        return -1;
    s->folder = xasprintf("%s/home", s->root);
    s->file = xasprintf("%s/auth.json", s->folder);
    mkdir(s->folder, 0700);
    write_text(s->file, "{\"a\":1}", 0600);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    struct err err = ERR_INIT;
    if (!fs_remove_tree(AT_FDCWD, s->root, &err))
        print_message("%s\n", err.text);
    free(s->folder);
    free(s->file);
    free(s);
    return 0;
}

static void open_file(struct credfile *f, const struct scene *s)
{
    struct err err = ERR_INIT;
    if (!credfile_open(f, s->file, &err))
        fail_msg("%s", err.text);
}

static int entries(const char *folder)
{
    AUTO_DIR DIR *dir = opendir(folder);
    int n = 0;
    while (readdir(dir))
        n++;
    return n - 2;
}

static void a_file_is_replaced_as_a_whole(void **state)
{
    const struct scene *s = *state;
    struct err err = ERR_INIT;
    struct stat before, after;
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    AUTO_JSON json_t *now = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    chmod(s->file, 0400);
    open_file(&f, s);
    buf_adds(&text, "{\"b\":2}");
    assert_int_equal(stat(s->file, &before), 0);
    assert_true(credfile_begin(&f, 300000, &err));
    assert_true(credfile_commit(&f, &text, &err));
    assert_int_equal(stat(s->file, &after), 0);
    assert_true(before.st_ino != after.st_ino);
    assert_int_equal(after.st_mode & 07777, 0400);
    assert_int_equal(after.st_size, 7);
    assert_true(credfile_read(&now, &f, &err));
    assert_int_equal(jx_int(now, "b", 0), 2);
    assert_int_equal(entries(s->folder), 1);
}

static void what_is_begun_and_not_done_leaves_nothing(void **state)
{
    const struct scene *s = *state;
    struct err err = ERR_INIT;
    struct credfile f = CREDFILE_INIT;
    open_file(&f, s);
    assert_true(credfile_begin(&f, 1000, &err));
    assert_int_equal(entries(s->folder), 2);
    credfile_close(&f);
    assert_int_equal(entries(s->folder), 1);
}

static void refuses(const struct scene *s, const char *words)
{
    struct err err = ERR_INIT;
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    assert_false(credfile_open(&f, s->file, &err));
    if (!strstr(err.text, words))
        fail_msg("no '%s' in: %s", words, err.text);
}

static void links_and_what_others_see_are_refused(void **state)
{
    const struct scene *s = *state;
    AUTO_FREE char *real = xasprintf("%s/real", s->folder);
    chmod(s->file, 0640);
    refuses(s, "chmod 600");
    chmod(s->file, 0602);
    refuses(s, "chmod 600");
    chmod(s->file, 0600);
    rename(s->file, real);
    refuses(s, "cannot open");
    assert_int_equal(symlink("real", s->file), 0);
    refuses(s, "symbolic link");
    unlink(s->file);
    assert_int_equal(mkfifo(s->file, 0600), 0);
    refuses(s, "not a regular file");
    unlink(s->file);
    mkdir(s->file, 0700);
    refuses(s, "not a regular file");
}

static void another_accounts_file_is_refused(void **state)
{
    const struct scene *s = *state;
    if (geteuid() != 0)
        skip(); /* only root can make one */
    assert_int_equal(chown(s->file, 1, (gid_t)-1), 0);
    refuses(s, "another account");
}

static void what_is_no_json_is_told_without_its_text(void **state)
{
    const struct scene *s = *state;
    static const char *const texts[] = {"", "{\"refreshToken\":\"rt-secret\"", "rt-secret",
                                        "{\"a\":\"rt-secret\xff\"}"};
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    open_file(&f, s);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = ERR_INIT;
        json_t *j = NULL;
        write_text(s->file, texts[i], 0600);
        assert_false(credfile_read(&j, &f, &err));
        assert_null(strstr(err.text, "rt-secret"));
    }
}

static void claudes_lock_is_its_folders(void **state)
{
    const struct scene *s = *state;
    struct err err = ERR_INIT;
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    const struct login_form *form = login_form("claude");
    AUTO_FREE char *lock_path = xasprintf("%s/.oauth_refresh.lock", s->folder);
    AUTO_FREE char *old_path = xasprintf("%s.lock", s->folder);
    AUTO_FREE char *write_path = xasprintf("%s/.storage-write.lock", s->folder);
    struct login_lock lock = LOGIN_LOCK_INIT, other = LOGIN_LOCK_INIT;
    open_file(&f, s);
    assert_true(login_lock_renew(&lock, form, &f, 0, &err));
    assert_true(login_lock_write(&lock, form, &f, 0, &err));
    assert_true(fs_is_dir(lock_path) && fs_is_dir(old_path) && fs_is_dir(write_path));
    assert_false(login_lock_renew(&other, form, &f, 0, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_true(login_lock_is_held(&lock));
    login_lock_release(&lock);
    assert_false(fs_exists(lock_path) || fs_exists(old_path) || fs_exists(write_path));

    /* One of an older version is waited for, and nothing stays behind meanwhile. */
    assert_int_equal(mkdir(old_path, 0700), 0);
    assert_false(login_lock_renew(&other, form, &f, 0, &err));
    assert_false(fs_exists(lock_path));

    /* One that nobody has touched for a minute was left over. */
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, old_path, long_ago, 0), 0);
    assert_true(login_lock_renew(&other, form, &f, 0, &err));
    login_lock_release(&other);
    assert_false(fs_exists(old_path));
}

static void a_lock_that_was_taken_away_is_noticed(void **state)
{
    const struct scene *s = *state;
    struct err err = ERR_INIT;
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    AUTO_FREE char *lock_path = xasprintf("%s/.oauth_refresh.lock", s->folder);
    AUTO_LOGIN_LOCK struct login_lock lock = LOGIN_LOCK_INIT;
    open_file(&f, s);
    assert_true(login_lock_renew(&lock, login_form("claude"), &f, 0, &err));
    assert_true(login_lock_is_held(&lock));
    assert_int_equal(rmdir(lock_path), 0);
    assert_false(login_lock_is_held(&lock));
}

static void codexs_lock_is_on_its_files(void **state)
{
    const struct scene *s = *state;
    struct err err = ERR_INIT;
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    const struct login_form *form = login_form("codex");
    AUTO_FREE char *path = xasprintf("%s/auth.lock", s->folder);
    AUTO_FREE char *write_path = xasprintf("%s/auth.json.lock", s->folder);
    struct login_lock lock = LOGIN_LOCK_INIT;
    open_file(&f, s);
    assert_true(login_lock_renew(&lock, form, &f, 0, &err));
    assert_true(login_lock_write(&lock, form, &f, 0, &err));
    AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC);
    AUTO_FD int write_fd = open(write_path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
    assert_int_equal(flock(write_fd, LOCK_EX | LOCK_NB), -1);
    login_lock_release(&lock);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_false(login_lock_renew(&lock, form, &f, clock_mono_ms() + 10, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
}

/* A child that ends the file once somebody has read its beginning. */
static pid_t start_slow_writer(const char *file)
{
    char event[sizeof(struct inotify_event) + NAME_MAX + 1];
    int watch = inotify_init1(IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, file, IN_CLOSE_NOWRITE) >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct err err = ERR_INIT;
        bool ok = read(watch, event, sizeof(event)) > 0 &&
                  fs_write_plain(AT_FDCWD, file, "{\"a\":1}", 7, 0600, &err);
        _exit(!ok);
    }
    close(watch);
    return pid;
}

static void a_file_that_is_being_written_is_read_when_it_is_whole(void **state)
{
    const struct scene *s = *state;
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    AUTO_JSON json_t *whole = NULL;
    struct err err = ERR_INIT;
    int status = -1;
    write_text(s->file, "{\"a\":", 0600);
    open_file(&f, s);
    pid_t pid = start_slow_writer(s->file);
    assert_true(pid > 0);
    assert_true(credfile_read(&whole, &f, &err));
    assert_int_equal(jx_int(whole, "a", 0), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_replaced_as_a_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_begun_and_not_done_leaves_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(links_and_what_others_see_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_accounts_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_json_is_told_without_its_text, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_being_written_is_read_when_it_is_whole,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(claudes_lock_is_its_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_that_was_taken_away_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(codexs_lock_is_on_its_files, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
