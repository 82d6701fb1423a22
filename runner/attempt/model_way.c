#include "runner/attempt/model_way.h"

#include <stdlib.h>
#include <string.h>

#include "runner/agents/agent.h"
#include "runner/base/mem.h"

/* Below the ports of the proxy (way_out.c). */
enum { FIRST_PORT = 17017, HTTPS_PORT = 443 };

#define SCHEME "https://"

void model_way_release(struct model_way *w)
{
    free(w->host);
    free(w->ca_file);
    *w = (struct model_way)MODEL_WAY_INIT;
}

json_t *model_way_json(const struct model_way *w)
{
    if (!w->host)
        return json_null();
    json_t *j = json_object();
    jx_set_str(j, "host", w->host);
    jx_set_int(j, "port", w->port);
    jx_set_str(j, "ca", w->ca_file);
    return j;
}

void model_way_parse(struct model_way *ret, const json_t *j)
{
    const char *host = jx_str(j, "host", NULL), *ca = jx_str(j, "ca", NULL);
    *ret = (struct model_way){.host = host ? xstrdup(host) : NULL,
                              .port = (uint16_t)jx_int(j, "port", HTTPS_PORT),
                              .ca_file = ca ? xstrdup(ca) : NULL};
}

uint16_t model_way_port(const struct strv *services)
{
    for (uint16_t port = FIRST_PORT;; port++) {
        AUTO_FREE char *text = xasprintf("%u", port);
        if (!strv_has(services, text))
            return port;
    }
}

/* Of the form of the real one, since agents look at that; and told apart from every real one. */
static char *placeholder_for(const char *variable)
{
    return xasprintf("sk-ant-headgate-placeholder-%s", variable);
}

static bool is_held_inside(const struct agent *agent, const struct config *config)
{
    AUTO_FREE char *key = xasprintf("agent.%s.key", agent->name);
    const char *where = config_str(config, key, NULL);
    return where && strcmp(where, "inside") == 0;
}

/* host[:port] of an https URL, and what is behind it. False: it is none. */
static bool split_url(struct model_way *ret, const char **ret_path, const char *url)
{
    if (strncmp(url, SCHEME, strlen(SCHEME)) != 0)
        return false;
    url += strlen(SCHEME);
    size_t len = strcspn(url, "/?#");
    const char *colon = memchr(url, ':', len);
    size_t host_len = colon ? (size_t)(colon - url) : len;
    long port = colon ? strtol(colon + 1, NULL, 10) : HTTPS_PORT;
    if (host_len == 0 || url[0] == '[' || port < 1 || port > UINT16_MAX)
        return false;
    ret->host = xstrndup(url, host_len);
    ret->port = (uint16_t)port;
    *ret_path = url + len;
    return true;
}

static bool is_placeholder(const char *variable, const char *value)
{
    AUTO_FREE char *placeholder = placeholder_for(variable);
    return strcmp(value, placeholder) == 0;
}

static json_t *take_keys(struct strv *env, const struct agent *agent)
{
    json_t *keys = NULL;
    for (size_t i = 0; agent->keys[i]; i++) {
        const char *value = strv_env_get(env, agent->keys[i]);
        if (!value || !value[0] || is_placeholder(agent->keys[i], value))
            continue;
        AUTO_FREE char *placeholder = placeholder_for(agent->keys[i]);
        keys = keys ? keys : json_object();
        jx_set_str(keys, placeholder, value);
        strv_env_set(env, agent->keys[i], placeholder);
    }
    return keys;
}

/* The agent is resumed: its environment was treated at its first start. */
static bool is_own_address(const struct model_way *way, const char *url,
                           const struct strv *services)
{
    AUTO_FREE char *own = xasprintf("http://127.0.0.1:%u", model_way_port(services));
    return way->host && url && strncmp(url, own, strlen(own)) == 0;
}

bool model_way_take(struct model_way *ret, json_t **ret_keys, struct strv *env,
                    const struct strv *services, const struct agent *agent,
                    const struct config *config, struct err *err)
{
    struct model_way way = MODEL_WAY_INIT;
    const char *path;
    *ret_keys = NULL;
    if (!agent->keys || !agent->url_env || !agent->model_url || is_held_inside(agent, config))
        return true;
    const char *own = strv_env_get(env, agent->url_env);
    if (is_own_address(ret, own, services)) {
        *ret_keys = take_keys(env, agent);
        return true;
    }
    if (!split_url(&way, &path, own && own[0] ? own : agent->model_url))
        return true; /* somebody's own server, in the clear: a service of this host, mostly */
    json_t *keys = take_keys(env, agent);
    if (!keys) {
        model_way_release(&way);
        return true;
    }
    AUTO_FREE char *ca_key = xasprintf("agent.%s.ca", agent->name);
    const char *ca = config_str(config, ca_key, NULL);
    if (ca && ca[0] != '/') {
        json_decref(keys);
        model_way_release(&way);
        return err_set(err, ERR_USAGE, "%s must be an absolute path", ca_key);
    }
    way.ca_file = ca ? xstrdup(ca) : NULL;
    AUTO_FREE char *inside = xasprintf("http://127.0.0.1:%u%s", model_way_port(services), path);
    strv_env_set(env, agent->url_env, inside);
    model_way_release(ret);
    *ret = way;
    *ret_keys = keys;
    return true;
}
