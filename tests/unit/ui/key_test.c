#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/buf.h"
#include "runner/base/mem.h"
#include "ui/key.h"

static const char *const names[] = {
    [K_CHAR] = "char",      [K_CTRL] = "ctrl",         [K_ENTER] = "enter",
    [K_TAB] = "tab",        [K_BACKTAB] = "backtab",   [K_BACKSPACE] = "backspace",
    [K_DELETE] = "delete",  [K_ESC] = "esc",           [K_UP] = "up",
    [K_DOWN] = "down",      [K_LEFT] = "left",         [K_RIGHT] = "right",
    [K_HOME] = "home",      [K_END] = "end",           [K_PAGE_UP] = "pgup",
    [K_PAGE_DOWN] = "pgdn", [K_PASTE_BEGIN] = "paste", [K_PASTE_END] = "unpaste",
};

static void add_key(struct buf *out, const struct key *key)
{
    buf_addf(out, "%s%s", out->len > 0 ? " " : "", key->is_pasted ? "*" : "");
    if (key->code == K_CHAR || key->code == K_CTRL)
        buf_addf(out, "%s%x", key->code == K_CTRL ? "^" : "", key->ch);
    else
        buf_adds(out, names[key->code]);
}

static void read_keys(struct buf *out, const char *bytes, size_t len, size_t step)
{
    struct key_reader r = {.n = 0};
    struct key key;
    for (size_t from = 0; from < len; from += step) {
        size_t n = len - from < step ? len - from : step;
        for (size_t at = 0, used; at < n; at += used)
            if (key_next(&key, &r, (const unsigned char *)bytes + from + at, n - at, &used))
                add_key(out, &key);
    }
    if (key_is_waiting(&r) && key_flush(&key, &r))
        add_key(out, &key);
    assert_false(key_is_waiting(&r));
}

static const struct {
    const char *bytes, *keys;
} cases[] = {
    {"a", "61"},
    {"\r\n\t", "enter enter tab"},
    {"\x7f\b", "backspace backspace"},
    {"\x01\x1d", "^61 ^5d"},
    {"\x1b[A\x1bOB\x1b[C\x1bOD", "up down right left"},
    {"\x1b[H\x1b[1~\x1b[7~\x1b[F\x1b[4~\x1bOF", "home home home end end end"},
    {"\x1b[5~\x1b[6~\x1b[3~\x1b[Z", "pgup pgdn delete backtab"},
    {"\x1b", "esc"},
    {"\x1b\x1b", "esc esc"},
    {"\x1b\x1b[A", "esc up"},
    {"\x1b"
     "a",
     ""},                    /* Alt-A must not approve */
    {"\x1b[1;5Ad", "64"},    /* Ctrl-Up is not known and takes nothing with it */
    {"\x1b[[Aa", "61"},      /* F1 of the Linux console */
    {"\x1b[<0;1;1Ma", "61"}, /* a mouse report */
    {"\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80", "e9 6f22 1f600"},
    {"\xc3(", "28"}, /* cut short by something else */
    {"\xff\xc0\x80\xed\xa0\x80"
     "a",
     "61"}, /* never valid */
    {"\xc2\x9b"
     "A",
     "41"}, /* C1 */
    {"\x1b[200~a\rb\x1b[201~c", "*61 *enter *62 63"},
    {"\x1b[200~", ""},
};

static void reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf at_once = BUF_INIT, by_byte = BUF_INIT;
        read_keys(&at_once, cases[i].bytes, strlen(cases[i].bytes), 1000);
        read_keys(&by_byte, cases[i].bytes, strlen(cases[i].bytes), 1);
        assert_string_equal(at_once.ptr, cases[i].keys);
        assert_string_equal(by_byte.ptr, cases[i].keys);
    }
}

static void survives_endless_sequences(void **state)
{
    (void)state;
    AUTO_BUF struct buf bytes = BUF_INIT, keys = BUF_INIT;
    buf_adds(&bytes, "\x1b[");
    for (int i = 0; i < 10 * KEY_PENDING_MAX; i++)
        buf_addch(&bytes, ';');
    read_keys(&keys, bytes.ptr, bytes.len, 7);
    assert_true(keys.len >
                0); /* they become characters in the end, and none is lost in a full buffer */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(survives_endless_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
