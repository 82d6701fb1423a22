#include "gate/broker_url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gate/host.h"
#include "gate/shellwords.h"
#include "runner/base/mem.h"
#include "runner/base/strv.h"

static const struct {
    const char *head;
    enum broker_scheme scheme;
    uint16_t port;
} schemes[] = {
    {"https://", BROKER_HTTPS, 443}, {"http://", BROKER_HTTP, 80},   {"ssh://", BROKER_SSH, 22},
    {"git+ssh://", BROKER_SSH, 22},  {"ssh+git://", BROKER_SSH, 22},
};

void broker_url_release(struct broker_url *url)
{
    free(url->user);
    free(url->host);
    free(url->path);
    *url = (struct broker_url)BROKER_URL_INIT;
}

static bool refuse(struct err *err, const char *why)
{
    return err_set(
        err, ERR_REFUSED,
        "the remote's address %s; Headgate carries out what goes over ssh and https, and "
        "the rest is a person's to do",
        why);
}

static bool is_plain(const char *text, const char *more)
{
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr(more, *p))
            return false;
    return text[0] && text[0] != '-';
}

static bool take_user(struct broker_url *url, const char *text, size_t len, struct err *err)
{
    url->user = xstrndup(text, strcspn(text, ":") < len ? strcspn(text, ":") : len);
    if (url->scheme != BROKER_SSH) { /* part of a credential */
        free(url->user);
        url->user = NULL;
        return true;
    }
    return is_plain(url->user, "._-") || refuse(err, "has a user with odd characters");
}

static bool take_host(struct broker_url *url, const char *text, size_t len, struct err *err)
{
    struct host host;
    struct err ignored = ERR_INIT;
    if (!host_parse(&host, text, len, &ignored))
        return refuse(err, "names no host");
    url->host = xstrdup(host.text);
    return true;
}

static bool take_port(struct broker_url *url, const char *text, struct err *err)
{
    char *end;
    long port = isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : 0;
    if (port < 1 || port > UINT16_MAX || *end)
        return refuse(err, "has a port that cannot be");
    url->port = (uint16_t)port;
    return true;
}

/* user@host:port, the last two of which may be absent. */
static bool take_authority(struct broker_url *url, const char *text, size_t len, struct err *err)
{
    const char *at = memrchr(text, '@', len);
    if (at && !take_user(url, text, (size_t)(at - text), err))
        return false;
    if (at) {
        len -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    AUTO_FREE char *place = xstrndup(text, len);
    char *bracket = place[0] == '[' ? strchr(place, ']') : NULL;
    char *colon = strchr(bracket ? bracket : place, ':');
    if (colon && !take_port(url, colon + 1, err))
        return false;
    if (colon)
        *colon = '\0';
    bool is_bracketed = bracket && bracket[1] == '\0';
    if (place[0] == '[' && !is_bracketed)
        return refuse(err, "names no host");
    return is_bracketed ? take_host(url, place + 1, (size_t)(bracket - place - 1), err)
                        : take_host(url, place, strlen(place), err);
}

static bool take_path(struct broker_url *url, const char *text, struct err *err)
{
    url->path = xstrdup(text);
    if (!text[text[0] == '/'] || text[0] == '-' || strpbrk(text, "?#'\"`$\\ ") ||
        shellwords_unreadable(text, strlen(text)) || strlen(text) > 1024)
        return refuse(err, "has a path with odd characters");
    return true;
}

/* user@host:path, where a path of digits is a path and there is no port. */
static bool parse_short(struct broker_url *url, const char *text, struct err *err)
{
    const char *start = text[0] == '[' ? strchr(text, ']') : text;
    const char *colon = start ? strchr(start, ':') : NULL;
    const char *slash = strchr(text, '/');
    url->scheme = BROKER_SSH;
    url->port = 22;
    if (!colon || (slash && slash < colon) || colon[1] == ':')
        return refuse(err, "is a path of this machine or of an unknown kind");
    return take_authority(url, text, (size_t)(colon - text), err) && take_path(url, colon + 1, err);
}

static bool parse(struct broker_url *url, const char *text, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i].head);
        if (strncmp(text, schemes[i].head, len) != 0)
            continue;
        const char *place = text + len;
        size_t place_len = strcspn(place, "/");
        url->scheme = schemes[i].scheme;
        url->port = schemes[i].port;
        if (place[place_len] != '/')
            return refuse(err, "has no path");
        return take_authority(url, place, place_len, err) && take_path(url, place + place_len, err);
    }
    if (strstr(text, "://"))
        return refuse(err, "is of an unknown kind");
    return parse_short(url, text, err);
}

bool broker_url_parse(struct broker_url *ret, const char *text, struct err *err)
{
    AUTO_BROKER_URL struct broker_url url = BROKER_URL_INIT;
    if (!parse(&url, text, err))
        return false;
    *ret = url;
    url = (struct broker_url)BROKER_URL_INIT;
    return true;
}

static bool has_own_port(const struct broker_url *url)
{
    static const uint16_t usual[] = {[BROKER_SSH] = 22, [BROKER_HTTPS] = 443, [BROKER_HTTP] = 80};
    return url->port != usual[url->scheme];
}

char *broker_url_text(const struct broker_url *url)
{
    static const char *const heads[] = {
        [BROKER_SSH] = "ssh://", [BROKER_HTTPS] = "https://", [BROKER_HTTP] = "http://"};
    AUTO_BUF struct buf text = BUF_INIT;
    bool is_v6 = strchr(url->host, ':') != NULL;
    bool is_short = url->path[0] != '/'; /* relative to the user's home: only that form says it */
    if (!is_short)
        buf_adds(&text, heads[url->scheme]);
    if (url->user)
        buf_addf(&text, "%s@", url->user);
    buf_addf(&text, is_v6 ? "[%s]" : "%s", url->host);
    if (has_own_port(url))
        buf_addf(&text, ":%u", url->port);
    buf_addf(&text, "%s%s", is_short ? ":" : "", url->path);
    return buf_steal(&text);
}

char *broker_url_project(const struct broker_url *url)
{
    const char *path = url->path + strspn(url->path, "/");
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    if (len > 4 && strncmp(path + len - 4, ".git", 4) == 0)
        len -= 4;
    AUTO_FREE char *project = xstrndup(path, len);
    const char *slash = strchr(project, '/');
    if (!slash || slash == project || !slash[1] || !is_plain(project, "._-/"))
        return NULL;
    return steal_ptr(&project);
}
