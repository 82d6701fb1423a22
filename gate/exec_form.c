#include "gate/exec_form.h"

#include <ctype.h>
#include <string.h>

#include "gate/shellwords.h"
#include "runner/base/buf.h"
#include "runner/base/fs.h"

static bool is_made_up(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* What means itself in every shell without quotes. */
static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_-./:,+@%=", c));
}

/* The inside of double quotes; expansions are not read. */
static bool read_double(struct buf *out, const char **at)
{
    for (const char *p = *at; *p; p++) {
        if (*p == '"') {
            *at = p + 1;
            return true;
        }
        if (*p == '$' || *p == '`' || *p == '!')
            return false;
        if (*p == '\\' && p[1] && strchr("\\\"$`", p[1]))
            p++;
        buf_addch(out, *p);
    }
    return false;
}

static bool read_single(struct buf *out, const char **at)
{
    const char *end = strchr(*at, '\'');
    if (!end)
        return false;
    buf_add(out, *at, (size_t)(end - *at));
    *at = end + 1;
    return true;
}

/* One shell word from *at on, its quotes taken off. False: it may mean more than it says. */
static bool read_word(struct buf *out, const char **at)
{
    const char *start = *at;
    for (;;) {
        char c = **at;
        if (c == '\'' || c == '"') {
            (*at)++;
            if (!(c == '"' ? read_double(out, at) : read_single(out, at)))
                return false;
        } else if (c == '\\' && (*at)[1] && (*at)[1] != '\n') {
            buf_addch(out, (*at)[1]);
            *at += 2;
        } else if (is_plain(c)) {
            buf_addch(out, c);
            (*at)++;
        } else {
            return *at > start;
        }
    }
}

static bool fits_word(const char *pattern, const char *word, const struct exec_form_call *call);

/* A made-up name as long as the rest of the pattern lets it be. */
static bool fits_made_up(const char *rest, const char *word, const struct exec_form_call *call)
{
    size_t len = 0;
    while (is_made_up(word[len]))
        len++;
    for (; len > 0; len--)
        if (fits_word(rest, word + len, call))
            return true;
    return false;
}

static bool fits_any(const char *rest, const char *word, const struct exec_form_call *call)
{
    if (!*rest)
        return true;
    for (; *word; word++)
        if (fits_word(rest, word, call))
            return true;
    return fits_word(rest, word, call);
}

/* This text, byte for byte. */
static bool fits_text(const char *rest, const char *word, const struct exec_form_call *call,
                      const char *text)
{
    size_t len = text ? strlen(text) : 0;
    return text && strncmp(word, text, len) == 0 && fits_word(rest, word + len, call);
}

static bool fits_quoted(const char *rest, const char *word, const struct exec_form_call *call)
{
    AUTO_BUF struct buf text = BUF_INIT;
    return call && read_word(&text, &word) && text.len == strlen(call->command) &&
           memcmp(text.ptr, call->command, text.len) == 0 && fits_word(rest, word, call);
}

static bool fits_word(const char *pattern, const char *word, const struct exec_form_call *call)
{
    while (*pattern && *pattern != '%')
        if (*word++ != *pattern++)
            return false;
    if (!*pattern)
        return *word == '\0';
    switch (pattern[1]) {
    case 'c':
        return fits_text(pattern + 2, word, call, call ? call->command : NULL);
    case 'd':
        return fits_text(pattern + 2, word, call, call ? call->folder : NULL);
    case 'q':
        return fits_quoted(pattern + 2, word, call);
    case 'i':
        return fits_made_up(pattern + 2, word, call);
    case 'a':
        return fits_any(pattern + 2, word, call);
    case '%':
        return *word == '%' && fits_word(pattern + 2, word + 1, call);
    default:
        return false;
    }
}

/* The command without a shell: its own words. */
static bool fits_words(const char *argv, size_t len, const struct exec_form_call *call)
{
    AUTO_SHELLWORDS struct shellwords words = SHELLWORDS_INIT;
    if (!call)
        return false;
    shellwords_split(&words, call->command, strlen(call->command));
    if (words.opaque || words.n != 1)
        return false;
    const struct strv *want = &words.commands[0];
    const char *at = argv, *end = argv + len;
    for (size_t i = 0; i < want->n; i++) {
        if (at >= end || strcmp(at, want->v[i]) != 0)
            return false;
        at += strlen(at) + 1;
    }
    return at == end;
}

bool exec_form_fits(const struct strv *form, const char *argv, size_t len,
                    const struct exec_form_call *call)
{
    const char *at = argv, *end = argv + len;
    if (form->n == 1 && strcmp(form->v[0], "%w") == 0)
        return fits_words(argv, len, call);
    if (form->n == 0 || at >= end || strcmp(fs_basename(at), fs_basename(form->v[0])) != 0)
        return false;
    at += strlen(at) + 1;
    for (size_t i = 1; i < form->n; i++) {
        if (i + 1 == form->n && strcmp(form->v[i], "%*") == 0)
            return true;
        if (at >= end || !fits_word(form->v[i], at, call))
            return false;
        at += strlen(at) + 1;
    }
    return at == end;
}

bool exec_form_has_folder(const struct strv *form)
{
    for (size_t i = 0; i < form->n; i++)
        if (strcmp(form->v[i], "%d") == 0)
            return true;
    return false;
}
