/*
 * Renames of a folder of an overlay's base: what fails is undone, wherever it fails, and what is
 * killed leaves one of the two folders whole. In namespaces of the test's own, on file systems in
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/buf.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "sandbox/launch/carry.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/move.h"

enum { FOLDERS = 3, FILES = 4, FILE_BYTES = 6000, DEEP = 140, STEPS_MAX = 400 };

#define EXCHANGE 2U /* RENAME_EXCHANGE */

/* The launcher's has a mark for its own filter, which there is none of here. */
int notify_rename_unasked(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return renameat2(from_fd, from, to_fd, to, flags);
}

static char *top;

static void must(bool ok, const char *what)
{
    if (!ok)
        fail_msg("%s: %s", what, strerror(errno));
}

static void put(const char *path, const char *text)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
}

/* File i of folder k holds its own letter. */
static void content_of(char ret[FILE_BYTES + 1], int k, int i)
{
    memset(ret, 'a' + k * FILES + i, FILE_BYTES);
    ret[FILE_BYTES] = '\0';
}

static void fill_base(void)
{
    char path[128], text[FILE_BYTES + 1];
    must(mkdir("lower/src", 0755) == 0, "src");
    for (int k = 0; k < FOLDERS; k++) {
        snprintf(path, sizeof path, "lower/src/k%d", k);
        must(mkdir(path, 0755) == 0, path);
        for (int i = 0; i < FILES; i++) {
            snprintf(path, sizeof path, "lower/src/k%d/f%d", k, i);
            content_of(text, k, i);
            put(path, text);
        }
    }
    must(symlink("k0/f0", "lower/src/link") == 0, "link");
}

/* Time goes on until the clock of file systems has. */
static void pass_a_tick(void)
{
    struct timespec before, now;
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    do
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec);
}

/* An overlay at `at`; its base in a file system of its own, and for its changes one of these
 * limits. */
static void mount_world(const char *limits)
{
    AUTO_FREE char *place = xasprintf("%s/world", top);
    must(mkdir(place, 0755) == 0 || errno == EEXIST, place);
    must(mount("tmpfs", place, "tmpfs", 0, "") == 0 && chdir(place) == 0, place);
    must(mkdir("lower", 0755) == 0 && mkdir("changes", 0755) == 0 && mkdir("at", 0755) == 0,
         "world");
    fill_base();
    pass_a_tick();
    must(mount("tmpfs", "changes", "tmpfs", 0, limits) == 0, "changes");
    must(mkdir("changes/upper", 0755) == 0 && mkdir("changes/work", 0755) == 0, "upper");
    must(mount("overlay", "at", "overlay", 0,
               "userxattr,lowerdir=lower,upperdir=changes/upper,workdir=changes/work") == 0,
         "overlay");
}

static void unmount_world(void)
{
    must(chdir(top) == 0, top);
    must(umount2("world", MNT_DETACH) == 0, "world");
}

/* So many more inodes, or bytes, than are used. */
static void limit_room(const char *what, unsigned long more)
{
    struct statvfs st;
    char options[64];
    must(statvfs("changes", &st) == 0, "changes");
    bool is_bytes = strcmp(what, "size") == 0;
    unsigned long used =
        is_bytes ? (st.f_blocks - st.f_bfree) * st.f_frsize : st.f_files - st.f_ffree;
    snprintf(options, sizeof options, "%s=%lu", what, used + more);
    must(mount(NULL, "changes", NULL, MS_REMOUNT, options) == 0, options);
}

static bool is_file_whole(const char *folder, int k, int i)
{
    char path[128], want[FILE_BYTES + 1];
    AUTO_BUF struct buf got = BUF_INIT;
    struct err err = ERR_INIT;
    snprintf(path, sizeof path, "at/%s/k%d/f%d", folder, k, i);
    content_of(want, k, i);
    return fs_read_file(&got, AT_FDCWD, path, FILE_BYTES, &err) && got.len == FILE_BYTES &&
           memcmp(got.ptr, want, FILE_BYTES) == 0;
}

static bool is_whole(const char *folder)
{
    char path[128], text[16];
    bool ok = true;
    for (int k = 0; k < FOLDERS; k++)
        for (int i = 0; i < FILES; i++)
            ok = ok && is_file_whole(folder, k, i);
    snprintf(path, sizeof path, "at/%s/link", folder);
    return ok && readlink(path, text, sizeof text) == 5 && memcmp(text, "k0/f0", 5) == 0;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Begin a rename in the folder `at`. */
static struct mover begin_move(const char *from, const char *to, unsigned flags)
{
    AUTO_BUF struct buf plan = BUF_INIT;
    const struct plan_head head = {.flags = 0};
    struct mover mover = {.pid = 0};
    struct err err = ERR_INIT;
    char tid[16], number[16];
    snprintf(tid, sizeof tid, "%d", getpid());
    snprintf(number, sizeof number, "%u", flags);
    AUTO_FREE char *old = xasprintf("at/%s", from);
    AUTO_FREE char *new = xasprintf("at/%s", to);
    plan_begin(&plan, &head);
    plan_add(&plan, PLAN_MOVE, 0, tid, "-100", old, "-100", new, number, NULL);
    AUTO_FD int fd = memfd_create("plan", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, plan.ptr, plan.len) == (ssize_t)plan.len, "plan");
    AUTO_FREE char *tree = xasprintf("%s/world/at", top);
    if (!mover_start(&mover, 1, fd, tree, &err))
        fail_msg("%s", err.text);
    return mover;
}

static int end_move(const struct mover *mover)
{
    int status;
    must(waitpid(mover->pid, &status, 0) == mover->pid, "waitpid");
    return mover_outcome(status);
}

static int move(const char *from, const char *to, unsigned flags)
{
    struct mover mover = begin_move(from, to, flags);
    return end_move(&mover);
}

static void a_folder_takes_its_new_name(void **state)
{
    (void)state;
    mount_world("");
    assert_int_equal(move("src", "lib", 0), 0);
    assert_true(is_whole("lib"));
    assert_false(exists("at/src"));
    assert_false(exists("at/" PATHS_MOVING));
    assert_int_equal(move("lib/k1", "lib/k9", 0), 0);
    assert_true(exists("at/lib/k9/f0"));
    unmount_world();
}

/* From too little for the first file to enough for all: each step fails somewhere else. Returns how
 * often that was when the new folder was there and the old one was being emptied. */
static int fail_at_each_step(const char *what, unsigned long step)
{
    int n_failed = 0, n_failed_late = 0, why = ENOSPC;
    for (unsigned long i = 0; why != 0; i++) {
        assert_true(i < STEPS_MAX);
        mount_world("");
        must(mkdir("at/lib", 0750) == 0, "lib");
        limit_room(what, (i + 1) * step); /* a limit of 0 is none */
        why = move("src", "lib", 0);
        if (why == 0) {
            assert_true(is_whole("lib"));
            assert_false(exists("at/src"));
        } else {
            struct stat st;
            assert_int_equal(why, ENOSPC);
            assert_true(is_whole("src"));
            assert_false(exists("at/lib/link"));
            must(stat("at/lib", &st) == 0, "lib");
            assert_int_equal(st.st_mode & 07777, 0750);
            n_failed++;
            n_failed_late += exists("changes/upper/src"); /* something was taken from it */
        }
        assert_false(exists("at/" PATHS_MOVING));
        unmount_world();
    }
    print_message("%s: %d failed, %d of them late\n", what, n_failed, n_failed_late);
    assert_true(n_failed > FOLDERS * FILES);
    return n_failed_late;
}

static void no_room_for_inodes_leaves_it_as_it_was(void **state)
{
    (void)state;
    assert_true(fail_at_each_step("nr_inodes", 1) > 0);
}

static void no_room_for_bytes_leaves_it_as_it_was(void **state)
{
    (void)state;
    fail_at_each_step("size", 4096);
}

static void a_killed_one_leaves_either_whole(void **state)
{
    (void)state;
    int n_killed = 0, n_moved = 0;
    for (int i = 0; i < 60; i++) {
        mount_world("");
        struct mover mover = begin_move("src", "lib", 0);
        const struct timespec wait = {.tv_nsec = i * 50 * 1000};
        nanosleep(&wait, NULL);
        kill(mover.pid, SIGKILL);
        int why = end_move(&mover);
        assert_true(why == 0 || why == EIO);
        n_killed += why == EIO;
        n_moved += exists("at/lib");
        assert_true(is_whole(exists("at/lib") ? "lib" : "src"));
        AUTO_FREE char *tree = xasprintf("%s/world/at", top);
        mover_sweep(tree);
        assert_false(exists("at/" PATHS_MOVING));
        unmount_world();
    }
    print_message("%d killed, %d in their new place\n", n_killed, n_moved);
    assert_true(n_killed > 0);
}

static void fill(struct carry *ret, int to, int from)
{
    AUTO_FD int root = open("at", O_RDONLY | O_DIRECTORY);
    assert_int_equal(carry_init(ret, root), 0);
    assert_int_equal(carry_fill(ret, to, from), 0);
}

static void what_is_written_meanwhile_is_not_lost(void **state)
{
    (void)state;
    struct carry carry;
    AUTO_BUF struct buf got = BUF_INIT;
    struct err err = ERR_INIT;
    mount_world("");
    must(mkdir("at/lib", 0755) == 0, "lib");
    put("at/src/k1/own", "before");
    AUTO_FD int from = open("at/src", O_RDONLY | O_DIRECTORY);
    AUTO_FD int to = open("at/lib", O_RDONLY | O_DIRECTORY);
    fill(&carry, to, from);
    put("at/src/k0/f1", "written");
    put("at/src/k1/own", "after");
    put("at/src/k0/new", "new");
    must(mkdir("at/src/more", 0755) == 0, "more");
    put("at/src/more/new", "new");
    assert_int_equal(carry_drain(&carry, to, from), 0);
    assert_true(fs_read_file(&got, AT_FDCWD, "at/lib/k0/f1", FILE_BYTES, &err));
    assert_string_equal(got.ptr, "written");
    buf_clear(&got);
    assert_true(fs_read_file(&got, AT_FDCWD, "at/lib/k1/own", FILE_BYTES, &err));
    assert_string_equal(got.ptr, "after");
    assert_true(exists("at/lib/k0/new") && exists("at/lib/more/new"));
    assert_int_equal(rmdir("at/src"), 0);
    unmount_world();
}

static ino_t number_of(const char *path)
{
    struct stat st;
    must(stat(path, &st) == 0, path);
    return st.st_ino;
}

/* It is linked, and the overlay gives each name a number of its own: the new name's would be the
 * old one's if it had been away for a moment, in which a killed mover would leave it out. */
static void a_changed_file_is_never_without_its_new_name(void **state)
{
    (void)state;
    struct carry carry;
    AUTO_BUF struct buf got = BUF_INIT;
    struct err err = ERR_INIT;
    mount_world("");
    must(mkdir("at/lib", 0755) == 0, "lib");
    put("at/src/k0/f1", "changed");
    AUTO_FD int from = open("at/src", O_RDONLY | O_DIRECTORY);
    AUTO_FD int to = open("at/lib", O_RDONLY | O_DIRECTORY);
    fill(&carry, to, from);
    ino_t number = number_of("at/lib/k0/f1");
    assert_int_equal(carry_drain(&carry, to, from), 0);
    assert_int_equal(number_of("at/lib/k0/f1"), number);
    assert_true(fs_read_file(&got, AT_FDCWD, "at/lib/k0/f1", FILE_BYTES, &err));
    assert_string_equal(got.ptr, "changed");
    assert_int_equal(rmdir("at/src"), 0);
    unmount_world();
}

/* Where the kernel has the word, nothing was done. */
static void assert_left(const char *from, const char *to, unsigned flags)
{
    assert_int_equal(move(from, to, flags), BOX_MOVE_LEFT);
    assert_true(is_whole("src"));
    assert_false(exists("at/" PATHS_MOVING));
}

static void what_cannot_be_done_is_left_to_the_kernel(void **state)
{
    (void)state;
    mount_world("");
    must(mkdir("at/lib", 0755) == 0, "lib");
    assert_left("src", "lib", EXCHANGE);
    assert_left("src", "lib", RENAME_NOREPLACE);
    assert_left("src", "src/k0/in", 0);
    assert_left("src", "absent/lib", 0);
    assert_left("absent", "lib", 0);
    assert_left("src", "../lib", 0);
    put("at/lib/in", "the way");
    assert_int_equal(move("src", "lib", 0), ENOTEMPTY);
    assert_true(is_whole("src"));
    unmount_world();
}

static void nobody_loses_the_ground_under_its_feet(void **state)
{
    (void)state;
    mount_world("");
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir("at/src/k1") != 0)
            _exit(1);
        raise(SIGSTOP);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(move("src", "lib", 0), EBUSY);
    assert_int_equal(move("src/k1", "k1", 0), EBUSY);
    assert_true(is_whole("src") && !exists("at/lib") && !exists("at/" PATHS_MOVING));
    assert_int_equal(move("src/k0", "k0", 0), 0); /* it stands beside that one */
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_int_equal(move("src", "lib", 0), 0);
    unmount_world();
}

static void a_mount_in_it_keeps_it_where_it_is(void **state)
{
    (void)state;
    mount_world("");
    must(mount("at/src/k2", "at/src/k2", NULL, MS_BIND, NULL) == 0, "bind");
    assert_int_equal(move("src", "lib", 0), EBUSY);
    assert_true(is_whole("src"));
    assert_false(exists("at/lib"));
    must(umount("at/src/k2") == 0, "umount");
    assert_int_equal(move("src", "lib", 0), 0);
    unmount_world();
}

static void one_that_is_too_deep_stays(void **state)
{
    (void)state;
    mount_world("");
    AUTO_BUF struct buf path = BUF_INIT;
    buf_adds(&path, "at/src");
    for (int i = 0; i < DEEP; i++) {
        buf_adds(&path, "/d");
        must(mkdir(path.ptr, 0755) == 0, "deep");
    }
    assert_left("src", "lib", 0);
    unmount_world();
}

static void write_own(const char *path, const char *text)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
}

static int enter_namespaces(void **state)
{
    (void)state;
    char map[64];
    unsigned uid = getuid(), gid = getgid();
    top = xstrdup("/tmp/headgate-move.XXXXXX");
    must(mkdtemp(top) != NULL, top);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return -1;
    write_own("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", gid, gid);
    write_own("/proc/self/gid_map", map);
    snprintf(map, sizeof map, "%u %u 1", uid, uid);
    write_own("/proc/self/uid_map", map);
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int remove_top(void **state)
{
    (void)state;
    AUTO_FREE char *world = xasprintf("%s/world", top);
    int left = chdir("/") == 0 && rmdir(world) == 0 && rmdir(top) == 0 ? 0 : -1;
    free(top);
    return left;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_takes_its_new_name),
        cmocka_unit_test(no_room_for_inodes_leaves_it_as_it_was),
        cmocka_unit_test(no_room_for_bytes_leaves_it_as_it_was),
        cmocka_unit_test(a_killed_one_leaves_either_whole),
        cmocka_unit_test(what_is_written_meanwhile_is_not_lost),
        cmocka_unit_test(a_changed_file_is_never_without_its_new_name),
        cmocka_unit_test(what_cannot_be_done_is_left_to_the_kernel),
        cmocka_unit_test(nobody_loses_the_ground_under_its_feet),
        cmocka_unit_test(a_mount_in_it_keeps_it_where_it_is),
        cmocka_unit_test(one_that_is_too_deep_stays),
    };
    return cmocka_run_group_tests(tests, enter_namespaces, remove_top);
}
