#include "tests/unit/sandbox/boxtest.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

static char *read_host(const char *path)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    if (!fs_read_file(&text, AT_FDCWD, path, 4096, &err))
        fail_msg("%s", err.text);
    return buf_steal(&text);
}

static void host_files_are_absent(void **state)
{
    (void)state;
    static const char *const absent[] = {"read:/etc/shadow",
                                         "read:/etc/gshadow",
                                         "read:/etc/sudoers",
                                         "read:/etc/resolv.conf",
                                         "read:/etc/ssh/sshd_config",
                                         "read:/root",
                                         "read:/home",
                                         "read:/boot",
                                         "read:/etc/machine-id",
                                         "read:/var/lib/dpkg/status",
                                         "read:/sys/kernel/notes"};
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *marker = boxtest_file(boxtest()->work, "marker", "secret");
    AUTO_FREE char *attempt = xasprintf("read:%s", marker);
    boxtest_spec(&spec);
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        boxtest_expect(&spec, absent[i], "ENOENT");
    boxtest_expect(&spec, attempt, "ENOENT");
    spec.without = 1U << LAYER_MOUNT;
    spec.n_binds = 0; /* the host's own path of the probe instead */
    AUTO_FREE char *script = xasprintf("%s --probe %s", boxtest()->launcher, attempt);
    AUTO_FREE char *control = boxtest_sh(NULL, &spec, script);
    assert_string_equal(control, "ok");
    spec.n_binds = 1;
}

static void the_system_is_read_only(void **state)
{
    (void)state;
    static const char *const places[] = {
        "create:/x",           "create:/usr/x",     "create:/etc/x",     "create:/dev/x",
        "create:/run/x",       "create:/var/x",     "write:/etc/passwd", "write:/etc/ld.so.cache",
        "truncate:/etc/hosts", "remove:/etc/passwd"};
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.without = 1U << LAYER_LANDLOCK; /* the mounts alone must hold */
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        AUTO_FREE char *got = boxtest_try(&spec, places[i]);
        if (strcmp(got, "EROFS") != 0 && strcmp(got, "EACCES") != 0)
            fail_msg("%s came out as %s", places[i], got);
    }
    boxtest_expect(&spec, "create:/x", "EROFS");
    boxtest_expect(&spec, "create:/tmp/x", "ok");
    boxtest_expect(&spec, "create:/dev/shm/x", "ok");
}

static void no_mount_allows_setuid_or_devices(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *work = boxtest_folder(boxtest()->work, "flags");
    boxtest_spec(&spec);
    box_spec_bind(&spec, work, work, BOX_BIND_WRITE | BOX_BIND_NOEXEC);
    AUTO_FREE char *setuid = boxtest_sh(NULL, &spec, "awk '$4 !~ /(^|,)nosuid/' /proc/self/mounts");
    assert_string_equal(setuid, "");
    AUTO_FREE char *nodev = boxtest_sh(
        NULL, &spec,
        "awk '$4 !~ /(^|,)nodev/ && $2 !~ \"^/dev/[a-z]+$\" {print $2}' /proc/self/mounts");
    assert_string_equal(nodev, "");
    AUTO_FREE char *proc =
        boxtest_sh(NULL, &spec, "awk '$2 ~ \"^/proc/\" && $4 !~ /^ro,/' /proc/self/mounts");
    assert_string_equal(proc, "");
    AUTO_FREE char *count =
        boxtest_sh(NULL, &spec, "grep -c ' /proc/sys proc ro,' /proc/self/mounts");
    assert_string_equal(count, "1");
    AUTO_FREE char *script = xasprintf("cp /bin/true %s/t && %s/t", work, work);
    int status;
    AUTO_FREE char *noexec = boxtest_sh(&status, &spec, script);
    assert_int_equal(status, 126);
}

/* A file three folders down, its folder, and a folder as a whole; absent ones are passed over. */
static void frozen_paths_stay(void **state)
{
    (void)state;
    static const struct {
        const char *attempt, *frozen, *control;
    } attempts[] = {
        {"echo evil >a/b/file", "2", "0"}, {"touch a/b/new", "0", "0"},
        {"rm a/b/file", "1", "0"},         {"echo x >new && mv -f new a/b/file", "1", "0"},
        {"mv a/b a/c", "1", "0"},          {"mv a c", "1", "0"},
        {"touch whole/new", "1", "0"},     {"ln -s whole/x whole/y", "1", "0"},
        {"chmod 777 whole/x", "1", "0"},   {"touch absent", "0", "0"},
    };
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *work = boxtest_folder(boxtest()->work, "frozen");
    AUTO_FREE char *make =
        xasprintf("cd %s && rm -rf a c new whole absent && mkdir -p a/b whole && "
                  "echo text >a/b/file && echo text >whole/x",
                  work);
    boxtest_spec(&spec);
    box_spec_bind(&spec, work, work, BOX_BIND_WRITE);
    spec.without = 1U << LAYER_LANDLOCK; /* the mounts alone hold */
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        AUTO_FREE char *script = xasprintf("cd %s && { %s; } 2>/dev/null; echo $? $(cat a/b/file)",
                                           work, attempts[i].attempt);
        AUTO_FREE char *ready = boxtest_sh(NULL, &spec, make);
        strv_pushf(&spec.frozen, "%s/a/b/file", work);
        strv_pushf(&spec.frozen, "%s/whole", work);
        strv_pushf(&spec.frozen, "%s/absent", work);
        AUTO_FREE char *got = boxtest_sh(NULL, &spec, script);
        strv_release(&spec.frozen);
        AUTO_FREE char *want = xasprintf("%s text", attempts[i].frozen);
        if (strcmp(got, want) != 0)
            fail_msg("%s: %s, not %s", attempts[i].attempt, got, want);
        AUTO_FREE char *control = boxtest_sh(NULL, &spec, script);
        if (control[0] != attempts[i].control[0])
            fail_msg("%s: %s though nothing is frozen", attempts[i].attempt, control);
    }
}

static void binds_are_shown_as_asked(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *ro = boxtest_folder(boxtest()->work, "ro");
    AUTO_FREE char *rw = boxtest_folder(boxtest()->work, "rw");
    AUTO_FREE char *file = boxtest_file(ro, "file", "hello");
    boxtest_spec(&spec);
    box_spec_bind(&spec, ro, "/srv/ro", 0);
    box_spec_bind(&spec, rw, "/srv/rw", BOX_BIND_WRITE);
    box_spec_bind(&spec, file, "/srv/rw/deep/er/file", 0);
    box_spec_bind(&spec, "/nonexistent/thing", "/srv/none", BOX_BIND_OPTIONAL);
    AUTO_FREE char *text =
        boxtest_sh(NULL, &spec, "cat /srv/ro/file /srv/rw/deep/er/file; ls /srv");
    assert_string_equal(text, "hellohelloro\nrw");
    spec.without = 1U << LAYER_LANDLOCK;
    boxtest_expect(&spec, "write:/srv/ro/file", "EROFS");
    boxtest_expect(&spec, "write:/srv/rw/deep/er/file", "EROFS");
    boxtest_expect(&spec, "remove:/srv/rw/deep/er/file", "EBUSY");
    spec.without = 0;
    AUTO_FREE char *written =
        boxtest_sh(NULL, &spec, "echo out > /srv/rw/new && mv /srv/rw/new /srv/rw/deep/n");
    AUTO_FREE char *path = fs_join(rw, "deep/n");
    AUTO_FREE char *seen = read_host(path);
    assert_string_equal(seen, "out\n");
}

static void an_absent_bind_is_an_error(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    box_spec_bind(&spec, "/nonexistent/thing", "/srv/none", 0);
    boxtest_expect_failure(&err, &spec);
    assert_int_equal(err.code, ERR_SYS);
    assert_non_null(strstr(err.text, "/nonexistent/thing"));
}

static void masks_cover(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *top = boxtest_folder(boxtest()->work, "masks");
    AUTO_FREE char *folder = boxtest_folder(top, "folder");
    AUTO_FREE char *inner = boxtest_file(folder, "inner", "x");
    AUTO_FREE char *file = boxtest_file(top, "file", "secret");
    boxtest_spec(&spec);
    spec.without = 1U << LAYER_LANDLOCK;
    box_spec_bind(&spec, top, "/w", BOX_BIND_WRITE);
    strv_push(&spec.masks, "/w/folder");
    strv_push(&spec.masks, "/w/file");
    strv_push(&spec.masks, "/w/absent");
    AUTO_FREE char *seen = boxtest_sh(NULL, &spec, "cat /w/file; ls /w/folder");
    assert_string_equal(seen, "");
    boxtest_expect(&spec, "write:/w/file", "EACCES");
    boxtest_expect(&spec, "truncate:/w/file", "EACCES");
    boxtest_expect(&spec, "create:/w/folder/x", "EROFS");
    boxtest_expect(&spec, "remove:/w/file", "EBUSY");
    AUTO_FREE char *still = read_host(file);
    assert_string_equal(still, "secret");
}

/* An agent of an earlier run left a link where a mount is to be: it must not lead elsewhere. */
static void a_planted_link_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *tree = boxtest_folder(boxtest()->work, "planted");
    AUTO_FREE char *file = boxtest_file(boxtest()->work, "gitfile", "gitdir: x");
    AUTO_FREE char *link = fs_join(tree, ".git");
    assert_int_equal(symlink("/etc", link), 0);
    boxtest_spec(&spec);
    box_spec_bind(&spec, tree, "/w", BOX_BIND_WRITE);
    box_spec_bind(&spec, file, "/w/.git/passwd", 0);
    boxtest_expect_failure(&err, &spec);
    assert_non_null(strstr(err.text, "/w/.git/passwd"));
}

static void the_home_is_private(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *home = boxtest_folder(boxtest()->work, "home");
    boxtest_spec(&spec);
    spec.home = xstrdup(home);
    spec.home_inside = xstrdup("/home/person");
    AUTO_FREE char *seen = boxtest_sh(
        NULL, &spec,
        "ls -A /home/person; touch /home/person/t; getent passwd $(id -u) | cut -d: -f6");
    assert_string_equal(seen, "/home/person");
    AUTO_FREE char *path = fs_join(home, "t");
    assert_true(fs_exists(path));
}

static void a_home_in_memory(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.home_inside = xstrdup("/home/person");
    AUTO_FREE char *seen = boxtest_sh(
        NULL, &spec,
        "cd /home/person && ls -A && touch t && stat -c %a . && df --output=fstype . | tail -1");
    assert_string_equal(seen, "755\ntmpfs");
}

struct layers {
    char *lower, *upper, *work;
};

static void make_layers(struct layers *ret, const char *name)
{
    AUTO_FREE char *top = boxtest_folder(boxtest()->work, name);
    ret->lower = boxtest_folder(top, "lower");
    ret->upper = boxtest_folder(top, "upper");
    ret->work = boxtest_folder(top, "work");
    AUTO_FREE char *file = boxtest_file(ret->lower, "file", "base");
}

static void an_overlay_keeps_its_base(void **state)
{
    (void)state;
    struct layers l;
    AUTO_BOX_SPEC struct box_spec spec;
    make_layers(&l, "overlay");
    AUTO_FREE char *base = fs_join(l.lower, "file");
    AUTO_FREE char *changed = fs_join(l.upper, "file");
    boxtest_spec(&spec);
    spec.overlay =
        (struct box_overlay){l.lower, l.upper, l.work, xstrdup("/home/person/tree"), NULL};
    AUTO_FREE char *seen = boxtest_sh(
        NULL, &spec,
        "cd /home/person/tree && cat file && echo new > file && ls -A / | grep -c '^[.]'; true");
    assert_string_equal(seen, "base0");
    AUTO_FREE char *old_text = read_host(base);
    AUTO_FREE char *new_text = read_host(changed);
    assert_string_equal(old_text, "base");
    assert_string_equal(new_text, "new\n");
}

static void an_overlay_without_upper_is_read_only(void **state)
{
    (void)state;
    struct layers l;
    AUTO_BOX_SPEC struct box_spec spec;
    make_layers(&l, "lower-only");
    AUTO_FREE char *upper = l.upper;
    AUTO_FREE char *work = l.work;
    boxtest_spec(&spec);
    spec.without = 1U << LAYER_LANDLOCK;
    spec.overlay = (struct box_overlay){l.lower, NULL, NULL, xstrdup("/tree"), NULL};
    boxtest_expect(&spec, "read:/tree/file", "ok");
    boxtest_expect(&spec, "write:/tree/file", "EROFS");
}

/* The kernel mounts such an overlay read-only and says nothing. */
static void an_unwritable_upper_is_an_error(void **state)
{
    (void)state;
    struct layers l;
    struct err err = ERR_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    make_layers(&l, "unwritable");
    AUTO_FREE char *upper = l.upper;
    AUTO_FREE char *work = l.work;
    boxtest_spec(&spec);
    spec.overlay = (struct box_overlay){l.lower, xstrdup("/usr/lib"), xstrdup("/usr/share"),
                                        xstrdup("/tree"), NULL};
    boxtest_expect_failure(&err, &spec);
    assert_non_null(strstr(err.text, "overlay of the worktree is read-only"));
}

/* Root's state lies below a folder that the account of the box cannot enter. */
static void sources_below_a_closed_folder(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *closed = boxtest_folder(boxtest()->work, "closed");
    AUTO_FREE char *inner = boxtest_folder(closed, "inner");
    AUTO_FREE char *lower = boxtest_folder(inner, "lower");
    AUTO_FREE char *file = boxtest_file(lower, "file", "deep");
    boxtest_spec(&spec);
    spec.overlay = (struct box_overlay){xstrdup(lower), boxtest_folder(inner, "upper"),
                                        boxtest_folder(inner, "work"), xstrdup(lower), NULL};
    if (boxtest()->is_root)
        assert_int_equal(chown(closed, 0, 0), 0);
    assert_int_equal(chmod(closed, 0700), 0);
    AUTO_FREE char *script = xasprintf("cat %s; echo more >> %s", file, file);
    AUTO_FREE char *seen = boxtest_sh(NULL, &spec, script);
    assert_string_equal(seen, "deep");
}

static bool write_text(const char *path, const char *text)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* As in a container whose procfs is covered in part: a new one would uncover it, so the kernel
 * refuses, and the host's is no substitute. */
static void a_covered_procfs_ends_the_start(void **state)
{
    (void)state;
    if (boxtest()->is_root)
        skip();
    AUTO_FREE char *uid_map = xasprintf("%u %u 1", boxtest()->uid, boxtest()->uid);
    AUTO_FREE char *gid_map = xasprintf("%u %u 1", boxtest()->gid, boxtest()->gid);
    pid_t pid = fork();
    if (pid == 0) {
        struct err err = ERR_INIT;
        AUTO_BOX_SPEC struct box_spec spec;
        boxtest_spec(&spec);
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
            !write_text("/proc/self/setgroups", "deny") ||
            !write_text("/proc/self/gid_map", gid_map) ||
            !write_text("/proc/self/uid_map", uid_map) ||
            mount("none", "/proc/irq", "tmpfs", 0, NULL) != 0)
            _exit(77);
        boxtest_expect_failure(&err, &spec);
        _exit(err.code == ERR_LAYER && strstr(err.text, "procfs") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (proc_exit_code(status) == 77) {
        print_message("skipped: no user namespace to cover a procfs in\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(host_files_are_absent),
                                       cmocka_unit_test(the_system_is_read_only),
                                       cmocka_unit_test(no_mount_allows_setuid_or_devices),
                                       cmocka_unit_test(frozen_paths_stay),
                                       cmocka_unit_test(binds_are_shown_as_asked),
                                       cmocka_unit_test(an_absent_bind_is_an_error),
                                       cmocka_unit_test(masks_cover),
                                       cmocka_unit_test(a_planted_link_is_refused),
                                       cmocka_unit_test(the_home_is_private),
                                       cmocka_unit_test(a_home_in_memory),
                                       cmocka_unit_test(an_overlay_keeps_its_base),
                                       cmocka_unit_test(an_overlay_without_upper_is_read_only),
                                       cmocka_unit_test(an_unwritable_upper_is_an_error),
                                       cmocka_unit_test(sources_below_a_closed_folder),
                                       cmocka_unit_test(a_covered_procfs_ends_the_start)};
    return boxtest_main("view", tests, ARRAY_LEN(tests));
}
