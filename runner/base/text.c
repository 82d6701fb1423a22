#include "runner/base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <utf8proc.h>

#include "runner/base/mem.h"

enum { TAB_COLUMNS = 8, BRAILLE_BLANK = 0x2800, STAND_IN_80 = 0x10f880, STAND_IN_FF = 0x10f8ff };

static const char ellipsis[] = "\xe2\x80\xa6";

/* The code point at s, or -1 for a byte that starts no valid sequence; *ret_len bytes long. */
static utf8proc_int32_t next_code(const char *s, size_t len, size_t *ret_len)
{
    utf8proc_int32_t code;
    utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)len, &code);
    *ret_len = n > 0 ? (size_t)n : 1;
    return n > 0 ? code : -1;
}

/* What a reader can see for what it is. Invisible letters and marks (Default_Ignorable_Code_Point:
 * Hangul fillers, variation selectors) count as format characters whatever their category says. */
static bool is_plain(utf8proc_int32_t code)
{
    const utf8proc_property_t *property = utf8proc_get_property(code);
    if (property->ignorable || code == BRAILLE_BLANK)
        return false;
    switch ((utf8proc_category_t)property->category) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    case UTF8PROC_CATEGORY_ZS:
        return code == ' ';
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
        return true;
    }
    return false;
}

static void add_escape(struct buf *out, utf8proc_int32_t code, unsigned flags)
{
    bool is_c1 = code >= 0x80 && code < 0xa0;
    if (code == '\n')
        buf_adds(out, "\\n");
    else if (code == '\t')
        buf_adds(out, "\\t");
    else if (code == 0x1b)
        buf_adds(out, "\\e");
    else if (code < 0x80 || (is_c1 && !(flags & TEXT_EXACT)))
        buf_addf(out, "\\x%02x", (unsigned)code);
    else if (code >= STAND_IN_80 && code <= STAND_IN_FF && !(flags & TEXT_EXACT))
        buf_addf(out, "\\x%02x", (unsigned)code & 0xff); /* the byte that jx_bytes() put it for */
    else /* with TEXT_EXACT, \x80 and above mean bytes that are not UTF-8 and nothing else */
        buf_addf(out, "\\u{%04x}", (unsigned)code);
}

void text_sanitise(struct buf *out, const char *s, size_t len, unsigned flags)
{
    buf_reserve(out, len);
    size_t measured = out->len; /* how far column is known: tabs must not cost a whole line each */
    int column = 0;
    for (size_t at = 0, n; at < len; at += n) {
        utf8proc_int32_t code = next_code(s + at, len - at, &n);
        if (code < 0) {
            buf_addf(out, "\\x%02x", (unsigned)(unsigned char)s[at]);
        } else if (code == '\n' && flags & TEXT_KEEP_NEWLINE) {
            buf_addch(out, '\n');
            measured = out->len;
            column = 0;
        } else if (code == '\t' && flags & TEXT_KEEP_TAB) {
            column += text_width(out->ptr + measured, out->len - measured);
            measured = out->len;
            for (int i = column % TAB_COLUMNS; i < TAB_COLUMNS; i++)
                buf_addch(out, ' ');
        } else if (code == '\\' && flags & TEXT_EXACT) {
            buf_adds(out, "\\\\");
        } else if (is_plain(code)) {
            buf_add(out, s + at, n);
        } else {
            add_escape(out, code, flags);
        }
    }
}

char *text_clean(const char *s)
{
    struct buf out = BUF_INIT;
    text_sanitise(&out, s, strlen(s), 0);
    return buf_steal(&out);
}

static int code_width(utf8proc_int32_t code)
{
    return code < 0 ? 1 : utf8proc_charwidth(code);
}

int text_width(const char *s, size_t len)
{
    int columns = 0;
    for (size_t at = 0, n; at < len; at += n)
        columns += code_width(next_code(s + at, len - at, &n));
    return columns;
}

/* Bytes of the grapheme at s, and its columns. */
static size_t grapheme(const char *s, size_t len, int *ret_columns)
{
    size_t at;
    utf8proc_int32_t last = next_code(s, len, &at), state = 0;
    int columns = code_width(last);
    while (at < len && last >= 0) {
        size_t n;
        utf8proc_int32_t code = next_code(s + at, len - at, &n);
        if (code < 0 || utf8proc_grapheme_break_stateful(last, code, &state))
            break;
        columns += code_width(code);
        last = code;
        at += n;
    }
    *ret_columns = columns;
    return at;
}

size_t text_fit(const char *s, size_t len, int max_columns)
{
    size_t at = 0;
    for (int columns = 0, more; at < len; columns += more) {
        size_t n = grapheme(s + at, len - at, &more);
        if (columns + more > max_columns)
            break;
        at += n;
    }
    return at;
}

void text_add_clipped(struct buf *out, const char *s, int max_columns)
{
    size_t len = strlen(s);
    if (max_columns <= 0)
        return;
    if (text_fit(s, len, max_columns) == len) {
        buf_add(out, s, len);
        return;
    }
    buf_add(out, s, text_fit(s, len, max_columns - 1));
    buf_adds(out, ellipsis);
}

/* Blanks in a row that are shown as they are. */
enum { BLANKS_SHOWN = 12 };

static void collapse_blanks(struct buf *out, const char *s)
{
    while (*s) {
        size_t blanks = strspn(s, " "), rest = strcspn(s + blanks, " ");
        if (blanks > BLANKS_SHOWN)
            buf_addf(out, "%s[%zu blanks]%s", ellipsis, blanks, ellipsis);
        else
            buf_add(out, s, blanks);
        buf_add(out, s + blanks, rest);
        s += blanks + rest;
    }
}

static size_t count_codes(const char *s, size_t len)
{
    size_t codes = 0;
    for (size_t at = 0, n; at < len; at += n, codes++)
        next_code(s + at, len - at, &n);
    return codes;
}

/* Where the end of s begins that fits into max_columns. */
static size_t fit_end(const char *s, size_t len, int max_columns)
{
    int skipped = text_width(s, len) - max_columns;
    return text_fit(s, len, skipped > 0 ? skipped : 0);
}

void text_add_brief(struct buf *out, const char *s, int max_columns)
{
    AUTO_BUF struct buf line = BUF_INIT;
    collapse_blanks(&line, s);
    if (max_columns < TEXT_BRIEF_MIN || text_width(line.ptr, line.len) <= max_columns) {
        text_add_clipped(out, line.ptr, max_columns);
        return;
    }
    enum { MARK_COLUMNS = 20 }; /* of the mark with its number */
    int room = max_columns - MARK_COLUMNS;
    size_t head = text_fit(line.ptr, line.len, room - room / 3);
    size_t tail = fit_end(line.ptr, line.len, room / 3);
    buf_add(out, line.ptr, head);
    buf_addf(out, "%s[%zu left out]%s", ellipsis, count_codes(line.ptr + head, tail - head),
             ellipsis);
    buf_adds(out, line.ptr + tail);
}

bool text_is_utf8(const char *s, size_t len)
{
    for (size_t at = 0, n; at < len; at += n)
        if (next_code(s + at, len - at, &n) < 0)
            return false;
    return true;
}

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool text_is_name(const char *s, size_t max_len)
{
    if (!is_alphanumeric(*s))
        return false;
    size_t len = 0;
    for (; s[len]; len++)
        if (len >= max_len || (!is_alphanumeric(s[len]) && !strchr("._-", s[len])))
            return false;
    return true;
}

/* True when c could go on a path's name, so that what is beside it is another path. */
static bool is_path_byte(char c)
{
    return c != '\0' &&
           (isalnum((unsigned char)c) || strchr("._-+~", c) || (unsigned char)c >= 0x80);
}

bool text_has_path_at(const char *s, size_t len, size_t at, const char *path)
{
    size_t path_len = strlen(path);
    if (path_len < 2 || len - at < path_len || memcmp(s + at, path, path_len) != 0)
        return false;
    bool goes_on = at + path_len < len && is_path_byte(s[at + path_len]);
    return !goes_on && (at == 0 || !is_path_byte(s[at - 1]));
}

void text_add_relative(struct buf *out, const char *s, size_t len, const char *folder)
{
    for (size_t i = 0; i < len;) {
        if (text_has_path_at(s, len, i, folder)) {
            buf_addch(out, '.');
            i += strlen(folder);
            continue;
        }
        buf_addch(out, s[i++]);
    }
}

void text_add_size(struct buf *out, int64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = -1;
    while (value >= 1024 && unit < 3) {
        value /= 1024;
        unit++;
    }
    if (unit < 0)
        buf_addf(out, "%" PRId64 " B", bytes);
    else
        buf_addf(out, "%.1f %s", value, units[unit]);
}
