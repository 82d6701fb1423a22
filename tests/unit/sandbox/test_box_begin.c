#include "tests/unit/sandbox/boxtest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/mem.h"

static void start(struct box_launcher *ret)
{
    struct err err = ERR_INIT;
    AUTO_FD int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int std_fds[3] = {null_fd, null_fd, null_fd};
    if (!box_launcher_start(ret, boxtest()->launcher, std_fds, &err))
        fail_msg("%s", err.text);
}

static void plan_for(struct buf *ret, struct box_spec *spec)
{
    struct err err = ERR_INIT;
    strv_push(&spec->argv, "/bin/true");
    if (!box_plan(ret, spec, &err))
        fail_msg("%s", err.text);
}

/* Root has to open what the box shows before it gives itself up, which needs the plan. */
static bool begins(struct box_launcher *launcher)
{
    bool has_begun = box_launcher_begin(launcher);
    assert_int_equal(has_begun, geteuid() != 0);
    return has_begun;
}

static void the_plan_may_come_after_the_namespaces(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_BUF struct buf plan = BUF_INIT;
    struct boxtest_live box = {0};
    struct box_launcher launcher = BOX_LAUNCHER_INIT;
    struct err err = ERR_INIT;
    boxtest_spec(&spec);
    start(&launcher);
    begins(&launcher);
    plan_for(&plan, &spec);
    assert_true(box_launcher_plan(&box.child, &launcher, &plan, &err));
    boxtest_await(&box, BOX_MSG_LAYERS);
    for (unsigned id = 0; id < LAYER_COUNT; id++)
        assert_string_equal(layer_state_name(box.last.report.layer[id].state), "active");
    assert_true(box_go(box.child.ctl_fd, &err));
    boxtest_await(&box, BOX_MSG_EXITED);
    assert_int_equal(box.last.status, 0);
    boxtest_await(&box, BOX_MSG_ENDED);
    assert_int_equal(boxtest_reap(&box), 0);
}

static void without_a_plan_nothing_is_left(void **state)
{
    (void)state;
    struct box_launcher launcher = BOX_LAUNCHER_INIT;
    start(&launcher);
    begins(&launcher);
    box_launcher_release(&launcher);
    assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void another_plan_than_was_begun_is_refused(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_BUF struct buf plan = BUF_INIT;
    struct boxtest_live box = {0};
    struct box_launcher launcher = BOX_LAUNCHER_INIT;
    struct err err = ERR_INIT;
    boxtest_spec(&spec);
    spec.without = 1U << LAYER_NET;
    plan_for(&plan, &spec);
    start(&launcher);
    bool has_begun = begins(&launcher);
    assert_true(box_launcher_plan(&box.child, &launcher, &plan, &err));
    boxtest_await(&box, has_begun ? BOX_MSG_FAILED : BOX_MSG_LAYERS);
    if (has_begun)
        assert_non_null(strstr(box.last.error.text, "may come first"));
    else
        assert_true(box_go(box.child.ctl_fd, &err));
    boxtest_reap(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_may_come_after_the_namespaces),
        cmocka_unit_test(without_a_plan_nothing_is_left),
        cmocka_unit_test(another_plan_than_was_begun_is_refused),
    };
    return boxtest_main("box begin", tests, ARRAY_LEN(tests));
}
