/* Which execs carry out a command: exact bytes, quotes read soundly, names that an agent makes up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "gate/exec_form.h"
#include "runner/base/buf.h"
#include "runner/base/mem.h"

/* Words are separated by '|' in both. */
static bool fits(const char *form, const char *argv, const char *command)
{
    AUTO_STRV struct strv words = STRV_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT;
    strv_split(&words, form, '|', true);
    buf_adds(&bytes, argv);
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.ptr[i] == '|')
            bytes.ptr[i] = '\0';
    const struct exec_form_call call = {command, "/w/sub"};
    return exec_form_fits(&words, bytes.ptr, bytes.len + 1, command ? &call : NULL);
}

static void the_command_itself(void **state)
{
    (void)state;
    assert_true(fits("bash|-lc|%c", "/bin/bash|-lc|make test", "make test"));
    assert_true(fits("bash|-lc|{ %c; } 2>&1", "bash|-lc|{ ls; } 2>&1", "ls"));
    assert_false(fits("bash|-lc|%c", "/bin/bash|-lc|make test", "make"));
    assert_false(fits("bash|-lc|%c", "/bin/bash|-lc|make test; id", "make test"));
    assert_false(fits("bash|-lc|%c", "/bin/bash|-c|make test", "make test"));
    assert_false(fits("bash|-lc|%c", "/bin/dash|-lc|make test", "make test"));
    assert_false(fits("bash|-lc|%c", "/bin/bash|-lc|make test|more", "make test"));
    assert_false(fits("bash|-lc|%c", "/bin/bash|-lc", "make test"));
    assert_false(fits("bash|-lc|%c", "/bin/bash|-lc|make test", NULL));
}

static void one_word_in_quotes(void **state)
{
    (void)state;
    const char *form = "bash|-c|eval %q < /dev/null && pwd -P >/tmp/c-%i-cwd";
    static const struct {
        const char *word, *command;
        bool fits;
    } cases[] = {
        {"'make test'", "make test", true},
        {"make", "make", true},
        {"'echo '\"'\"'a'\"'\"''", "echo 'a'", true},
        {"'echo '\\''a'\\'''", "echo 'a'", true},
        {"\"echo \\\"a\\\" \\$x\"", "echo \"a\" $x", true},
        {"\"echo $x\"", "echo $x", false},
        {"\"echo `id`\"", "echo `id`", false},
        {"make test", "make test", false},
        {"'make test'; id", "make test", false},
        {"'make test' more", "make test", false},
        {"'make test", "make test", false},
        {"'make'test", "make test", false},
        {"$'make'", "make", false},
        {"''", "make", false},
        {"~", "~", false},
        {"*", "*", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *argv =
            xasprintf("/bin/bash|-c|eval %s < /dev/null && pwd -P >/tmp/c-7a-cwd", cases[i].word);
        if (fits(form, argv, cases[i].command) != cases[i].fits)
            fail_msg("%s as %s", cases[i].word, cases[i].command);
    }
}

static void made_up_names_hold_nothing_else(void **state)
{
    (void)state;
    assert_true(fits("sh|-c|. %i.sh", "sh|-c|. a-1_B.sh.sh", "x"));
    assert_false(fits("sh|-c|. %i.sh", "sh|-c|. a-1_B.py", "x"));
    assert_true(fits("sh|-c|. /s/%i", "sh|-c|. /s/a-1_B.sh", "x"));
    assert_false(fits("sh|-c|. /s/%i", "sh|-c|. /s/", "x"));
    assert_false(fits("sh|-c|. /s/%i", "sh|-c|. /s/a;id", "x"));
    assert_false(fits("sh|-c|. /s/%i", "sh|-c|. /s/a/b", "x"));
    assert_true(fits("sh|-c|F=%i\n%a", "sh|-c|F=a-1\nany $thing", "x"));
    assert_false(fits("sh|-c|F=%i\n%a", "sh|-c|F=a;\nany", "x"));
    assert_true(fits("sh|-c|A=%a\nexec %q", "sh|-c|A=x\nB=y\nexec 'make it'", "make it"));
    assert_false(fits("sh|-c|A=%a\nexec %q", "sh|-c|A=x\nexec 'make it'\nid", "make it"));
    assert_true(fits("sh||%a", "sh||", "x"));
    assert_true(fits("go|%d|%c", "go|/w/sub|ls", "ls"));
    assert_false(fits("go|%d|%c", "go|/w|ls", "ls"));
    assert_true(fits("sh|-c|100%%", "sh|-c|100%", "x"));
    assert_false(fits("sh|-c|100%x", "sh|-c|100x", "x"));
    assert_false(fits("sh|-c|100%", "sh|-c|100", "x"));
}

static void helpers_and_plain_words(void **state)
{
    (void)state;
    assert_true(fits("git|%*", "/usr/bin/git|status", NULL));
    assert_true(fits("git|%*", "git", NULL));
    assert_true(fits("git|ls-files|%*", "git|ls-files|-z", NULL));
    assert_false(fits("git|ls-files|%*", "git|push", NULL));
    assert_false(fits("git|%*", "got|status", NULL));
    assert_true(fits("%w", "make|test", "make 'test'"));
    assert_false(fits("%w", "make|test", "make test && id"));
    assert_false(fits("%w", "make|test|x", "make test"));
    assert_false(fits("%w", "make", "make test"));
    assert_false(fits("%w", "make|$x", "make $x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_itself),
        cmocka_unit_test(one_word_in_quotes),
        cmocka_unit_test(made_up_names_hold_nothing_else),
        cmocka_unit_test(helpers_and_plain_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
