#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/box.h"
#include "sandbox/held.h"
#include "sandbox/plan.h"

static int to_memfd(const struct buf *bytes)
{
    struct err err = ERR_INIT;
    int fd = memfd_create("test-plan", MFD_CLOEXEC);
    assert_true(fd >= 0 && fs_write_fd(fd, bytes->ptr, bytes->len, &err));
    return fd;
}

static void make_plan(struct buf *plan)
{
    const struct plan_head head = {.uid = 5, .gid = 6, .flags = PLAN_PTY, .pids = 7};
    plan_begin(plan, &head);
    plan_add(plan, PLAN_FILE, 0, "/etc/x", "", NULL);
    plan_add(plan, PLAN_TREE, PLAN_WRITE, "/host", "/inside", NULL);
    plan_add(plan, PLAN_OVERLAY, 0, "a", "b", "c", "d", "e", "", NULL);
    plan_add(plan, PLAN_ARG, 0, "program", NULL);
}

static void steps_round_trip(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct plan plan;
    AUTO_BUF struct buf bytes = BUF_INIT;
    make_plan(&bytes);
    AUTO_FD int fd = to_memfd(&bytes);
    assert_true(plan_map(&plan, fd, &err));
    assert_int_equal(plan.head->uid, 5);
    assert_int_equal(plan.head->pids, 7);
    const struct plan_step *step = plan_next(&plan, NULL);
    assert_int_equal(step->kind, PLAN_FILE);
    assert_string_equal(plan_text(step, 0), "/etc/x");
    assert_string_equal(plan_text(step, 1), "");
    step = plan_next(&plan, step);
    assert_int_equal(step->flags, PLAN_WRITE);
    assert_string_equal(plan_text(step, 1), "/inside");
    step = plan_next(&plan, step);
    assert_string_equal(plan_text(step, 4), "e");
    step = plan_next(&plan, step);
    assert_ptr_equal(step, plan_find(&plan, PLAN_ARG));
    assert_null(plan_next(&plan, step));
    assert_null(plan_find(&plan, PLAN_PORT));
    plan_unmap(&plan);
}

static void refuse(const struct buf *bytes, enum err_code code)
{
    struct err err = ERR_INIT;
    struct plan plan;
    AUTO_FD int fd = to_memfd(bytes);
    assert_false(plan_map(&plan, fd, &err));
    assert_int_equal(err.code, code);
}

static void malformed_plans_are_refused(void **state)
{
    (void)state;
    AUTO_BUF struct buf bytes = BUF_INIT;
    AUTO_BUF struct buf cut = BUF_INIT;
    make_plan(&bytes);
    for (size_t len = 0; len < bytes.len; len += 8) { /* cut anywhere */
        buf_clear(&cut);
        buf_add(&cut, bytes.ptr, len);
        refuse(&cut, ERR_FORMAT);
    }
    struct plan_step step;
    const size_t first = sizeof(struct plan_head);
    const struct {
        size_t offset;
        uint32_t value;
    } damages[] = {
        {offsetof(struct plan_step, kind), PLAN_KIND_COUNT},
        {offsetof(struct plan_step, kind), PLAN_ARG},
        {offsetof(struct plan_step, size_bytes), 0},
        {offsetof(struct plan_step, size_bytes), 12},
        {offsetof(struct plan_step, size_bytes), UINT32_MAX - 7},
        {offsetof(struct plan_step, n_texts), 9},
    };
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        memcpy(&step, bytes.ptr + first, sizeof(step));
        memcpy(bytes.ptr + first + damages[i].offset, &damages[i].value, sizeof(uint32_t));
        refuse(&bytes, ERR_FORMAT);
        memcpy(bytes.ptr + first, &step, sizeof(step));
    }
    memset(bytes.ptr + first + sizeof(step), 'x', 8); /* no final zero */
    refuse(&bytes, ERR_FORMAT);
}

static void another_version_is_refused(void **state)
{
    (void)state;
    AUTO_BUF struct buf bytes = BUF_INIT;
    make_plan(&bytes);
    bytes.ptr[0] = '9';
    refuse(&bytes, ERR_CONFLICT);
}

static void good_spec(struct box_spec *spec)
{
    box_spec_init(spec);
    if (spec->uid == 0)
        spec->uid = spec->gid = 61234;
    spec->cwd = xstrdup("/");
    strv_push(&spec->argv, "true");
}

static void refuse_spec(const struct box_spec *spec, enum err_code code, const char *word)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf plan = BUF_INIT;
    assert_false(box_plan(&plan, spec, &err));
    assert_int_equal(err.code, code);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not speak of %s", err.text, word);
    assert_int_equal(plan.len, 0);
}

static void paths_mean_one_thing(void **state)
{
    (void)state;
    static const char *const wrong[] = {"relative", "",        "/a/../b",    "/a/./b", "/a//b",
                                        "/..",      "/a/b/..", "/.",         "//a",    "/srv/",
                                        "/",        "/proc",   "/proc/self", "/dev",   "/dev/pts"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_BOX_SPEC struct box_spec spec;
        good_spec(&spec);
        box_spec_bind(&spec, "/usr", wrong[i], 0);
        refuse_spec(&spec, ERR_USAGE, "path");
    }
    static const char *const fine[] = {"/srv", "/a..b/c", "/a/.b", "/.x", "/process", "/dev/shm/x"};
    for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
        struct err err = ERR_INIT;
        AUTO_BUF struct buf plan = BUF_INIT;
        AUTO_BOX_SPEC struct box_spec spec;
        good_spec(&spec);
        box_spec_bind(&spec, "/usr", fine[i], 0);
        if (!box_plan(&plan, &spec, &err))
            fail_msg("%s: %s", fine[i], err.text);
    }
}

static void specs_that_cannot_be(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    good_spec(&spec);
    strv_push(&spec.listen_ports, "0");
    refuse_spec(&spec, ERR_USAGE, "port");
    strv_release(&spec.listen_ports);
    strv_push(&spec.listen_ports, "80x");
    refuse_spec(&spec, ERR_USAGE, "port");
    strv_release(&spec.listen_ports);
    spec.without = 1U << LAYER_USER;
    refuse_spec(&spec, ERR_USAGE, "user layer");
    spec.without = 1U << LAYER_PTY;
    spec.pty = true;
    refuse_spec(&spec, ERR_USAGE, "pty");
    spec.without = 0;
    spec.overlay = (struct box_overlay){xstrdup("/usr"), xstrdup("/a:b/up"), xstrdup("/a:c/work"),
                                        xstrdup("/w"), NULL};
    refuse_spec(&spec, ERR_USAGE, "overlay");
    free(spec.overlay.inside);
    spec.overlay.inside = NULL;
    uid_t uid = spec.uid;
    spec.uid = 0;
    refuse_spec(&spec, ERR_LAYER, "never runs as root");
    spec.uid = uid;
    if (geteuid() != 0) {
        spec.uid++;
        refuse_spec(&spec, ERR_USAGE, "uid");
        spec.uid--;
    }
    strv_release(&spec.argv);
    refuse_spec(&spec, ERR_USAGE, "command");
}

static void mounts_are_found_by_their_path(void **state)
{
    static const char text[] =
        "20 1 0:5 / / ro - tmpfs tmpfs ro\n"
        "21 20 8:1 /a/b /work/with\\040space/.git ro,nosuid master:1 - ext4 /dev/sda1 rw\n"
        "22 20 8:1 /c /work rw - ext4 /dev/sda1 rw\n";
    (void)state;
    assert_true(held_is_mounted(text, "/"));
    assert_true(held_is_mounted(text, "/work"));
    assert_true(held_is_mounted(text, "/work/with space/.git"));
    assert_false(held_is_mounted(text, "/work/with\\040space/.git"));
    assert_false(held_is_mounted(text, "/work/with space"));
    assert_false(held_is_mounted(text, "/c"));
    assert_false(held_is_mounted(text, ""));
    assert_false(held_is_mounted("", "/"));
}

/* Only what lies on a folder of the host that the box writes, and what is covered there. */
static void what_can_go_is_found_in_the_plan(void **state)
{
    (void)state;
    AUTO_BUF struct buf plan = BUF_INIT;
    struct held held = HELD_INIT;
    const struct plan_head head = {.uid = 5, .gid = 6};
    plan_begin(&plan, &head);
    plan_add(&plan, PLAN_TREE, PLAN_WRITE, "/host/work", "/work", NULL);
    plan_add(&plan, PLAN_TREE, 0, "/state/gitfile", "/work/.git", NULL);
    plan_add(&plan, PLAN_TREE, 0, "/state/gitfile", "/run/headgate/gitfile", NULL);
    plan_add(&plan, PLAN_TREE, 0, "/host/work/conf", "/work/conf", NULL);
    plan_add(&plan, PLAN_TREE, 0, "/host/tools", "/tools", NULL);
    plan_add(&plan, PLAN_OVERLAY, 0, "/l", "/p", "u", "w", "/tree", "", NULL);
    plan_add(&plan, PLAN_TREE, 0, "/state/gitfile", "/tree/.git", NULL);
    plan_add(&plan, PLAN_FREEZE, 0, "/work/sub/.vscode", NULL);
    plan_add(&plan, PLAN_FREEZE, 0, "/tree/.vscode", NULL);
    plan_add(&plan, PLAN_FREEZE, 0, "/tools/x", NULL);
    plan_add(&plan, PLAN_MASK, 0, "/tools/secret", NULL);
    plan_add(&plan, PLAN_MASK, 0, "/etc/none", NULL);
    held_plan(&held, &plan, "/launcher");
    assert_int_equal(held.n, 4);
    const struct {
        enum held_kind kind;
        const char *path, *top, *below, *source;
    } expected[] = {
        {HELD_SHOWN, "/work/.git", "/host/work", ".git", "/run/headgate/gitfile"},
        {HELD_FROZEN, "/work/conf", "/host/work", "conf", NULL},
        {HELD_FROZEN, "/work/sub/.vscode", "/host/work", "sub/.vscode", NULL},
        {HELD_COVERED, "/tools/secret", "/host/tools", "secret", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        assert_int_equal(held.v[i].kind, expected[i].kind);
        assert_string_equal(held.v[i].path, expected[i].path);
        assert_string_equal(held.v[i].top, expected[i].top);
        assert_string_equal(held.v[i].below, expected[i].below);
        assert_string_equal(held.v[i].source ? held.v[i].source : "",
                            expected[i].source ? expected[i].source : "");
    }
    held_release(&held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_round_trip),
                                       cmocka_unit_test(malformed_plans_are_refused),
                                       cmocka_unit_test(another_version_is_refused),
                                       cmocka_unit_test(paths_mean_one_thing),
                                       cmocka_unit_test(mounts_are_found_by_their_path),
                                       cmocka_unit_test(what_can_go_is_found_in_the_plan),
                                       cmocka_unit_test(specs_that_cannot_be)};
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
