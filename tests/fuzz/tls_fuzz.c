/*
 * Whatever bytes come: a name that is found is a host in its one form, and what follows the hello does
 * not change it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/keep/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host host, again;
    struct err err = ERR_INIT;
    for (size_t len = 0; len <= size; len += size / 16 + 1) {
        if (tls_hello(&again, data, len) != TLS_NAME)
            continue;
        if (tls_hello(&host, data, size) != TLS_NAME || strcmp(host.text, again.text) != 0)
            abort();
    }
    if (tls_hello(&host, data, size) == TLS_NAME &&
        (!host_parse(&again, host.text, strlen(host.text), &err) ||
         strcmp(host.text, again.text) != 0))
        abort();
    return 0;
}
