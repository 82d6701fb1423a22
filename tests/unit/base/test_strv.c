#include "tests/unit/base/scratch.h"

#include "runner/base/strv.h"

/* The parts joined by '|'. */
static char *joined(const struct strv *s)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < s->n; i++)
        buf_addf(&text, "%s%s", i ? "|" : "", s->v[i]);
    return buf_steal(&text);
}

static void empty_is_an_array(void **state)
{
    (void)state;
    AUTO_STRV struct strv s = STRV_INIT;
    assert_null(strv_array(&s)[0]);
    assert_false(strv_has(&s, "x"));
    strv_env_set(&s, "A", NULL);
    assert_int_equal(s.n, 0);
}

static void grows_and_stays_terminated(void **state)
{
    (void)state;
    AUTO_STRV struct strv s = STRV_INIT;
    for (int i = 0; i < 100; i++) {
        strv_pushf(&s, "%d", i);
        assert_null(s.v[s.n]);
    }
    assert_int_equal(s.n, 100);
    assert_string_equal(s.v[99], "99");
    AUTO_STRV struct strv copy = STRV_INIT;
    strv_push_all(&copy, strv_array(&s));
    assert_int_equal(copy.n, 100);
    assert_ptr_not_equal(copy.v[0], s.v[0]);
    strv_push_n(&copy, "abcdef", 3);
    assert_true(strv_has(&copy, "abc"));
    assert_false(strv_has(&copy, "abcdef"));
}

static void splits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool keep_empty;
        size_t n;
        const char *parts;
    } cases[] = {
        {"a:b:c", true, 3, "a|b|c"}, {"", true, 1, ""},
        {"", false, 0, ""},          {":", true, 2, "|"},
        {":", false, 0, ""},         {"a::b:", true, 4, "a||b|"},
        {"a::b:", false, 2, "a|b"},  {"single", false, 1, "single"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_STRV struct strv s = STRV_INIT;
        strv_split(&s, cases[i].text, ':', cases[i].keep_empty);
        AUTO_FREE char *parts = joined(&s);
        assert_int_equal(s.n, cases[i].n);
        assert_string_equal(parts, cases[i].parts);
    }
}

static void environment_has_one_of_each(void **state)
{
    (void)state;
    AUTO_STRV struct strv env = STRV_INIT;
    strv_push_all(&env, (char *const[]){"A=1", "AB=2", "A=3", "EMPTY=", NULL});
    assert_string_equal(strv_env_get(&env, "A"), "1");
    assert_string_equal(strv_env_get(&env, "AB"), "2");
    assert_string_equal(strv_env_get(&env, "EMPTY"), "");
    assert_null(strv_env_get(&env, "B"));
    strv_env_set(&env, "A", "4");
    strv_env_set(&env, "NEW", strv_env_get(&env, "AB")); /* a value of the vector itself */
    strv_env_set(&env, "AB", strv_env_get(&env, "AB"));
    AUTO_FREE char *set = joined(&env);
    assert_string_equal(set, "A=4|AB=2|EMPTY=|NEW=2");
    strv_env_set(&env, "A", NULL);
    strv_env_set(&env, "NEW", NULL);
    AUTO_FREE char *unset = joined(&env);
    assert_string_equal(unset, "AB=2|EMPTY=");
    assert_null(env.v[env.n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_an_array),
        cmocka_unit_test(grows_and_stays_terminated),
        cmocka_unit_test(splits),
        cmocka_unit_test(environment_has_one_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
