/* What Codex's app-server says: whatever it is, what comes of it is a request that the gate can
 * read or refuse. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/call.h"
#include "runner/drive/codex_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(json_t *request)
{
    AUTO_JSON json_t *owned = request;
    AUTO_CALL_REQUEST struct call_request call = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    jx_set_int(owned, "v", 1);
    if (call_request_from_json(&call, owned, &err) && strcmp(call.source, "confirm") != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_JSON json_t *msg = NULL;
    struct err err = ERR_INIT;
    if (!jx_parse(&msg, (const char *)data, size, &err))
        return 0;
    const json_t *params = jx_obj(msg, "params");
    check(codex_command_request(params, "main"));
    check(codex_change_request(params, jx_obj(params, "item"), "main", "/w"));
    if (codex_hook_is_active(msg, "/h", &err) && !jx_obj(msg, "result"))
        abort();
    return 0;
}
