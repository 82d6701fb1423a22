#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runner/base/mem.h"
#include "ui/vt.h"

static void collect(void *arg, const char *bytes, size_t len)
{
    buf_add(arg, bytes, len);
}

static void feed(struct vt *vt, const char *text)
{
    vt_feed(vt, text, strlen(text));
}

/* The text part of a drawing. */
static void draw(struct buf *out, const struct vt *vt, int rows, int cols, size_t back)
{
    AUTO_CANVAS struct canvas cv = CANVAS_INIT;
    canvas_reset(&cv, rows, cols);
    vt_draw(vt, &cv, 0, 0, rows, cols, back);
    buf_clear(out);
    canvas_dump(out, &cv);
}

static void tells_all_as_text(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT;
    struct vt *vt = vt_new(3, 8, false, collect, NULL);
    vt_text(vt, &text);
    assert_string_equal(text.ptr, "");
    feed(vt, "1\r\n\r\n\x1b[1m3  \x1b[0m\r\n\xe6\xbc\xa2"
             "4\r\n5\r\n");
    vt_text(vt, &text);
    assert_string_equal(text.ptr, "1\n\n3\n\xe6\xbc\xa2"
                                  "4\n5\n");
    vt_free(vt);
}

static void tells_of_a_bell_once(void **state)
{
    (void)state;
    struct vt *vt = vt_new(3, 8, false, collect, NULL);
    feed(vt, "\x1b]0;title\x07");
    assert_false(vt_take_bell(vt)); /* the end of a title is none */
    feed(vt, "\x07\x07");
    assert_true(vt_take_bell(vt));
    assert_false(vt_take_bell(vt));
    vt_free(vt);
}

static void draws_cells(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes, *drawn;
    } cases[] = {
        {"plain", "ab\r\ncd", "ab\ncd\n\n--\ncursor 1 2\n"},
        {"wide", "a\xe6\xbc\xa2z", "a\xe6\xbc\xa2z\n\n\n--\ncursor 0 4\n"},
        {"wide at the edge", "1234567\xe6\xbc\xa2", "1234567\n\xe6\xbc\xa2\n\n--\ncursor 1 2\n"},
        {"combining", "e\xcc\x81x", "e\xcc\x81x\n\n\n--\ncursor 0 2\n"},
        {"no-break space", ">\xc2\xa0x", "> x\n\n\n--\ncursor 0 3\n"},
        {"ideographic space", "a\xe3\x80\x80x", "a x\n\n\n--\ncursor 0 4\n"},
        {"private use", "a\xee\x80\x80x", "a\xef\xbf\xbdx\n\n\n--\ncursor 0 3\n"},
        {"bidi in a mark", "e\xe2\x80\xaex", "ex\n\n\n--\ncursor 0 2\n"},
        {"attributes", "\x1b[1;7mB\x1b[0;31;44mc\x1b[38;2;255;0;0md",
         "Bcd\n\n\n--\n0 0+1 bold reverse\n0 1+1 fg1 bg4\n"
         "0 2+1 fg196 bg4\ncursor 0 3\n"},
        {"title and clipboard", "a\x1b]0;evil\x07\x1b]52;c;ZXZpbA==\x1b\\b",
         "ab\n\n\n--\ncursor 0 2\n"},
        {"device strings", "a\x1bP1$r0m\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\b",
         "ab\n\n\n--\ncursor 0 2\n"},
        {"alternate screen", "main\x1b[?1049h\x1b[Halt\x1b[?1049l", "main\n\n\n--\ncursor 0 4\n"},
        {"in it", "main\x1b[?1049h\x1b[Halt", "alt\n\n\n--\ncursor 0 3\n"},
        {"hidden cursor", "a\x1b[?25l", "a\n\n\n--\n"},
        {"utf-8 in pieces", "\xe6", "\n\n\n--\ncursor 0 0\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf is = BUF_INIT;
        struct vt *vt = vt_new(3, 8, false, collect, NULL);
        feed(vt, cases[i].bytes);
        draw(&is, vt, 3, 8, 0);
        if (strcmp(is.ptr, cases[i].drawn) != 0)
            fail_msg("%s: %s", cases[i].name, is.ptr);
        vt_free(vt);
    }
}

static void joins_utf8_over_feeds(void **state)
{
    (void)state;
    AUTO_BUF struct buf is = BUF_INIT;
    struct vt *vt = vt_new(2, 8, false, collect, NULL);
    feed(vt, "\xe6");
    feed(vt, "\xbc");
    feed(vt, "\xa2\x1b");
    feed(vt, "[31");
    feed(vt, "mx");
    draw(&is, vt, 2, 8, 0);
    assert_string_equal(is.ptr, "\xe6\xbc\xa2x\n\n--\n0 2+1 fg1\ncursor 0 3\n");
    vt_free(vt);
}

static void scrolls_back(void **state)
{
    (void)state;
    AUTO_BUF struct buf is = BUF_INIT;
    struct vt *vt = vt_new(2, 8, false, collect, NULL);
    feed(vt, "1\r\n2\r\n\xe6\xbc\xa2\r\n4\r\n5");
    assert_int_equal(vt_history(vt), 3);
    draw(&is, vt, 2, 8, 1);
    assert_string_equal(is.ptr, "\xe6\xbc\xa2\n4\n--\n");
    draw(&is, vt, 2, 8, 99);
    assert_string_equal(is.ptr, "1\n2\n--\n");
    for (int i = 0; i < 3 * VT_HISTORY_LINES; i++)
        feed(vt, "more\r\n");
    assert_int_equal(vt_history(vt), VT_HISTORY_LINES);
    feed(vt, "\x1b[?1049h");
    draw(&is, vt, 2, 8, 2);
    assert_string_equal(is.ptr, "more\nmore\n--\n");
    vt_free(vt);
}

static void resizes(void **state)
{
    (void)state;
    static const struct {
        int rows, cols;
    } sizes[] = {{1, 1}, {50, 200}, {2, 3},   {24, 80}, {1000000, 1000000},
                 {3, 8}, {0, 0},    {-1, -1}, {24, 80}};
    for (int alternate = 0; alternate < 2; alternate++) {
        AUTO_BUF struct buf is = BUF_INIT;
        struct vt *vt = vt_new(24, 80, false, collect, NULL);
        feed(vt, alternate ? "\x1b[?1049h" : "");
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            feed(vt, "\xe6\xbc\xa2 text that wraps over an edge somewhere, wide \xe6\xbc\xa2 and "
                     "not\r\n");
            vt_resize(vt, sizes[i].rows, sizes[i].cols);
            draw(&is, vt, 24, 80, 0);
        }
        feed(vt, "\x1b[2J\x1b[Hstill here");
        draw(&is, vt, 24, 80, 0);
        assert_memory_equal(is.ptr, "still here\n", 11);
        vt_free(vt);
    }
}

/* libvterm 0.1.4 used a cursor, a saved cursor and a scrolling region that a smaller screen had
 * left outside. */
static void keeps_places_inside_after_shrinking(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\x1b[H", "\x1b[J"},
        {"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\x1b[H", "\x1b[1J\x1bM\x1b[L"},
        {"\x1b[10;10H\0337", "\0338\x1b[J\x1b[1J\x1b[K"},
        {"\x1b[10;10H\x1b[?1049h", "\x1b[?1049l\x1b[J\x1b[1J"},
        {"\x1b[8;10r\x1b[?6h", "\x1b[H\x1b[J\n\n\n\x1b[M"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf is = BUF_INIT;
        struct vt *vt = vt_new(10, 20, false, collect, NULL);
        feed(vt, cases[i].before);
        vt_resize(vt, 3, 8);
        feed(vt, cases[i].after);
        feed(vt, "\x1b[?6l\x1b[2J\x1b[Hfine");
        draw(&is, vt, 3, 8, 0);
        assert_string_equal(is.ptr, "fine\n\n\n--\ncursor 0 4\n");
        vt_free(vt);
    }
}

static void answers_only_when_it_may(void **state)
{
    (void)state;
    for (int answering = 0; answering < 2; answering++) {
        AUTO_BUF struct buf out = BUF_INIT;
        struct vt *vt = vt_new(3, 8, answering, collect, &out);
        feed(vt, "\x1b[6n");
        assert_string_equal(out.ptr, answering ? "\x1b[1;1R" : "");
        vt_free(vt);
    }
}

static void keys_follow_the_program(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    struct vt *vt = vt_new(3, 8, false, collect, &out);
    assert_true(vt_key(vt, K_UP));
    assert_true(vt_key(vt, K_PASTE_BEGIN));
    assert_false(vt_key(vt, K_ENTER));
    assert_string_equal(out.ptr, "\x1b[A");
    feed(vt, "\x1b[?1h\x1b[?2004h");
    buf_clear(&out);
    vt_key(vt, K_UP);
    vt_key(vt, K_PASTE_BEGIN);
    vt_key(vt, K_PASTE_END);
    assert_string_equal(out.ptr, "\x1bOA\x1b[200~\x1b[201~");
    vt_free(vt);
}

/* Random bytes, weighted towards what a terminal obeys, from a fixed seed. */
static void survives_noise(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "\x1b[",
        "\x1b]",
        "\x1bP",
        "\x1b",
        ";",
        "?",
        "999999999",
        "2147483647",
        "1",
        "0",
        "h",
        "l",
        "m",
        "H",
        "J",
        "K",
        "L",
        "M",
        "P",
        "@",
        "S",
        "T",
        "X",
        "r",
        "A",
        "B",
        "C",
        "D",
        "d",
        "G",
        "\n",
        "\r",
        "\t",
        "\b",
        "x",
        "\xe6\xbc\xa2",
        "\xcc\x81",
        "\xff",
        "?1049",
        "?6",
        "?7",
        "?69",
        "\x1b(0",
        "\x1b#8",
        "\x1b#6",
        "\x0e",
        "\x07",
        "\x18",
        "\x1b"
        "c",
        "4",
        "20",
        "!p",
        " q",
        "\"q",
    };
    unsigned seed = 7;
    AUTO_BUF struct buf is = BUF_INIT;
    struct vt *vt = vt_new(24, 80, false, collect, NULL);
    for (int round = 0; round < 100000; round++) {
        seed = seed * 1103515245 + 12345;
        feed(vt, pieces[(seed >> 8) % ARRAY_LEN(pieces)]);
        if (round % 1000 == 0) {
            vt_resize(vt, 2 + (int)((seed >> 4) % 60), 8 + (int)((seed >> 12) % 200));
            draw(&is, vt, 50, 200, (size_t)((seed >> 6) % 50));
        }
    }
    vt_free(vt);
}

static int64_t resident_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* A string that never ends must not be kept. */
static void bounds_memory(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it keeps freed memory for a while */
#endif
    enum { CHUNK = 64 * 1024, CHUNKS = 512 };
    static const char *const openings[] = {"\x1b]0;", "\x1bP", "\x1b_", "\x1b[", ""};
    static char chunk[CHUNK];
    memset(chunk, '1', sizeof(chunk));
    int64_t before = resident_kib();
    for (size_t i = 0; i < ARRAY_LEN(openings); i++) {
        struct vt *vt = vt_new(24, 80, false, collect, NULL);
        feed(vt, openings[i]);
        for (int n = 0; n < CHUNKS; n++)
            vt_feed(vt, chunk, sizeof(chunk));
        vt_free(vt);
    }
    int64_t grown = resident_kib() - before;
    print_message("32 MiB in each of %zu unending strings: %" PRId64 " KiB more\n",
                  ARRAY_LEN(openings), grown);
    assert_true(grown < 16 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_memory), /* first: it measures against the peak so far */
        cmocka_unit_test(tells_all_as_text),
        cmocka_unit_test(tells_of_a_bell_once),
        cmocka_unit_test(draws_cells),
        cmocka_unit_test(joins_utf8_over_feeds),
        cmocka_unit_test(scrolls_back),
        cmocka_unit_test(resizes),
        cmocka_unit_test(keeps_places_inside_after_shrinking),
        cmocka_unit_test(answers_only_when_it_may),
        cmocka_unit_test(keys_follow_the_program),
        cmocka_unit_test(survives_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
