/* What a terminal is sent when a call waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runner/base/alert.h"
#include "runner/base/mem.h"

static void knows_terminals(void **state)
{
    (void)state;
    static const struct {
        const char *term, *program;
        bool is_multiplexed;
        enum alert_osc want;
    } rows[] = {
        {"xterm-256color", NULL, false, ALERT_OSC_OFF},
        {"xterm-256color", "iTerm.app", false, ALERT_OSC_9},
        {"xterm-256color", "WezTerm", false, ALERT_OSC_777},
        {"xterm-256color", "WezTerm", true, ALERT_OSC_OFF},
        {"foot", NULL, false, ALERT_OSC_777},
        {"foot-extra", NULL, false, ALERT_OSC_777},
        {"xterm-kitty", NULL, false, ALERT_OSC_9},
        {"linux", NULL, false, ALERT_OSC_OFF},
        {NULL, NULL, false, ALERT_OSC_OFF},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (alert_osc_of(rows[i].term, rows[i].program, rows[i].is_multiplexed) != rows[i].want)
            fail_msg("row %zu", i);
}

static void writes_the_bytes(void **state)
{
    (void)state;
    static const struct {
        struct alert alert;
        size_t n;
        const char *want;
    } rows[] = {
        {{.bell = true}, 1, "\a"},
        {{.bell = false}, 1, ""},
        {{.bell = true, .osc = ALERT_OSC_9}, 1, "\033]9;Headgate: 1 call waits for you\a\a"},
        {{.osc = ALERT_OSC_777}, 3, "\033]777;notify;Headgate;3 calls wait for you\a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        alert_add(&out, &rows[i].alert, rows[i].n);
        assert_string_equal(out.ptr, rows[i].want);
    }
}

static void obeys_the_configuration(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        struct alert want;
    } rows[] = {
        {"[ui]\n\tbell = false\n\tosc = 777\n", true, {.bell = false, .osc = ALERT_OSC_777}},
        {"[ui]\n\tosc = 9\n", true, {.bell = true, .osc = ALERT_OSC_9}},
        {"[ui]\n\tosc = off\n", true, {.bell = true, .osc = ALERT_OSC_OFF}},
        {"[ui]\n\tosc = loud\n", false, {.bell = false}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_CONFIG struct config *config = NULL;
        struct err err = ERR_INIT;
        struct alert got = {0};
        assert_true(config_parse(&config, rows[i].text, strlen(rows[i].text), "test", &err));
        assert_int_equal(alert_load(&got, config, &err), rows[i].ok);
        assert_int_equal(got.bell, rows[i].want.bell);
        assert_int_equal(got.osc, rows[i].want.osc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_terminals),
        cmocka_unit_test(writes_the_bytes),
        cmocka_unit_test(obeys_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
