/* What an agent writes to its hook, in each dialect: a request that the gate takes, or an error. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/dialect.h"
#include "runner/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct dialect *d, const struct dialect_input *in, bool allow)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_BUF struct buf errout = BUF_INIT;
    AUTO_JSON json_t *parsed = NULL;
    struct err err = ERR_INIT;
    const struct dialect_answer answer = {.allow = allow, .reason = NULL, .call = "c1"};
    int status = dialect_write(&out, &errout, d, in->event, &answer);
    if (!allow && out.len == 0 && (errout.len == 0 || status != 2))
        abort();
    if (out.len > 0 && !jx_parse(&parsed, out.ptr, out.len, &err))
        abort();
}

/* No words: the exit code says all. */
static void check_greeting(const struct dialect *d, const struct dialect_input *in)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_BUF struct buf errout = BUF_INIT;
    const struct dialect_answer no = {.allow = false, .call = ""};
    if (dialect_write(&out, &errout, d, in->event, &no) == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"plain", "claude", "codex", "gemini", "qwen"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct dialect *d = dialect_find(names[i]);
        AUTO_DIALECT_INPUT struct dialect_input in = DIALECT_INPUT_INIT;
        struct err err = ERR_INIT;
        if (!dialect_read(&in, d, (const char *)data, size, "/w", &err) || !in.request)
            continue;
        if (jx_bool(in.request, "hello", false)) {
            check_greeting(d, &in);
            continue;
        }
        AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
        if (!call_request_from_json(&r, in.request, &err))
            abort();
        check_answer(d, &in, true);
        check_answer(d, &in, false);
    }
    return 0;
}
