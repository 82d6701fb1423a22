/* Whatever bytes come: a message that is taken lies within them, and its host is in its one form.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/keep/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host host, again;
    struct err err = ERR_INIT;
    enum socks_reply reply;
    uint16_t port;
    size_t len;
    bool has_method;
    if (socks_hello(&len, &has_method, data, size) == SOCKS_DONE && len > size)
        abort();
    if (socks_request(&len, &host, &port, &reply, data, size, &err) != SOCKS_DONE)
        return 0;
    if (len > size || port == 0 || !host_parse(&again, host.text, strlen(host.text), &err) ||
        strcmp(host.text, again.text) != 0)
        abort();
    return 0;
}
