#include "ui/key.h"

#include <string.h>

#include "runner/base/mem.h"

enum { ESC = 0x1b, DEL = 0x7f };

static const struct {
    const char *sequence; /* after the escape */
    enum key_code code;
} sequences[] = {
    {"[A", K_UP},           {"OA", K_UP},
    {"[B", K_DOWN},         {"OB", K_DOWN},
    {"[C", K_RIGHT},        {"OC", K_RIGHT},
    {"[D", K_LEFT},         {"OD", K_LEFT},
    {"[H", K_HOME},         {"OH", K_HOME},
    {"[1~", K_HOME},        {"[7~", K_HOME},
    {"[F", K_END},          {"OF", K_END},
    {"[4~", K_END},         {"[8~", K_END},
    {"[5~", K_PAGE_UP},     {"[6~", K_PAGE_DOWN},
    {"[3~", K_DELETE},      {"[Z", K_BACKTAB},
    {"OM", K_ENTER},        {"[200~", K_PASTE_BEGIN},
    {"[201~", K_PASTE_END},
};

/* Length of the escape sequence at s (s[0] is the escape), 0 when it is not whole yet. ECMA-48: CSI
 * ends at 0x40..0x7e. */
static size_t sequence_len(const unsigned char *s, size_t len)
{
    if (len < 2)
        return 0;
    if (s[1] == ESC)
        return 1;
    if (s[1] == 'O')
        return len >= 3 ? 3 : 0;
    if (s[1] != '[')
        return 2;
    for (size_t at = 2; at < len; at++) {
        if (s[at] >= 0x40 && s[at] <= 0x7e) {
            /* The Linux console sends its function keys as ESC [ [ A. */
            return s[at] == '[' && at == 2 ? (len > 3 ? 4 : 0) : at + 1;
        }
        if (s[at] < 0x20)
            return at;
    }
    return len < KEY_PENDING_MAX ? 0 : len;
}

static bool scan_escape(struct key *ret, const unsigned char *s, size_t len, size_t *ret_len)
{
    *ret_len = sequence_len(s, len);
    if (*ret_len == 1) {
        *ret = (struct key){.code = K_ESC};
        return true;
    }
    for (size_t i = 0; *ret_len > 0 && i < ARRAY_LEN(sequences); i++) {
        const char *sequence = sequences[i].sequence;
        if (strlen(sequence) == *ret_len - 1 && memcmp(s + 1, sequence, *ret_len - 1) == 0) {
            *ret = (struct key){.code = sequences[i].code};
            return true;
        }
    }
    return false;
}

static bool scan_control(struct key *ret, unsigned char c)
{
    switch (c) {
    case '\r':
    case '\n':
        *ret = (struct key){.code = K_ENTER};
        return true;
    case '\t':
        *ret = (struct key){.code = K_TAB};
        return true;
    case '\b':
    case DEL:
        *ret = (struct key){.code = K_BACKSPACE};
        return true;
    default: /* a byte, not one of our enums */
        *ret = (struct key){.code = K_CTRL, .ch = (uint32_t)(c | 0x40)};
        if (ret->ch >= 'A' && ret->ch <= 'Z')
            ret->ch += 'a' - 'A';
        return true;
    }
}

static bool is_scalar(uint32_t code, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    return code >= least[n] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) &&
           code >= 0xa0;
}

static bool scan_utf8(struct key *ret, const unsigned char *s, size_t len, size_t *ret_len)
{
    size_t n = s[0] >= 0xf0 && s[0] < 0xf8 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
    if (n == 0 || s[0] >= 0xf8) {
        *ret_len = 1;
        return false;
    }
    uint32_t code = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (i >= len) {
            *ret_len = 0;
            return false;
        }
        if ((s[i] & 0xc0) != 0x80) {
            *ret_len = i;
            return false;
        }
        code = code << 6 | (s[i] & 0x3fu);
    }
    *ret_len = n;
    *ret = (struct key){.code = K_CHAR, .ch = code};
    return is_scalar(code, n);
}

bool key_scan(struct key *ret, const unsigned char *s, size_t len, size_t *ret_len)
{
    if (s[0] == ESC)
        return scan_escape(ret, s, len, ret_len);
    if (s[0] >= 0x80)
        return scan_utf8(ret, s, len, ret_len);
    *ret_len = 1;
    if (s[0] < ' ' || s[0] == DEL)
        return scan_control(ret, s[0]);
    *ret = (struct key){.code = K_CHAR, .ch = s[0]};
    return true;
}

/* Take one whole key out of the pending bytes. *ret_len as with key_scan. */
static bool take(struct key *ret, struct key_reader *r, size_t *ret_len)
{
    struct key key;
    bool have = key_scan(&key, r->pending, r->n, ret_len);
    memmove(r->pending, r->pending + *ret_len, r->n - *ret_len);
    r->n -= *ret_len;
    if (*ret_len == 0 || !have)
        return false;
    if (key.code == K_PASTE_BEGIN || key.code == K_PASTE_END) {
        r->is_pasting = key.code == K_PASTE_BEGIN;
        return false;
    }
    key.is_pasted = r->is_pasting;
    *ret = key;
    return true;
}

bool key_next(struct key *ret, struct key_reader *r, const unsigned char *bytes, size_t len,
              size_t *ret_used)
{
    *ret_used = 0;
    for (;;) {
        size_t taken = 0;
        if (r->n > 0 && take(ret, r, &taken))
            return true;
        if (taken > 0)
            continue;
        if (*ret_used == len)
            return false;
        r->pending[r->n++] = bytes[(*ret_used)++];
    }
}

bool key_is_waiting(const struct key_reader *r)
{
    return r->n > 0;
}

bool key_flush(struct key *ret, struct key_reader *r)
{
    bool is_escape = r->n == 1 && r->pending[0] == ESC;
    r->n = 0;
    *ret = (struct key){.code = K_ESC, .is_pasted = r->is_pasting};
    return is_escape;
}
