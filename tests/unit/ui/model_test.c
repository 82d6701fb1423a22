#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "ui/model.h"

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *value = NULL;
    if (!jx_parse(&value, text, strlen(text), &err))
        fail_msg("%s: %s", text, err.text);
    return value;
}

static const char snapshot[] =
    "{\"runs\":[{\"id\":2,\"agent\":\"command\"},{\"id\":3,\"agent\":\"claude\"}],"
    "\"attempts\":[{\"id\":\"2.1\",\"state\":\"done\",\"outcome\":\"ok\"},{\"id\":\"3.10\","
    "\"state\":\"queued\"},"
    "{\"id\":\"3.2\",\"state\":\"running\"},{\"id\":\"bogus\"},{\"id\":\"3.\"},{\"id\":\"3.1x\"}],"
    "\"calls\":[{\"id\":\"c7\",\"attempt\":\"3.2\",\"state\":\"pending\",\"asked_ms\":70},"
    "{\"id\":\"c6\",\"attempt\":\"3.2\",\"state\":\"pending\",\"asked_ms\":60,\"args\":{"
    "\"command\":\"ls\"}}]}";

/* "runs 3 2; attempts 3.2 3.10 2.1; calls c6 c7" */
static void describe(struct buf *out, const struct model *m)
{
    buf_clear(out);
    for (size_t i = 0; i < m->n_runs; i++)
        buf_addf(out, "%" PRId64 " ", m->runs[i].id);
    buf_adds(out, "| ");
    for (size_t i = 0; i < m->n_attempts; i++)
        buf_addf(out, "%s:%s ", m->attempts[i].id, m->attempts[i].state);
    buf_adds(out, "|");
    for (size_t i = 0; i < m->n_calls; i++)
        buf_addf(out, " %s", m->calls[i].id);
}

static void applies_events(void **state)
{
    (void)state;
    static const struct {
        const char *event, *expected;
        unsigned change;
    } steps[] = {
        {"{\"e\":\"unknown\"}", "3 2 | 3.2:running 3.10:queued 2.1:done | c6 c7", MODEL_SAME},
        {"{}", "3 2 | 3.2:running 3.10:queued 2.1:done | c6 c7", MODEL_SAME},
        {"{\"e\":\"run\",\"run\":{\"id\":4}}", "4 3 2 | 3.2:running 3.10:queued 2.1:done | c6 c7",
         MODEL_CHANGED},
        {"{\"e\":\"attempt\",\"attempt\":{\"id\":\"4.1\",\"state\":\"queued\"}}",
         "4 3 2 | 4.1:queued 3.2:running 3.10:queued 2.1:done | c6 c7", MODEL_CHANGED},
        {"{\"e\":\"attempt\",\"attempt\":{\"id\":\"3.2\",\"state\":\"stopping\"}}",
         "4 3 2 | 4.1:queued 3.2:stopping 3.10:queued 2.1:done | c6 c7", MODEL_CHANGED},
        {"{\"e\":\"attempt\",\"attempt\":{\"id\":\"../../x\"}}",
         "4 3 2 | 4.1:queued 3.2:stopping 3.10:queued 2.1:done | c6 c7", MODEL_CHANGED},
        {"{\"e\":\"call\",\"call\":{\"id\":\"c8\",\"attempt\":\"4.1\",\"state\":\"pending\","
         "\"asked_ms\":65}}",
         "4 3 2 | 4.1:queued 3.2:stopping 3.10:queued 2.1:done | c6 c8 c7",
         MODEL_CHANGED | MODEL_NEW_CALL},
        {"{\"e\":\"call\",\"call\":{\"id\":\"c8\",\"attempt\":\"4.1\",\"state\":\"pending\","
         "\"asked_ms\":65}}",
         "4 3 2 | 4.1:queued 3.2:stopping 3.10:queued 2.1:done | c6 c8 c7", MODEL_CHANGED},
        {"{\"e\":\"call\",\"call\":{\"id\":\"c6\",\"state\":\"denied\",\"decided_by\":\"ana\","
         "\"why\":\"person\"}}",
         "4 3 2 | 4.1:queued 3.2:stopping 3.10:queued 2.1:done | c8 c7", MODEL_CHANGED},
        {"{\"e\":\"call\",\"call\":{\"id\":\"c99\",\"state\":\"expired\"}}",
         "4 3 2 | 4.1:queued 3.2:stopping 3.10:queued 2.1:done | c8 c7", MODEL_CHANGED},
        {"{\"e\":\"gone\",\"attempt\":\"3.2\"}", "4 3 2 | 4.1:queued 3.10:queued 2.1:done | c8",
         MODEL_CHANGED},
        {"{\"e\":\"gone\",\"attempt\":\"3.2\"}", "4 3 2 | 4.1:queued 3.10:queued 2.1:done | c8",
         MODEL_CHANGED},
    };
    struct model m = MODEL_INIT;
    AUTO_BUF struct buf is = BUF_INIT;
    AUTO_JSON json_t *first = parse(snapshot);
    assert_int_equal(model_load(&m, first), MODEL_CHANGED | MODEL_NEW_CALL);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        AUTO_JSON json_t *event = parse(steps[i].event);
        uint64_t version = m.version;
        assert_int_equal(model_apply(&m, event), steps[i].change);
        assert_int_equal(m.version != version, steps[i].change != MODEL_SAME);
        describe(&is, &m);
        assert_string_equal(is.ptr, steps[i].expected);
    }
    assert_string_equal(model_settled(&m, "c6")->decided_by, "ana");
    assert_null(model_settled(&m, "c8"));
    model_release(&m);
}

static void keeps_the_last_line(void **state)
{
    (void)state;
    struct model m = MODEL_INIT;
    AUTO_JSON json_t *first = parse(snapshot),
                     *event = parse("{\"e\":\"output\",\"attempt\":\"3.2\",\"line\":\"hi\"}"),
                     *other = parse("{\"e\":\"output\",\"attempt\":\"9.9\",\"line\":\"hi\"}");
    model_load(&m, first);
    model_apply(&m, event);
    model_apply(&m, other);
    assert_string_equal(model_attempt(&m, "3.2")->last_line, "hi");
    assert_string_equal(model_attempt(&m, "3.10")->last_line, "");
    model_release(&m);
}

static void tells_new_calls_from_known_ones(void **state)
{
    (void)state;
    struct model m = MODEL_INIT;
    AUTO_JSON json_t *first = parse(snapshot);
    model_load(&m, first);
    model_set_layers(&m, 3, "all 12 active");
    assert_int_equal(model_load(&m, first), MODEL_CHANGED); /* after a reconnect: no bell */
    assert_string_equal(model_run(&m, 3)->layers, "all 12 active");
    assert_int_equal(m.n_calls, 2);
    model_release(&m);
}

static void bounds_arguments(void **state)
{
    (void)state;
    struct model m = MODEL_INIT;
    AUTO_BUF struct buf big = BUF_INIT;
    for (int i = 0; i < 1024 * 1024 / 16; i++)
        buf_adds(&big, "0123456789abcdef");
    size_t kept = 0;
    for (int i = 0; i < 80; i++) {
        AUTO_JSON json_t *event = json_pack(
            "{s:s, s:{s:o, s:s, s:s, s:{s:s}}}", "e", "call", "call", "id", json_sprintf("c%d", i),
            "state", "pending", "attempt", "3.2", "args", "content", big.ptr);
        model_apply(&m, event);
    }
    for (size_t i = 0; i < m.n_calls; i++)
        kept += m.calls[i].args != NULL;
    assert_int_equal(m.n_calls, 80); /* none is lost, but not all arguments are held */
    assert_int_equal(kept, 63);
    assert_true(m.args_bytes <= MODEL_MAX_ARGS_BYTES);
    for (int i = 0; i < 80; i++) {
        AUTO_JSON json_t *event = json_pack("{s:s, s:{s:o, s:s}}", "e", "call", "call", "id",
                                            json_sprintf("c%d", i), "state", "approved");
        model_apply(&m, event);
    }
    assert_int_equal(m.args_bytes, 0);
    model_release(&m);
}

static void counts_what_is_left_out(void **state)
{
    (void)state;
    struct model m = MODEL_INIT;
    AUTO_JSON json_t *all = json_object();
    json_t *attempts = json_array();
    for (int i = 1; i <= MODEL_MAX_ATTEMPTS + 5; i++)
        json_array_append_new(
            attempts, json_pack("{s:o, s:s}", "id", json_sprintf("1.%d", i), "state", "queued"));
    jx_set(all, "attempts", attempts);
    model_load(&m, all);
    assert_int_equal(m.n_attempts, MODEL_MAX_ATTEMPTS);
    assert_int_equal(m.left_out, 5);
    model_release(&m);
}

/* A mistyped member is an absent one. */
static void survives_wrong_types(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "1",
        "{\"e\":1}",
        "{\"e\":\"call\"}",
        "{\"e\":\"call\",\"call\":[]}",
        "{\"e\":\"attempt\",\"attempt\":\"x\"}",
        "{\"e\":\"run\",\"run\":null}",
        "{\"e\":\"output\"}",
        "{\"e\":\"gone\"}",
        "{\"e\":\"call\",\"call\":{\"id\":5,\"state\":\"pending\",\"args\":7,\"subagent\":3,"
        "\"asked_ms\":\"x\"}}",
        "{\"e\":\"attempt\",\"attempt\":{\"id\":\"1.1\",\"task\":[],\"dirty\":\"yes\",\"started_"
        "ms\":{}}}",
    };
    struct model m = MODEL_INIT;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_JSON json_t *value = parse(texts[i]);
        model_apply(&m, value);
        model_load(&m, value);
    }
    model_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applies_events),
        cmocka_unit_test(keeps_the_last_line),
        cmocka_unit_test(tells_new_calls_from_known_ones),
        cmocka_unit_test(bounds_arguments),
        cmocka_unit_test(counts_what_is_left_out),
        cmocka_unit_test(survives_wrong_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
