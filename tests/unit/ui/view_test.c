#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "ui/view.h"

static void set(struct view *v, const char *text)
{
    view_set(v, text, strlen(text));
}

static void wraps(void **state)
{
    (void)state;
    AUTO_CANVAS struct canvas cv = CANVAS_INIT;
    AUTO_BUF struct buf is = BUF_INIT;
    struct view v = VIEW_INIT;
    v.wraps = true;
    set(&v, "abcdefghijkl\n\n\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\n");
    view_layout(&v, 6, 7);
    canvas_reset(&cv, 6, 7);
    view_draw(&v, &cv, 0, 0, 6, 7);
    canvas_dump(&is, &cv);
    assert_string_equal(is.ptr, "abcdefg\n+ hijkl\n\n\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\n+ "
                                "\xe6\xbc\xa2\n\n--\n1 0+1 dim\n4 0+1 dim\n");
    assert_int_equal(v.n_rows, 5);
    view_layout(&v, 6, 80);
    assert_int_equal(v.n_rows, 3);
    view_release(&v);
}

static void press(struct view *v, enum key_code code)
{
    struct key key = {.code = code};
    assert_true(view_key(v, &key));
}

static void scrolls(void **state)
{
    (void)state;
    struct view v = VIEW_INIT;
    AUTO_BUF struct buf text = BUF_INIT, place = BUF_INIT;
    for (int i = 0; i < 100; i++)
        buf_addf(&text, "%d\n", i);
    view_set(&v, text.ptr, text.len);
    view_layout(&v, 10, 20);
    press(&v, K_UP);
    assert_int_equal(v.top, 0);
    press(&v, K_PAGE_DOWN);
    assert_int_equal(v.top, 9);
    press(&v, K_END);
    assert_int_equal(v.top, 90);
    view_place(&place, &v);
    assert_string_equal(place.ptr, "91-100 of 100");
    view_layout(&v, 60, 20);
    assert_int_equal(v.top, 40);
    press(&v, K_HOME);
    press(&v, K_RIGHT);
    assert_int_equal(v.left, 8);
    view_release(&v);
}

static void follows_its_end(void **state)
{
    (void)state;
    struct view v = VIEW_INIT;
    v.follows = true;
    view_layout(&v, 4, 20);
    for (int i = 0; i < 10; i++)
        view_append(&v, "line\n", 5, 1 << 20);
    assert_int_equal(v.top, 6);
    press(&v, K_UP); /* who reads is left in peace */
    view_append(&v, "line\n", 5, 1 << 20);
    assert_int_equal(v.top, 5);
    press(&v, K_END);
    view_append(&v, "li", 2, 1 << 20);
    view_append(&v, "ne\nnext", 7, 1 << 20);
    assert_int_equal(v.n_rows, 13);
    assert_int_equal(v.top, 9);
    view_release(&v);
}

static void bounds_what_it_keeps(void **state)
{
    (void)state;
    struct view v = VIEW_INIT;
    v.follows = true;
    view_layout(&v, 4, 20);
    for (int i = 0; i < 10000; i++) {
        AUTO_BUF struct buf line = BUF_INIT;
        buf_addf(&line, "line %d\n", i);
        view_append(&v, line.ptr, line.len, 1000);
        assert_true(v.text.len <= 1250);
        assert_memory_equal(v.text.ptr, "line ", 5); /* whole lines */
    }
    assert_string_equal(v.text.ptr + v.rows[v.n_rows - 1].start, "line 9999\n");
    view_release(&v);
}

static void lays_out_a_megabyte(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT;
    struct view v = VIEW_INIT;
    v.wraps = true;
    while (text.len < 1024 * 1024)
        buf_adds(&text, "one line without any end ");
    int64_t begin = clock_mono_ms();
    view_set(&v, text.ptr, text.len);
    view_layout(&v, 20, 78);
    int64_t took = clock_mono_ms() - begin;
    print_message("1 MiB in one line: %" PRId64 " ms\n", took);
    assert_true(v.n_rows > 13000);
    assert_true(took < 2000); /* quadratic would be minutes */
    view_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wraps),
        cmocka_unit_test(scrolls),
        cmocka_unit_test(follows_its_end),
        cmocka_unit_test(bounds_what_it_keeps),
        cmocka_unit_test(lays_out_a_megabyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
