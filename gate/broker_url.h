/*
 * broker_url: where a remote leads, by its address: https://, http://, ssh:// or user@host:path.
 * Pure.
 */
#ifndef GATE_BROKER_URL_H
#define GATE_BROKER_URL_H

#include <stdint.h>
#include "runner/base/buf.h"

enum broker_scheme { BROKER_SSH, BROKER_HTTPS, BROKER_HTTP };

struct broker_url {
    enum broker_scheme scheme;
    char *user; /* NULL: none; without password */
    char *host; /* lower case; of an IPv6 address without brackets */
    uint16_t port;
    char *path; /* relative only in user@host:path, where it is below the user's home */
};
#define BROKER_URL_INIT \
    {                   \
        0               \
    }
#define AUTO_BROKER_URL __attribute__((cleanup(broker_url_release)))
void broker_url_release(struct broker_url *url);

/* ERR_REFUSED for an address of another kind (a path, a remote helper, ext::) or with parts that no
 * host, user or path has; it is not quoted, since it may hold a secret. */
bool broker_url_parse(struct broker_url *ret, const char *text, struct err *err) WARN_UNUSED;
/* The address as git is to use it: without password, and for the web without user. Allocated. */
char *broker_url_text(const struct broker_url *url);
/* OWNER/NAME (of GitLab also with groups) behind it, without .git; NULL: it has no such form.
 * Allocated. */
char *broker_url_project(const struct broker_url *url);

#endif
