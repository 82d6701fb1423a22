/* What is said of checkouts that a merge left as they are, to people and to programs. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/print_left.h"

#define AT "; the checkout at "
#define STAYS " stays as it is, its HEAD detached at 0123456789: "

static const struct {
    struct wt_left left;
    const char *text, *next;
} cases[] = {
    {{.path = (char *)(uintptr_t) "/r", .is_there = true},
     AT "/r" STAYS
        "git -C /r switch main goes back and carries your changes; where it refuses, git "
        "stash -u before it and git stash pop after it",
     "git -C /r switch main"},
    {{.path = (char *)(uintptr_t) "/it's a\033", .is_there = true},
     AT "/it's a\\e" STAYS
        "git -C '/it'\\''s a\\e' switch main goes back and carries your changes; "
        "where it refuses, git stash -u before it and git stash pop after it",
     "git -C '/it'\\''s a\033' switch main"},
    {{.path = (char *)(uintptr_t) "/r", .doing = "cherry-pick", .is_there = true},
     AT "/r" STAYS "finish the cherry-pick there or give it up, then git -C /r switch main goes "
        "back (and git -C /r merge - brings what you committed meanwhile)",
     "git -C /r switch main"},
    {{.path = (char *)(uintptr_t) "/gone"},
     AT "/gone" STAYS
        "git -C /gone switch main goes back when it is there again, for its folder is gone",
     "git -C /gone switch main"},
};

static void says_how_to_go_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wt_left left = cases[i].left;
        AUTO_BUF struct buf text = BUF_INIT;
        AUTO_JSON json_t *all = NULL;
        struct wt_merge m = {.into = (char *)(uintptr_t) "main",
                             .target = "0123456789abcdef",
                             .left = &left,
                             .n_left = 1};
        print_left(&text, &m, false);
        assert_string_equal(text.ptr, cases[i].text);
        all = print_left_json(&m);
        const json_t *one = json_array_get(all, 0);
        assert_string_equal(jx_str(one, "next", ""), cases[i].next);
        assert_int_equal(jx_bool(one, "there", false), left.is_there);
    }
}

static void says_what_a_dry_run_would_do(void **state)
{
    (void)state;
    struct wt_left left[2] = {cases[0].left, cases[3].left};
    AUTO_BUF struct buf text = BUF_INIT;
    const struct wt_merge m = {.into = (char *)(uintptr_t) "main",
                               .target = "0123456789abcdef",
                               .left = left,
                               .n_left = 2};
    print_left(&text, &m, true);
    assert_non_null(strstr(text.ptr, "/r would stay as it is"));
    assert_non_null(strstr(text.ptr, "; the checkout at /gone would stay as it is"));
    buf_clear(&text);
    const struct wt_merge none = {.into = (char *)(uintptr_t) "main"};
    print_left(&text, &none, true);
    assert_int_equal(text.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_how_to_go_back),
        cmocka_unit_test(says_what_a_dry_run_would_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
