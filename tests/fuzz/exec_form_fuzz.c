/*
 * What an agent hands to a shell, against the forms that it is known to use: COMMAND NUL WORD. A
 * command in plain quotes always fits as one word; whatever fits stands between what the form says.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/exec_form.h"
#include "runner/base/buf.h"
#include "runner/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool fits(const char *pattern, const char *word, const char *command)
{
    AUTO_STRV struct strv form = STRV_INIT;
    AUTO_BUF struct buf argv = BUF_INIT;
    const struct exec_form_call call = {command, "/w"};
    strv_push(&form, "sh");
    strv_push(&form, "-c");
    strv_push(&form, pattern);
    buf_add(&argv, "/bin/sh\0-c", sizeof "/bin/sh\0-c");
    buf_add(&argv, word, strlen(word) + 1);
    return exec_form_fits(&form, argv.ptr, argv.len, &call);
}

static char *quoted(const char *command)
{
    struct buf out = BUF_INIT;
    buf_addch(&out, '\'');
    for (; *command; command++)
        if (*command == '\'')
            buf_adds(&out, "'\"'\"'");
        else
            buf_addch(&out, *command);
    buf_addch(&out, '\'');
    return buf_steal(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)data, size);
    size_t len = strlen(text);
    const char *word = len < size ? (const char *)data + len + 1 : "";
    AUTO_FREE char *second = xstrndup(word, len < size ? size - len - 1 : 0);
    AUTO_FREE char *whole = quoted(text);
    AUTO_FREE char *wrapped = xasprintf("eval %s < /dev/null && pwd -P >| /tmp/x-1-cwd", whole);
    static const char form[] = "eval %q < /dev/null && pwd -P >| /tmp/x-%i-cwd";
    if (!fits(form, wrapped, text) || !fits("%c", text, text) || !fits("%a", second, text))
        abort();
    if (fits("eval %q;", second, text) &&
        (strncmp(second, "eval ", 5) != 0 || second[strlen(second) - 1] != ';'))
        abort();
    fits("A=%a\nexec %q", second, text);
    fits(". %i.sh && { %c; }", second, text);
    return 0;
}
