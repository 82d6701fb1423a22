/* Whatever text: a host or pattern that is taken has one form, which reads back as itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/host.h"
#include "runner/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host host, again;
    struct host_pattern pattern;
    struct err err = ERR_INIT;
    uint16_t port;
    AUTO_FREE char *text = xstrndup((const char *)data, size);
    if (host_pattern_parse(&pattern, text, &err) && pattern.is_below &&
        host_pattern_names(&pattern, &pattern.host))
        abort(); /* `*.name` is not name */
    if (!host_parse_authority(&host, &port, (const char *)data, size, 80, &err))
        return 0;
    if (!host_parse(&again, host.text, strlen(host.text), &err) ||
        strcmp(again.text, host.text) != 0 || again.is_address != host.is_address)
        abort();
    return 0;
}
