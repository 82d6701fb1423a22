#include "runner/cmd/print_diff.h"

#include <string.h>

#include "runner/base/text.h"

static enum print_style line_style(const char *line, size_t len, bool in_hunk)
{
    static const char *const heads[] = {"diff ",    "index ",   "--- ",    "+++ ",
                                        "new file", "deleted ", "rename ", "similarity ",
                                        "old mode", "new mode"};
    if (len >= 2 && memcmp(line, "@@", 2) == 0)
        return PRINT_CYAN;
    if (in_hunk && len && line[0] == '+')
        return PRINT_GREEN;
    if (in_hunk && len && line[0] == '-')
        return PRINT_RED;
    for (size_t i = 0; !in_hunk && i < sizeof(heads) / sizeof(heads[0]); i++)
        if (len >= strlen(heads[i]) && memcmp(line, heads[i], strlen(heads[i])) == 0)
            return PRINT_BOLD;
    return PRINT_PLAIN;
}

void print_diff(struct buf *out, const struct print *p, const char *patch, size_t len)
{
    const char *end = patch + len;
    bool in_hunk = false;
    while (patch < end) {
        const char *newline = memchr(patch, '\n', (size_t)(end - patch));
        size_t line_len = (size_t)((newline ? newline : end) - patch);
        AUTO_BUF struct buf line = BUF_INIT;
        if (line_len >= 5 && memcmp(patch, "diff ", 5) == 0)
            in_hunk = false;
        enum print_style style = line_style(patch, line_len, in_hunk);
        if (style == PRINT_CYAN)
            in_hunk = true;
        text_sanitise(&line, patch, line_len, TEXT_KEEP_TAB);
        print_clean(out, p, style, line.ptr);
        buf_addch(out, '\n');
        patch += line_len + 1;
    }
}
