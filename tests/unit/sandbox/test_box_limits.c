#include "tests/unit/sandbox/boxtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

static void get_report(struct layer_report *ret, struct box_spec *spec)
{
    struct err err = ERR_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const struct proc_cmd cmd = {.timeout_ms = BOXTEST_TIMEOUT_MS};
    strv_release(&spec->argv);
    strv_push(&spec->argv, "true");
    if (!box_run(&result, ret, boxtest()->launcher, spec, &cmd, &err))
        fail_msg("%s", err.text);
}

static void processes_are_limited(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    boxtest_expect(&spec, "children:100", "ok");
    spec.limits.pids = 50;
    boxtest_expect(&spec, "children:100", "EAGAIN");
    boxtest_expect(&spec, "children:40", "ok");
    spec.without = 1U << LAYER_LIMITS;
    boxtest_expect(&spec, "children:100", "ok");
}

static void how_limits_are_kept_is_told(void **state)
{
    (void)state;
    struct layer_report report;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.limits.pids = 50;
    spec.limits.memory_bytes = 1 << 30;
    get_report(&report, &spec);
    const struct layer_status *limits = &report.layer[LAYER_LIMITS];
    if (limits->state == LAYER_ACTIVE) {
        assert_non_null(strstr(limits->mechanism, "cgroup v"));
        assert_string_equal(limits->reason, "");
    } else {
        assert_int_equal(limits->state, LAYER_DEGRADED);
        assert_non_null(strstr(limits->mechanism, "RLIMIT_NPROC"));
        assert_non_null(strstr(limits->reason, "delegated"));
    }
}

/* "ok", or "SIGKILL" whether the kernel ended the process that holds so much or pid 1 the box. */
static void expect_held(struct box_spec *spec, const char *word, const char *expected)
{
    struct err err = ERR_INIT;
    struct layer_report report;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const struct proc_cmd cmd = {.timeout_ms = BOXTEST_TIMEOUT_MS};
    strv_release(&spec->argv);
    const char *const words[] = {BOXTEST_PROBE, "--probe", word};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(&spec->argv, words[i]);
    if (!box_run(&result, &report, boxtest()->launcher, spec, &cmd, &err))
        fail_msg("%s", err.text);
    buf_rtrim(&result.out);
    bool is_ended = result.status == 137 && result.out.len == 0;
    if (is_ended)
        assert_non_null(strstr(result.errout.ptr, "MiB of memory"));
    assert_string_equal(is_ended ? "SIGKILL" : result.out.ptr, expected);
}

static void memory_is_limited(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.limits.memory_bytes = 64 << 20;
    expect_held(&spec, "memory:16", "ok");
    expect_held(&spec, "memory:200", "SIGKILL");
    spec.limits.memory_bytes = 0;
    expect_held(&spec, "memory:200", "ok");
}

static void inotify_is_left_for_the_person(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    boxtest_expect(&spec, "inotify:8", "ok");
    boxtest_expect(&spec, "inotify:64", "EMFILE");
    spec.without = 1U << LAYER_LIMITS;
    boxtest_expect(&spec, "inotify:64", "ok");
}

static void no_group_is_left_behind(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct boxtest_live box;
    AUTO_STRV struct strv groups = STRV_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.limits.pids = 50;
    strv_push(&spec.argv, "true");
    boxtest_start(&box, &spec, NULL);
    boxtest_await(&box, BOX_MSG_LAYERS);
    strv_push_all(&groups, strv_array(&box.child.groups));
    bool is_grouped = box.last.report.layer[LAYER_LIMITS].state == LAYER_ACTIVE;
    for (size_t i = 0; i < groups.n; i++)
        assert_true(fs_is_dir(groups.v[i]) == is_grouped);
    assert_true(box_go(box.child.ctl_fd, &err));
    assert_int_equal(boxtest_reap(&box), 0);
    for (size_t i = 0; i < groups.n; i++)
        assert_false(fs_exists(groups.v[i]));
}

static void temporary_files_are_limited(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.limits.tmp_bytes = 4 << 20;
    static const char fill[] = "head -c 5M /dev/zero > /tmp/a 2>/dev/null";
    int status;
    AUTO_FREE char *full = boxtest_sh(&status, &spec, fill);
    assert_int_not_equal(status, 0);
    AUTO_FREE char *room = boxtest_sh(NULL, &spec, "df -k --output=size /tmp | tail -1");
    assert_int_equal(atoi(room), 4096);
    spec.limits.tmp_bytes = 0;
    AUTO_FREE char *enough = boxtest_sh(&status, &spec, fill);
    assert_int_equal(status, 0);
}

static void open_files_are_limited(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    AUTO_FREE char *own = boxtest_sh(NULL, &spec, "ulimit -n; ulimit -Hn");
    AUTO_FREE char *expected = NULL;
    {
        FILE *sh = popen("ulimit -n; ulimit -Hn", "r");
        char text[64];
        size_t len = fread(text, 1, sizeof(text) - 1, sh);
        pclose(sh);
        expected = xstrndup(text, len - 1);
    }
    assert_string_equal(own, expected);
    spec.limits.open_files = 77;
    AUTO_FREE char *given = boxtest_sh(NULL, &spec, "ulimit -n; ulimit -Hn");
    assert_string_equal(given, "77\n77");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_are_limited),   cmocka_unit_test(how_limits_are_kept_is_told),
        cmocka_unit_test(memory_is_limited),       cmocka_unit_test(inotify_is_left_for_the_person),
        cmocka_unit_test(no_group_is_left_behind), cmocka_unit_test(temporary_files_are_limited),
        cmocka_unit_test(open_files_are_limited)};
    return boxtest_main("limits", tests, ARRAY_LEN(tests));
}
