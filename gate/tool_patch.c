/*
 * The files that a patch names. Who applies it reads its headers more or less strictly (git apply,
 * the parsers of Codex and OpenCode): each reading that one of them may have counts, since a file
 * that is passed over here is changed without a word.
 */
#include <string.h>
#include <strings.h>

#include "gate/tool.h"
#include "runner/base/mem.h"

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static size_t without_blanks_behind(const char *name, size_t len)
{
    while (len > 0 && strchr(" \t\r", name[len - 1]))
        len--;
    return len;
}

/* A name of a unified diff, also as it is without its first folder, which git apply takes away
 * whatever it is called. */
static void push_name(struct strv *out, const char *name, size_t len)
{
    const char *slash = memchr(name, '/', len);
    bool is_side = len > 2 && (name[0] == 'a' || name[0] == 'b') && name[1] == '/';
    if (!is_side)
        strv_push_n(out, name, len);
    if (slash && slash > name && slash + 1 < name + len)
        strv_push_n(out, slash + 1, len - (size_t)(slash + 1 - name));
}

/* Without a time stamp, and /dev/null. Where git's own header is absent, a blank ends it as well.
 */
static bool take_name(struct strv *out, const char *name, size_t len)
{
    const char *tab = memchr(name, '\t', len);
    len = without_blanks_behind(name, tab ? (size_t)(tab - name) : len);
    const char *blank = memchr(name, ' ', len);
    if (len == 0 || name[0] == '"')
        return false;
    if (len == 9 && memcmp(name, "/dev/null", 9) == 0)
        return true;
    push_name(out, name, len);
    if (blank && blank > name)
        push_name(out, name, (size_t)(blank - name));
    return true;
}

/* Names of git's own lines are whole. */
static bool take_whole_name(struct strv *out, const char *name, size_t len)
{
    len = without_blanks_behind(name, len);
    if (len > 0 && name[0] != '"')
        strv_push_n(out, name, len);
    return len > 0 && name[0] != '"';
}

static bool take_diff_line(struct strv *out, const char *line, size_t len)
{
    static const struct {
        const char *head;
        bool (*take)(struct strv *out, const char *name, size_t len);
    } heads[] = {
        {"+++ ", take_name},
        {"--- ", take_name},
        {"rename from ", take_whole_name},
        {"rename to ", take_whole_name},
        {"copy to ", take_whole_name},
    };
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        size_t head = strlen(heads[i].head);
        if (len > head && memcmp(line, heads[i].head, head) == 0)
            return heads[i].take(out, line + head, len - head);
    }
    return true;
}

static bool starts(const char *text, size_t len, const char *words)
{
    return len >= strlen(words) && strncasecmp(text, words, strlen(words)) == 0;
}

/* `*** Add File: NAME`: agents take blanks before it and around the name, or none behind the colon.
 * False: a line of this kind that says something else, unless it may be of a file's text. */
static bool take_block_line(struct strv *out, const char *line, size_t len)
{
    static const char *const heads[] = {"Add File:", "Update File:", "Delete File:", "Move to:"};
    static const char *const others[] = {"Begin Patch", "End Patch", "End of File",
                                         "Environment ID:"};
    const char *end = line + len, *at = skip_blanks(line, end);
    if (end - at < 3 || memcmp(at, "***", 3) != 0)
        return true;
    bool is_text = at > line;
    at = skip_blanks(at + 3, end);
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        if (!starts(at, (size_t)(end - at), heads[i]))
            continue;
        at = skip_blanks(at + strlen(heads[i]), end);
        size_t name = without_blanks_behind(at, (size_t)(end - at));
        strv_push_n(out, at, name);
        return name > 0 || is_text;
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (starts(at, (size_t)(end - at), others[i]))
            return true;
    return is_text;
}

/* `diff --git a/x b/x` is the only header of a change of mode; the names are equal then. */
static bool take_git_header(struct strv *out, const char *line, size_t len)
{
    static const char head[] = "diff --git ";
    size_t start = sizeof(head) - 1;
    if (len <= start || memcmp(line, head, start) != 0)
        return true;
    const char *names = line + start;
    size_t half = (len - start) / 2;
    bool is_equal = half > 2 && (len - start) % 2 == 1 && names[half] == ' ' &&
                    memcmp(names + 2, names + half + 3, half - 2) == 0;
    /* Of unequal names, a rename or a copy, the lines that follow tell both. */
    return !is_equal || take_name(out, names, half);
}

bool tool_patch_paths(struct strv *out, const char *patch, size_t len)
{
    size_t before = out->n;
    bool is_readable = true;
    const char *end = patch + len;
    while (patch < end) {
        const char *newline = memchr(patch, '\n', (size_t)(end - patch));
        size_t line = (size_t)((newline ? newline : end) - patch);
        is_readable = take_block_line(out, patch, line) && is_readable;
        is_readable = take_diff_line(out, patch, line) && is_readable;
        is_readable = take_git_header(out, patch, line) && is_readable;
        patch += line + (newline ? 1 : 0);
    }
    return is_readable && out->n > before;
}
