#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/print.h"

static const struct print narrow = {.columns = 40};

/* A table of one row under these headers, empty cells included. */
static void make(struct print_table *t, const char *const *headers, const char *const *cells,
                 size_t n)
{
    print_table_init(t, headers, n);
    for (size_t i = 0; i < n; i++)
        print_table_cell(t, PRINT_PLAIN, cells[i]);
}

static void keeps_rows_within_the_terminal(void **state)
{
    (void)state;
    static const char *const headers[] = {"ID", "STATE", "ASKS", "CONFLICTS", "TASK"};
    static const struct {
        const char *cells[ARRAY_LEN(headers)], *drawn;
    } cases[] = {
        {{"3.1", "ok", "", "", "Fix"},
         "ID   STATE  ASKS  CONFLICTS  TASK\n"
         "3.1  ok                      Fix\n"},
        /* What nobody has goes first, */
        {{"3.1", "waiting for it", "", "", "Fix the parser"},
         "ID   STATE           TASK\n"
         "3.1  waiting for it  Fix the parser\n"},
        /* then the widest gives, down to its header; the first never does. */
        {{"13.10", "waiting for input", "", "12.1 src/a/long/name.c", "Fix the parser"},
         "ID     STATE      CONFLICTS   TASK\n"
         "13.10  waiting \xe2\x80\xa6  12.1 src/\xe2\x80\xa6  Fix the p\xe2\x80\xa6\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
        AUTO_BUF struct buf out = BUF_INIT;
        make(&t, headers, cases[i].cells, ARRAY_LEN(headers));
        print_table_add(&out, &narrow, &t);
        assert_string_equal(out.ptr, cases[i].drawn);
        for (const char *line = out.ptr; *line; line += strcspn(line, "\n") + 1)
            assert_true(text_width(line, strcspn(line, "\n")) <= narrow.columns);
    }
}

/* Without a terminal nothing is clipped or left out. */
static void keeps_all_elsewhere(void **state)
{
    (void)state;
    static const char *const headers[] = {"ID", "ASKS", "TASK"};
    static const char *const cells[] = {"3.1", "", "Fix the parser, the lexer and the printer"};
    const struct print unbounded = {.columns = 0};
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    make(&t, headers, cells, ARRAY_LEN(headers));
    print_table_add(&out, &unbounded, &t);
    assert_string_equal(out.ptr, "ID   ASKS  TASK\n"
                                 "3.1        Fix the parser, the lexer and the printer\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_rows_within_the_terminal),
        cmocka_unit_test(keeps_all_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
