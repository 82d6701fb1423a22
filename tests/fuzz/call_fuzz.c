/* A gate message from inside a box: parse(print(x)) is x, by its digest. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    if (!call_request_parse(&r, (const char *)data, size, &err))
        return 0;
    AUTO_JSON json_t *message = call_request_json(&r);
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, message);
    AUTO_CALL_REQUEST struct call_request again = CALL_REQUEST_INIT;
    /* Numbers may print longer than they came, so that the length is not bounded here. */
    if (!call_request_from_json(&again, message, &err))
        abort();
    char digests[2][DIGEST_HEX_SIZE];
    call_digest(digests[0], "1.1", 1, &r);
    call_digest(digests[1], "1.1", 1, &again);
    if (strcmp(digests[0], digests[1]) != 0)
        abort();
    return 0;
}
