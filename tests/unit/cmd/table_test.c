/*
 * The real table: whole, sorted out, and readable at 80 columns.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/cmd.h"

static void check(const struct command *table)
{
    for (const struct command *c = table; c->name; c++) {
        assert_non_null(c->help);
        assert_non_null(c->usage);
        assert_true((c->run != NULL) != (c->children != NULL));
        assert_ptr_equal(cmd_child(table, c->name, strlen(c->name)), c);
        if (c->fallback)
            assert_non_null(cmd_child(c->children, c->fallback, strlen(c->fallback))->run);
        if (c->children)
            check(c->children);
    }
}

static void table_is_whole(void **state)
{
    (void)state;
    check(commands);
}

static void help_fits_a_terminal(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT;
    cmd_help(&text);
    for (const char *line = text.ptr; *line;) {
        size_t len = strcspn(line, "\n");
        if (len > 88)
            fail_msg("%.*s", (int)len, line);
        line += len + 1;
    }
}

/* Later commands are unknown, not stubs. */
static void later_commands_are_unknown(void **state)
{
    (void)state;
    static const char *const later[] = {"gate revoke"};
    for (size_t i = 0; i < ARRAY_LEN(later); i++)
        assert_null(cmd_find(later[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_whole),
        cmocka_unit_test(help_fits_a_terminal),
        cmocka_unit_test(later_commands_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
