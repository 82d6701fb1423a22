#include "tests/unit/sandbox/boxtest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/escape/escape.h"

/* The suite itself: that it tells an attempt that came through, and a control that proves nothing.
 */

static void set_scene(struct escape_scene *scene)
{
    struct err err = ERR_INIT;
    if (!escape_scene_set(scene, boxtest()->launcher, boxtest()->uid, boxtest()->gid, &err))
        fail_msg("%s", err.text);
}

/* Run one row; the JSON of it. */
static json_t *run_one(struct escape_scene *scene, const struct escape_row *row, bool *ret_all)
{
    const struct escape_rows rows = {row, 1};
    const struct strv all = STRV_INIT;
    AUTO_JSON json_t *attempts = json_array();
    *ret_all = escape_run(attempts, &rows, scene, &all);
    assert_int_equal(json_array_size(attempts), 1);
    return json_incref(json_array_get(attempts, 0));
}

static void expect(const json_t *attempt, const char *result, const char *got, bool is_proven)
{
    assert_string_equal(jx_str(attempt, "result", ""), result);
    if (!strstr(jx_str(attempt, "got", ""), got))
        fail_msg("got \"%s\", not \"%s\"", jx_str(attempt, "got", ""), got);
    assert_int_equal(jx_bool(attempt, "proven", false), is_proven);
}

static void what_comes_through_is_told(void **state)
{
    (void)state;
    bool all;
    AUTO_ESCAPE_SCENE struct escape_scene scene = ESCAPE_SCENE_INIT;
    const struct escape_row held = {.id = "T01",
                                    .what = "",
                                    .word = "read:{host}/secret",
                                    .held = "ENOENT",
                                    .layer = LAYER_MOUNT,
                                    .also = ESCAPE_BIT(LAYER_LANDLOCK)};
    struct escape_row open = held;
    open.word = "read:{shown}/secret";
    set_scene(&scene);
    AUTO_JSON json_t *first = run_one(&scene, &held, &all);
    assert_true(all);
    expect(first, "contained", "ENOENT", true);
    AUTO_JSON json_t *second = run_one(&scene, &open, &all);
    assert_false(all);
    expect(second, "escaped", "ok", true);
}

static void a_control_that_is_refused_too_proves_nothing(void **state)
{
    (void)state;
    bool all;
    AUTO_ESCAPE_SCENE struct escape_scene scene = ESCAPE_SCENE_INIT;
    const struct escape_row same = {.id = "T02",
                                    .what = "",
                                    .word = "read:/headgate-none",
                                    .held = "ENOENT",
                                    .layer = LAYER_NET};
    const struct escape_row none = {.id = "T03",
                                    .what = "",
                                    .word = "read:/headgate-none",
                                    .held = "ENOENT",
                                    .layer = LAYER_NET,
                                    .control = ESCAPE_NONE,
                                    .why = "it cannot"};
    set_scene(&scene);
    AUTO_JSON json_t *first = run_one(&scene, &same, &all);
    assert_true(all);
    expect(first, "contained", "ENOENT", false);
    assert_string_equal(jx_str(first, "control", ""),
                        "not possible here: the kernel answers ENOENT by itself");
    AUTO_JSON json_t *second = run_one(&scene, &none, &all);
    expect(second, "contained", "ENOENT", false);
    assert_string_equal(jx_str(second, "control", ""), "not possible here: it cannot");
}

/* As if a box had reached it: the outcome alone says that it was held. */
static bool change_the_host(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_FREE char *path = fs_join(t->scene->host, "settings/config");
    *ret_outcome = xstrdup("EPERM");
    return t->is_control || fs_write_plain(AT_FDCWD, path, "x", 1, 0644, err);
}

static bool refuse_to_try(struct escape_try *t, char **ret_outcome, struct err *err)
{
    (void)t;
    (void)ret_outcome;
    return err_set(err, ERR_FAILED, "it could not be tried");
}

static void a_changed_file_of_the_host_is_an_escape(void **state)
{
    (void)state;
    bool all;
    AUTO_ESCAPE_SCENE struct escape_scene scene = ESCAPE_SCENE_INIT;
    const struct escape_row row = {.id = "T04",
                                   .what = "",
                                   .word = "",
                                   .held = "EPERM",
                                   .layer = LAYER_MOUNT,
                                   .stage = change_the_host};
    set_scene(&scene);
    AUTO_JSON json_t *attempt = run_one(&scene, &row, &all);
    assert_false(all);
    expect(attempt, "escaped", "EPERM, and changed config", false);
    char *changed = escape_scene_changed(&scene);
    assert_null(changed); /* made anew for the next */
}

/* As on a host that has less of the layer than the whole. */
static bool come_through_what_is_degraded(struct escape_try *t, char **ret_outcome, struct err *err)
{
    (void)err;
    struct layer_status *net = &t->scene->report.layer[LAYER_NET];
    net->state = t->is_control ? LAYER_ACTIVE : LAYER_DEGRADED;
    snprintf(net->reason, sizeof(net->reason), "for a reason");
    *ret_outcome = xstrdup("ok");
    return true;
}

static bool say_that_it_cannot(struct escape_try *t, char **ret_outcome, struct err *err)
{
    (void)t;
    (void)err;
    *ret_outcome = xstrdup(ESCAPE_UNTRIED "no such thing here");
    return true;
}

static void degraded_and_untried_are_neither_contained_nor_failures(void **state)
{
    (void)state;
    bool all;
    AUTO_ESCAPE_SCENE struct escape_scene scene = ESCAPE_SCENE_INIT;
    const struct escape_row degraded = {.id = "T06",
                                        .what = "",
                                        .word = "",
                                        .held = "EPERM",
                                        .layer = LAYER_NET,
                                        .stage = come_through_what_is_degraded};
    struct escape_row untried = degraded, walled = degraded;
    untried.stage = say_that_it_cannot;
    walled.wall = "another wall";
    set_scene(&scene);
    AUTO_JSON json_t *first = run_one(&scene, &degraded, &all);
    assert_true(all);
    expect(first, "degraded", "ok; net is degraded: for a reason", true);
    AUTO_JSON json_t *second = run_one(&scene, &untried, &all);
    assert_true(all);
    expect(second, "untried", "no such thing here", false);
    AUTO_JSON json_t *third = run_one(&scene, &walled, &all);
    assert_false(all);
    expect(third, "escaped", "ok", true);
}

static void what_could_not_be_tried_is_not_contained(void **state)
{
    (void)state;
    bool all;
    AUTO_ESCAPE_SCENE struct escape_scene scene = ESCAPE_SCENE_INIT;
    const struct escape_row row = {.id = "T05",
                                   .what = "",
                                   .word = "",
                                   .held = "EPERM",
                                   .layer = LAYER_MOUNT,
                                   .stage = refuse_to_try};
    set_scene(&scene);
    AUTO_JSON json_t *attempt = run_one(&scene, &row, &all);
    assert_false(all);
    expect(attempt, "failed", "it could not be tried", false);
}

static void ids_are_chosen_with_and_without_their_letter(void **state)
{
    (void)state;
    static const struct escape_row rows[] = {
        {.id = "N01a"}, {.id = "N01b"}, {.id = "N010"}, {.id = "X17"}};
    static const struct {
        const char *only;
        size_t n;
    } cases[] = {{"", 4},   {"N01", 2},      {"N01a", 1}, {"X17", 1},
                 {"X1", 0}, {"N01a,X17", 2}, {"n01", 0}};
    const struct escape_rows all = {rows, ARRAY_LEN(rows)};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_STRV struct strv ids = STRV_INIT;
        strv_split(&ids, cases[i].only, ',', false);
        assert_int_equal(escape_count(&all, &ids), cases[i].n);
    }
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    struct escape_scene scene = ESCAPE_SCENE_INIT;
    set_scene(&scene);
    AUTO_FREE char *dir = xstrdup(scene.dir);
    pid_t victim = scene.victim_pid;
    assert_true(fs_exists(dir));
    escape_scene_release(&scene);
    assert_false(fs_exists(dir));
    AUTO_FREE char *process = xasprintf("/proc/%d", (int)victim);
    assert_false(fs_exists(process));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_through_is_told),
        cmocka_unit_test(a_control_that_is_refused_too_proves_nothing),
        cmocka_unit_test(a_changed_file_of_the_host_is_an_escape),
        cmocka_unit_test(degraded_and_untried_are_neither_contained_nor_failures),
        cmocka_unit_test(what_could_not_be_tried_is_not_contained),
        cmocka_unit_test(ids_are_chosen_with_and_without_their_letter),
        cmocka_unit_test(nothing_is_left_behind)};
    return boxtest_main("escape", tests, ARRAY_LEN(tests));
}
