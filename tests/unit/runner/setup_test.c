/*
 * What a repository's `.headgate` may say.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/server/setup.h"

static char folder[] = "/tmp/headgate-setup-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    return fs_remove_tree(AT_FDCWD, folder, &err) ? 0 : -1;
}

static void write_file(const char *text)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(folder, ".headgate");
    assert_true(fs_write_plain(AT_FDCWD, path, text, strlen(text), 0600, &err));
}

static void no_file_asks_for_nothing(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_SETUP struct setup s = SETUP_INIT;
    assert_true(setup_read(&s, folder, &err));
    assert_null(s.command);
    assert_null(s.ladder);
}

static void the_digest_is_of_the_bytes(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_SETUP struct setup s = SETUP_INIT;
    static const char text[] = "[worktree]\n\tsetup = npm ci\n[gate]\n\tladder = confirm\n";
    char want[DIGEST_HEX_SIZE];
    write_file(text);
    assert_true(setup_read(&s, folder, &err));
    digest_bytes(want, text, strlen(text));
    assert_string_equal(s.digest, want);
    assert_string_equal(s.command, "npm ci");
    assert_string_equal(s.ladder, "confirm");
    assert_int_equal(s.notes.n, 0);
}

static void what_would_loosen_is_not_taken(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_SETUP struct setup s = SETUP_INIT;
    write_file("[box]\n\trw = /\n");
    assert_true(setup_read(&s, folder, &err));
    assert_int_equal(s.notes.n, 1);
    assert_non_null(strstr(s.notes.v[0], "box.rw"));
}

static void rules_only_tighten(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const struct {
        const char *text, *word; /* word of the error, NULL: it is taken */
    } rows[] = {
        {"[gate]\n\trule = deny path secrets/\n\trule = ask  command  make\n", NULL},
        {"[gate]\n\trule = allow command make\n", "denies or asks"},
        {"[gate]\n\trule = deny path x in repo\n", "names no scope"},
        {"[gate]\n\trule = deny everything\n", "everything"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_SETUP struct setup s = SETUP_INIT;
        AUTO_BUF struct buf asks = BUF_INIT;
        write_file(rows[i].text);
        assert_int_equal(setup_read(&s, folder, &err), rows[i].word == NULL);
        if (rows[i].word) {
            assert_non_null(strstr(err.text, rows[i].word));
            continue;
        }
        assert_true(setup_asks(&s));
        setup_describe(&asks, &s);
        assert_string_equal(asks.ptr, "the rules 'deny path secrets/; ask command make'");
    }
}

static void includes_and_unknown_keys_are_errors(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const char *const texts[] = {"[include]\n\tpath = /etc/passwd\n",
                                        "[gate]\n\tnonsense = 1\n", "[gate\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_SETUP struct setup s = SETUP_INIT;
        write_file(texts[i]);
        assert_false(setup_read(&s, folder, &err));
    }
}

static void a_symlink_is_not_followed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_SETUP struct setup s = SETUP_INIT;
    AUTO_FREE char *link = fs_join(folder, ".headgate");
    assert_int_equal(symlink("/etc/hostname", link), 0);
    assert_false(setup_read(&s, folder, &err));
}

static void the_rung_is_only_lowered(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf why = BUF_INIT;
    struct setup s = SETUP_INIT;
    char edits[] = "edits", nonsense[] = "nonsense";
    enum ladder ladder = LADDER_CONFIRM;
    s.ladder = edits;
    assert_true(setup_tighten(&ladder, &why, &s, &err));
    assert_int_equal(ladder, LADDER_CONFIRM);
    assert_int_equal(why.len, 0);
    ladder = LADDER_AUTO;
    assert_true(setup_tighten(&ladder, &why, &s, &err));
    assert_int_equal(ladder, LADDER_EDITS);
    assert_true(why.len > 0);
    s.ladder = nonsense;
    assert_false(setup_tighten(&ladder, &why, &s, &err));
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(no_file_asks_for_nothing),
        in_folder(the_digest_is_of_the_bytes),
        in_folder(what_would_loosen_is_not_taken),
        in_folder(includes_and_unknown_keys_are_errors),
        in_folder(rules_only_tighten),
        in_folder(a_symlink_is_not_followed),
        cmocka_unit_test(the_rung_is_only_lowered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
