#include "runner/base/err.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"

static const struct {
    enum err_code code;
    const char *name;
    int exit_code;
} codes[] = {
    {ERR_NONE, "none", 0},           {ERR_USAGE, "usage", 2},       {ERR_FAILED, "failed", 1},
    {ERR_NOT_FOUND, "not_found", 1}, {ERR_CONFLICT, "conflict", 1}, {ERR_REFUSED, "refused", 1},
    {ERR_LIMIT, "limit", 1},         {ERR_LAYER, "layer", 4},       {ERR_FORMAT, "format", 1},
    {ERR_SYS, "system", 5},          {ERR_INTERNAL, "internal", 5}, {ERR_SHOWN, "shown", 0},
};

/* The length of the UTF-8 sequence that lead starts, as far as the lead byte tells. */
static size_t sequence_length(unsigned char lead)
{
    if (lead >= 0xf0)
        return 4;
    if (lead >= 0xe0)
        return 3;
    return lead >= 0xc0 ? 2 : 1;
}

/* Drop a multi-byte sequence that a full buffer has cut at the end of text. */
static size_t without_cut_sequence(const char *text, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)text[len - back];
        if ((c & 0xc0) == 0x80)
            continue;
        return sequence_length(c) > back ? len - back : len;
    }
    return len;
}

/*
 * Copy raw into out with C0, DEL and C1 control characters escaped. Printing an error must never
 * drive a terminal, whatever name from outside it quotes. This is the narrow form of
 * text_sanitise() that needs no tables and is safe in a forked child.
 */
static void escape_controls(char *out, size_t size, const char *raw)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)raw; *p; p++) {
        bool is_c1 = p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f;
        if (!is_c1 && *p >= 0x20 && *p != 0x7f) {
            if (n + 1 >= size)
                break;
            out[n++] = (char)*p;
            continue;
        }
        if (is_c1)
            p++;
        if (n + 4 >= size)
            break;
        out[n++] = '\\';
        if (*p == '\n' || *p == '\t') {
            out[n++] = *p == '\n' ? 'n' : 't';
            continue;
        }
        out[n++] = 'x';
        out[n++] = digits[*p >> 4];
        out[n++] = digits[*p & 15];
    }
    out[without_cut_sequence(out, n)] = '\0';
}

bool err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    /* Formatted aside first: the arguments may quote err->text. */
    char raw[sizeof(err->text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(raw, sizeof(raw), fmt, args);
    va_end(args);
    err->code = code;
    err->sys_errno = 0;
    escape_controls(err->text, sizeof(err->text), raw);
    return false;
}

const char *err_describe(int errnum)
{
#ifdef __GLIBC__
    return strerrordesc_np(errnum);
#else
    return strerror(errnum); /* of musl: a table, and no locale is ever set */
#endif
}

bool err_sys(struct err *err, int errnum, const char *fmt, ...)
{
    char raw[sizeof(err->text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(raw, sizeof(raw), fmt, args);
    va_end(args);
    const char *why = err_describe(errnum);
    if (why)
        err_set(err, ERR_SYS, "%.900s: %s", raw, why);
    else
        err_set(err, ERR_SYS, "%.900s: error %d", raw, errnum);
    err->sys_errno = errnum;
    return false;
}

bool err_prefix(struct err *err, const char *fmt, ...)
{
    char raw[sizeof(err->text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(raw, sizeof(raw), fmt, args);
    va_end(args);
    int cause = err->sys_errno;
    err_set(err, err->code, "%.500s: %s", raw, err->text);
    err->sys_errno = cause;
    return false;
}

int err_exit_code(const struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].code == err->code)
            return codes[i].exit_code;
    return 5;
}

const char *err_code_name(enum err_code code)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "internal";
}

enum err_code err_code_from_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (strcmp(codes[i].name, name) == 0)
            return codes[i].code;
    return ERR_INTERNAL;
}
