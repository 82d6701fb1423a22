#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"
#include "sandbox/layer.h"

static void names_round_trip(void **state)
{
    (void)state;
    AUTO_BUF struct buf all = BUF_INIT;
    for (unsigned id = 0; id < LAYER_COUNT; id++) {
        struct err err = ERR_INIT;
        unsigned mask = 0;
        assert_true(layer_parse_list(&mask, layer_name(id), &err));
        assert_int_equal(mask, 1U << id);
        buf_addf(&all, "%s%s", id ? "," : "", layer_name(id));
    }
    struct err err = ERR_INIT;
    unsigned mask = 0;
    assert_true(layer_parse_list(&mask, all.ptr, &err));
    assert_int_equal(mask, (1U << LAYER_COUNT) - 1);
}

static void unknown_words_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "netz", "net,", ",net", "net,,pid", "NET", "net pid"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = ERR_INIT;
        unsigned mask = 42;
        assert_false(layer_parse_list(&mask, wrong[i], &err));
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.text, "user, mount, pid"));
        assert_int_equal(mask, 42);
    }
}

static void set(struct layer_report *r, enum layer_id id, enum layer_state state,
                const char *reason)
{
    r->layer[id].state = state;
    snprintf(r->layer[id].reason, sizeof(r->layer[id].reason), "%s", reason);
}

static void the_summary_names_every_layer(void **state)
{
    (void)state;
    struct layer_report report;
    AUTO_BUF struct buf line = BUF_INIT;
    memset(&report, 0, sizeof(report));
    for (unsigned id = 0; id < LAYER_COUNT; id++)
        set(&report, id, LAYER_ACTIVE, "");
    layer_summary(&line, &report);
    assert_string_equal(
        line.ptr, "user mount pid ipc uts net cgroup limits caps landlock seccomp pty active");
    set(&report, LAYER_LIMITS, LAYER_DEGRADED, "no cgroup");
    set(&report, LAYER_LANDLOCK, LAYER_UNAVAILABLE, "");
    buf_clear(&line);
    buf_adds(&line, "layers: ");
    layer_summary(&line, &report);
    assert_string_equal(line.ptr,
                        "layers: user mount pid ipc uts net cgroup caps seccomp pty active; "
                        "limits degraded (no cgroup); landlock unavailable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_round_trip),
                                       cmocka_unit_test(unknown_words_are_refused),
                                       cmocka_unit_test(the_summary_names_every_layer)};
    return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}
