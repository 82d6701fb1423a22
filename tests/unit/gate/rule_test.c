/* The grammar of rules. What rules do is in policy_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gate/rule.h"
#include "runner/base/mem.h"

/* Text and its canonical form; NULL: the same. */
static const struct {
    const char *text, *canonical;
} good[] = {
    {"allow command git status", NULL},
    {"  allow   command  git   status ", "allow command git status"},
    {"allow exactly make test", NULL},
    {"deny path .github/", NULL},
    {"ask host *.example.com:443", NULL},
    {"allow tool Read", NULL},
    {"deny exec docker", NULL},
    {"deny exec /usr/.bin/..docker", NULL},
    {"allow command npm test for claude", NULL},
    {"allow command npm test for claude in run 3", NULL},
    {"allow command npm test for claude/reviewer in run 3", NULL},
    {"allow command npm test for */reviewer", NULL},
    {"allow command npm test for 'claude/code reviewer'", NULL},
    {"allow command npm test for *", "allow command npm test"},
    {"allow command npm test in attempt 3.2", NULL},
    {"allow command npm test in repo", NULL},
    {"allow command npm test in repo /home/u/p/.git", NULL},
    {"allow command npm test in repo '/home/u/my p/.git'", NULL},
    {"allow command npm test in always", "allow command npm test"},
    {"allow command git for-each-ref", NULL},
    {"allow command echo 'for' claude", NULL},
    {"allow command echo 'in' repo", NULL},
    {"allow command echo 'a b'", NULL},
    {"allow command echo \"a 'b'\"", "allow command echo 'a '\\''b'\\'''"},
    {"allow command echo a\\ b", "allow command echo 'a b'"},
    {"allow command echo \"a\\\"b\"", "allow command echo 'a\"b'"},
    {"allow command echo ''", NULL},
    {"allow path src/über", NULL},
};

static bool same(const struct rule *a, const struct rule *b)
{
    if (a->effect != b->effect || a->what != b->what || a->scope != b->scope ||
        a->value.n != b->value.n)
        return false;
    for (size_t i = 0; i < a->value.n; i++)
        if (strcmp(a->value.v[i], b->value.v[i]) != 0)
            return false;
    bool agents = a->agent && b->agent ? strcmp(a->agent, b->agent) == 0 : a->agent == b->agent;
    bool scopes = a->scope_value && b->scope_value ? strcmp(a->scope_value, b->scope_value) == 0
                                                   : a->scope_value == b->scope_value;
    bool types = a->subagent && b->subagent ? strcmp(a->subagent, b->subagent) == 0
                                            : a->subagent == b->subagent;
    return agents && scopes && types;
}

static void reads_and_writes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        AUTO_RULE struct rule first = RULE_INIT, again = RULE_INIT;
        AUTO_BUF struct buf text = BUF_INIT;
        struct err err = ERR_INIT;
        if (!rule_parse(&first, good[i].text, &err))
            fail_msg("%s: %s", good[i].text, err.text);
        rule_text(&text, &first);
        assert_string_equal(text.ptr, good[i].canonical ? good[i].canonical : good[i].text);
        assert_true(rule_parse(&again, text.ptr, &err));
        assert_true(same(&first, &again));
        rule_release(&again);
    }
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"", "empty"},
        {"permit command ls", "permit"},
        {"allow", "command, exactly"},
        {"allow program ls", "program"},
        {"allow command", "no value"},
        {"allow command for claude", "no value"},
        {"allow command in repo", "no value"},
        {"allow command ''", "empty"},
        {"allow path a b", "'b'"},
        {"allow tool Read Write", "'Write'"},
        {"allow command ./x", "bare name"},
        {"allow exactly /usr/bin/x y", "bare name"},
        {"allow path ../x", "'..'"},
        {"allow path a/../../x", "'..'"},
        {"ask host Example.com", "host"},
        {"ask host http://x/", "host"},
        {"ask host *", "host"},
        {"allow command ls in project", "'in'"},
        {"allow command ls in run", "'in'"},
        {"allow command ls for", "'for'"},
        {"allow command ls for claude/", "empty"},
        {"allow command ls for /reviewer", "empty"},
        {"allow host example.com for claude/reviewer", "connection"},
        {"deny exec docker for */reviewer", "connection"},
        {"allow command ls in repo for claude", "'in'"},
        {"allow command ls 'x", "quote"},
        {"allow command ls a\tb", "control"},
        {"allow command ls a\nb", "control"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule r = RULE_INIT;
        struct err err = ERR_INIT;
        if (rule_parse(&r, rows[i].text, &err))
            fail_msg("%s was taken", rows[i].text);
        assert_int_equal(err.code, ERR_USAGE);
        if (!strstr(err.text, rows[i].word))
            fail_msg("%s: %s", rows[i].text, err.text);
    }
}

static void a_program_that_cannot_be_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool can_meet;
    } rows[] = {
        {"deny exec docker", true},        {"deny exec /usr/.bin/..docker", true},
        {"deny exec ./docker", false},     {"deny exec /usr/bin/../bin/docker", false},
        {"deny exec bin/docker", false},   {"deny exec /usr/./docker", false},
        {"deny exec /usr//docker", false}, {"deny exec /usr/bin/", false},
        {"deny path .github/", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_RULE struct rule r = RULE_INIT;
        struct err err = ERR_INIT;
        assert_true(rule_parse(&r, rows[i].text, &err)); /* what is kept is read */
        if (rule_can_meet(&r, &err) != rows[i].can_meet)
            fail_msg("%s: %s", rows[i].text, err.text);
    }
}

static void reads_words_of_a_shell(void **state)
{
    (void)state;
    static char *const words[] = {"allow", "command", "echo", "a b", "for",
                                  "codex", "in",      "run",  "7"};
    static char *const whole[] = {"allow command echo 'in' repo"};
    AUTO_RULE struct rule r = RULE_INIT;
    AUTO_RULE struct rule one = RULE_INIT;
    struct err err = ERR_INIT;
    assert_true(rule_parse_words(&r, words, ARRAY_LEN(words), &err));
    assert_int_equal(r.value.n, 2);
    assert_string_equal(r.value.v[1], "a b");
    assert_string_equal(r.agent, "codex");
    assert_int_equal(r.scope, RULE_RUN);
    assert_string_equal(r.scope_value, "7");
    assert_true(rule_parse_words(&one, whole, 1, &err));
    assert_int_equal(one.value.n, 3);
    struct rule none = RULE_INIT;
    assert_false(rule_parse_words(&none, words, 0, &err));
}

static void bounds_words(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT;
    buf_adds(&text, "allow command");
    for (int i = 0; i < RULE_WORDS_MAX; i++)
        buf_adds(&text, " x");
    struct rule r = RULE_INIT;
    struct err err = ERR_INIT;
    assert_false(rule_parse(&r, text.ptr, &err));
    while (text.len <= RULE_TEXT_BYTES)
        buf_addch(&text, 'y');
    assert_false(rule_parse(&r, text.ptr, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes),
        cmocka_unit_test(refuses),
        cmocka_unit_test(a_program_that_cannot_be_is_told),
        cmocka_unit_test(reads_words_of_a_shell),
        cmocka_unit_test(bounds_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
