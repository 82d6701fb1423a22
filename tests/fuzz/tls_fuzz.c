/*
 * Whatever bytes come: a name that is found is a host in its one form, and what follows the hello
 * does not change it. What passes of a second hello lies within what came, in whole records.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/keep/tls_flight.h"
#include "runner/keep/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_flight(const uint8_t *data, size_t size)
{
    struct tls_flight f;
    struct host host;
    struct err err = ERR_INIT;
    size_t clear = 0, at = 0;
    if (!host_parse(&host, "listed.test", 11, &err))
        abort();
    tls_flight_init(&f, &host, false);
    enum tls_follow whole = tls_flight_take(&f, &clear, data, size);
    tls_flight_release(&f);
    if (whole != TLS_FOLLOW_OTHER && clear > size)
        abort();
    if (tls_hello_len(data, size) > size)
        abort();
    (void)tls_answer(data, size);
    /* The same when it comes byte by byte. */
    enum tls_follow cut = TLS_FOLLOW_MORE;
    tls_flight_init(&f, &host, false);
    for (size_t len = 1; len <= size && cut == TLS_FOLLOW_MORE; len++) {
        cut = tls_flight_take(&f, &clear, data + at, len - at);
        at += cut == TLS_FOLLOW_MORE ? clear : 0;
    }
    tls_flight_release(&f);
    if (whole != cut)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host host, again;
    struct err err = ERR_INIT;
    check_flight(data, size);
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
