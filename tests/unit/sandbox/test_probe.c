#include "tests/unit/sandbox/boxtest.h"

#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "sandbox/probe.h"

static void every_layer_is_proved(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct layer_report report;
    AUTO_JSON json_t *result = NULL;
    int64_t start_ms = clock_mono_ms();
    if (!probe_run(&result, &report, boxtest()->launcher, boxtest()->uid, boxtest()->gid, &err))
        fail_msg("%s", err.text);
    int64_t took_ms = clock_mono_ms() - start_ms;
    print_message("proved in %lld ms\n", (long long)took_ms);
    const json_t *layers = jx_arr(result, "layers");
    assert_int_equal(json_array_size(layers), LAYER_COUNT);
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        const json_t *layer = json_array_get(layers, i);
        const char *name = jx_str(layer, "name", ""), *proof = jx_str(layer, "proof", "");
        assert_string_equal(name, layer_name((enum layer_id)i));
        assert_string_equal(jx_str(layer, "state", ""), layer_state_name(report.layer[i].state));
        if (strcmp(jx_str(layer, "state", ""), "active") != 0 && strcmp(name, "limits") != 0)
            fail_msg("%s: %s, %s", name, proof, jx_str(layer, "reason", ""));
        /* Where the caller is at the root of every hierarchy, the cgroup layer changes nothing to
         * be seen. */
        if (!strstr(proof, "without the layer: ") && strcmp(name, "cgroup") != 0)
            fail_msg("%s: %s", name, proof);
    }
}

static void a_launcher_that_does_not_work_is_told(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct layer_report report;
    AUTO_JSON json_t *result = NULL;
    if (!probe_run(&result, &report, "/bin/true", boxtest()->uid, boxtest()->gid, &err))
        fail_msg("%s", err.text);
    const json_t *layer;
    size_t i;
    json_array_foreach(jx_arr(result, "layers"), i, layer)
    {
        assert_string_equal(jx_str(layer, "state", ""), "unavailable");
        assert_non_null(strstr(jx_str(layer, "reason", ""), "launcher"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_layer_is_proved),
                                       cmocka_unit_test(a_launcher_that_does_not_work_is_told)};
    return boxtest_main("probe", tests, ARRAY_LEN(tests));
}
