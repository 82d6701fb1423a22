/*
 * url: https addresses of a host, as far as they are needed to connect. Pure.
 */
#ifndef BASE_URL_H
#define BASE_URL_H

#include <stdbool.h>
#include <stdint.h>
#include "runner/base/err.h"

/* https://HOST[:PORT][PATH]: the host (allocated), its port (443 where none is written), and what
 * is behind both (borrowed, may be empty). False: it is no such URL, or names an address in
 * brackets, or a user. */
bool url_split_https(char **ret_host, uint16_t *ret_port, const char **ret_path,
                     const char *url) WARN_UNUSED;

#endif
