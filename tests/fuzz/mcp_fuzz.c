/* What a client of the Model Context Protocol sends: each line gets an answer that is one line of
 * JSON, or is a call. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/mcp/message.h"
#include "gate/mcp/tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static json_t *tools;
    AUTO_MESSAGE struct message m = MESSAGE_INIT;
    if (!tools)
        tools = tools_list();
    message_read(&m, (const char *)data, size, tools);
    if (m.kind == MESSAGE_ANSWER) {
        AUTO_BUF struct buf line = BUF_INIT;
        jx_dump(&line, m.answer);
        if (memchr(line.ptr, '\n', line.len))
            abort();
    }
    if (m.kind == MESSAGE_CALL && (!m.tool || !json_is_object(m.args) || !m.id))
        abort();
    return 0;
}
