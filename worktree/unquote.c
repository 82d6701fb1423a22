#include "worktree/unquote.h"

#include <string.h>

#include "runner/base/buf.h"
#include "runner/base/mem.h"

char *unquote_path(const char *text, size_t len)
{
    static const char letters[] = "abtnvfr\"\\", values[] = "\a\b\t\n\v\f\r\"\\";
    AUTO_BUF struct buf out = BUF_INIT;
    if (len < 2 || text[0] != '"')
        return xstrndup(text, len);
    for (size_t i = 1; i + 1 < len; i++) {
        const char *letter;
        if (text[i] != '\\') {
            buf_addch(&out, text[i]);
        } else if (i + 4 < len && text[i + 1] >= '0' && text[i + 1] <= '3') {
            buf_addch(&out, (char)((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                   (text[i + 3] - '0')));
            i += 3;
        } else if (text[++i] && (letter = strchr(letters, text[i]))) {
            buf_addch(&out, values[letter - letters]);
        }
    }
    return buf_steal(&out);
}
