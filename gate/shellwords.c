#include "gate/shellwords.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/program.h"
#include "runner/base/buf.h"
#include "runner/base/mem.h"

static const char safe_bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                 "_@%+=:,./-";

struct scan {
    const char *at, *end;
    const char *opaque;
};

void shellwords_release(struct shellwords *s)
{
    for (size_t i = 0; i < s->n; i++)
        strv_release(&s->commands[i]);
    free(s->commands);
    *s = (struct shellwords)SHELLWORDS_INIT;
}

/* Decode one sequence of valid UTF-8 (Unicode 15, table 3-7); false when it is not. */
static bool next_code(uint32_t *ret, const char **at, const char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)*at;
    size_t len = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    if ((*p >= 0x80 && *p < 0xc2) || *p > 0xf4 || (size_t)(end - *at) < len)
        return false;
    uint32_t code = len == 1 ? *p : *p & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return false;
        code = code << 6 | (p[i] & 0x3fU);
    }
    if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    *ret = code;
    *at += len;
    return true;
}

/* Code points that a person does not see, or takes for something else: C1 controls, spaces that are
 * not U+0020, joiners, bidi controls, fillers, tags (Unicode 15, categories Cc, Cf, Zs, Zl, Zp). */
static bool is_invisible(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0x7f, 0xa0},     {0xad, 0xad},     {0x34f, 0x34f},     {0x600, 0x605},   {0x61c, 0x61c},
        {0x115f, 0x1160}, {0x1680, 0x1680}, {0x180b, 0x180f},   {0x2000, 0x200f}, {0x2028, 0x202f},
        {0x205f, 0x206f}, {0x2800, 0x2800}, {0x3000, 0x3000},   {0x3164, 0x3164}, {0xfeff, 0xfeff},
        {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

const char *shellwords_unreadable(const char *text, size_t len)
{
    if (len > SHELLWORDS_MAX_BYTES)
        return "longer than 10,000 bytes";
    const char *at = text, *end = text + len;
    while (at < end) {
        uint32_t code;
        if (!next_code(&code, &at, end))
            return "bytes that are not UTF-8";
        if (code < 0x20 && code != '\t' && code != '\n')
            return "a control character";
        if (is_invisible(code))
            return "a character that does not show";
    }
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip(struct scan *s, bool newlines_too)
{
    while (s->at < s->end && (is_blank(*s->at) || (newlines_too && *s->at == '\n')))
        s->at++;
}

static bool fail(struct scan *s, const char *why)
{
    s->opaque = why;
    return false;
}

/* Take a quoted part behind its opening quote. */
static bool take_quoted(struct scan *s, struct buf *word, char quote)
{
    const char *start = s->at;
    while (s->at < s->end && *s->at != quote) {
        if (quote == '"' && strchr("$`\\!", *s->at))
            return fail(s, "an expansion or an escape in double quotes");
        s->at++;
    }
    if (s->at == s->end)
        return fail(s, "a quote without its end");
    buf_add(word, start, (size_t)(s->at - start));
    s->at++;
    return true;
}

static bool is_word_end(const struct scan *s)
{
    return s->at == s->end || is_blank(*s->at) || strchr("\n;|&", *s->at);
}

/* Take one word. The first word of a command is the program: it must be bare of quotes, and no
 * assignment. */
static bool take_word(struct scan *s, struct strv *command)
{
    AUTO_BUF struct buf word = BUF_INIT;
    bool is_first = command->n == 0;
    while (!is_word_end(s)) {
        char c = *s->at;
        if ((c == '\'' || c == '"') && is_first)
            return fail(s, "quotes in a program's name");
        if (is_first && c == '=')
            return fail(s, "an assignment before a command");
        if (is_first && c == '%' && word.len == 0)
            return fail(s, "a job");
        if (c == '=' && word.len == 0)
            return fail(s, "an expansion of zsh (=NAME is where NAME lies)");
        s->at++;
        if (c == '\'' || c == '"') {
            if (!take_quoted(s, &word, c))
                return false;
        } else if (strchr(safe_bytes, c)) {
            buf_addch(&word, c);
        } else {
            return fail(s, "an expansion, a redirection or other shell grammar");
        }
    }
    strv_push_n(command, word.ptr, word.len);
    return true;
}

static struct strv *add_command(struct shellwords *out)
{
    out->commands = xreallocarray(out->commands, out->n + 1, sizeof(*out->commands));
    struct strv *command = &out->commands[out->n++];
    *command = (struct strv)STRV_INIT;
    return command;
}

static bool take_command(struct scan *s, struct shellwords *out)
{
    struct strv *command = add_command(out);
    for (;;) {
        skip(s, false);
        if (is_word_end(s))
            break;
        if (!take_word(s, command))
            return false;
    }
    if (command->n == 0)
        return fail(s, "a command that is empty");
    const char *why = program_opaque(command->v[0], command->v + 1, command->n - 1);
    return !why || fail(s, why);
}

/* Take a separator and the blank space around it; *ret_more says if a command must follow. */
static bool take_separator(struct scan *s, bool *ret_more)
{
    size_t left = (size_t)(s->end - s->at);
    bool is_double = left >= 2 && s->at[0] == s->at[1] && (*s->at == '&' || *s->at == '|');
    if (left > 0 && *s->at == '&' && !is_double)
        return fail(s, "a command in the background");
    bool is_newline = left > 0 && *s->at == '\n';
    s->at += is_double ? 2 : left > 0 ? 1 : 0;
    skip(s, true);
    *ret_more = left > 0 && !(is_newline && s->at == s->end);
    return true;
}

void shellwords_split(struct shellwords *ret, const char *text, size_t len)
{
    struct shellwords out = SHELLWORDS_INIT;
    struct scan s = {.at = text, .end = text + len, .opaque = shellwords_unreadable(text, len)};
    bool more = true;
    if (!s.opaque)
        skip(&s, true);
    while (!s.opaque && more)
        if (!take_command(&s, &out) || !take_separator(&s, &more))
            break;
    if (s.opaque)
        shellwords_release(&out);
    out.opaque = s.opaque;
    *ret = out;
}

void shellwords_of_argv(struct shellwords *ret, const struct strv *argv)
{
    struct shellwords out = SHELLWORDS_INIT;
    size_t bytes = 0;
    for (size_t i = 0; i < argv->n && !out.opaque; i++) {
        bytes += strlen(argv->v[i]) + 1;
        out.opaque = shellwords_unreadable(argv->v[i], strlen(argv->v[i]));
    }
    if (argv->n == 0 || argv->v[0][0] == '\0')
        out.opaque = "a command that is empty";
    else if (bytes > SHELLWORDS_MAX_BYTES)
        out.opaque = "longer than 10,000 bytes";
    else if (!out.opaque)
        out.opaque = program_opaque(argv->v[0], argv->v + 1, argv->n - 1);
    if (!out.opaque)
        strv_push_all(add_command(&out), strv_array(argv));
    *ret = out;
}
