#include "runner/base/url.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runner/base/mem.h"

#define SCHEME "https://"

enum { HTTPS_PORT = 443 };

bool url_split_https(char **ret_host, uint16_t *ret_port, const char **ret_path, const char *url)
{
    if (strncasecmp(url, SCHEME, strlen(SCHEME)) != 0)
        return false;
    url += strlen(SCHEME);
    size_t len = strcspn(url, "/?#");
    const char *colon = memchr(url, ':', len);
    size_t host_len = colon ? (size_t)(colon - url) : len;
    char *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : HTTPS_PORT;
    if (host_len == 0 || url[0] == '[' || memchr(url, '@', len) || port < 1 || port > UINT16_MAX ||
        (colon && end != url + len))
        return false;
    *ret_host = xstrndup(url, host_len);
    *ret_port = (uint16_t)port;
    *ret_path = url + len;
    return true;
}
