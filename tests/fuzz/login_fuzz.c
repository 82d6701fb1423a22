/*
 * login_fuzz: a login's file, a line end, and an issuer's answer. What is renewed can be read again
 * and holds the answer's tokens, what is not is left as it was, and no error shows a token.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/login/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SHORT_BYTES = 8 }; /* a token as short may be part of any sentence */

static void check_secret(const struct err *err, const char *token)
{
    if (token && strlen(token) > SHORT_BYTES && strstr(err->text, token))
        abort();
}

static void try_form(const struct login_form *form, const json_t *given, const json_t *answer)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *file = json_deep_copy(given);
    AUTO_BUF struct buf body = BUF_INIT;
    AUTO_CREDENTIALS struct credentials old = CREDENTIALS_INIT, renewed = CREDENTIALS_INIT,
                                        again = CREDENTIALS_INIT;
    if (!credentials_read(&old, form, file, &err))
        return;
    if (old.refresh)
        credentials_ask(&body, form, &old);
    if (!credentials_renew(&renewed, file, form, &old, answer, 1, &err)) {
        check_secret(&err, old.refresh);
        if (!json_equal(file, given))
            abort();
        return;
    }
    if (!credentials_read(&again, form, file, &err) ||
        strcmp(again.access, jx_str(answer, "access_token", "")) != 0 || !again.refresh)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    const char *text = (const char *)data, *end = memchr(data, '\n', size);
    AUTO_JSON json_t *file = NULL;
    AUTO_JSON json_t *answer = NULL;
    if (!end || !jx_parse(&file, text, (size_t)(end - text), &err) ||
        !jx_parse(&answer, end + 1, size - (size_t)(end + 1 - text), &err))
        return 0;
    try_form(login_form("claude"), file, answer);
    try_form(login_form("codex"), file, answer);
    (void)credentials_is_spent(login_form("codex"), 401, answer);
    return 0;
}
