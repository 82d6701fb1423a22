#include "runner/attempt/model_way.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runner/agents/agent.h"
#include "runner/base/mem.h"
#include "runner/base/url.h"

/* Below the ports of the proxy (way_out.c). */
enum { FIRST_PORT = 17017, HTTPS_PORT = 443 };

static void release(struct model_way *w)
{
    free(w->provider);
    free(w->host);
    free(w->ca_file);
    json_decref(w->keys);
    json_decref(w->paths);
    free(w->login);
    *w = (struct model_way){0};
}

void model_ways_release(struct model_ways *w)
{
    for (size_t i = 0; i < w->n; i++)
        release(&w->v[i]);
    w->n = 0;
}

static json_t *to_json(const struct model_way *w)
{
    json_t *j = json_object();
    jx_set_str(j, "provider", w->provider);
    jx_set_str(j, "host", w->host);
    jx_set_int(j, "port", w->port);
    jx_set_int(j, "inside", w->inside);
    jx_set_str(j, "ca", w->ca_file);
    jx_set(j, "keys", json_deep_copy(w->keys));
    if (w->login) {
        jx_set_str(j, "login", w->login);
        jx_set(j, "paths", json_deep_copy(w->paths));
    }
    return j;
}

json_t *model_ways_json(const struct model_ways *w)
{
    json_t *list = json_array();
    for (size_t i = 0; i < w->n; i++)
        json_array_append_new(list, to_json(&w->v[i]));
    return list;
}

void model_ways_parse(struct model_ways *ret, const json_t *list)
{
    size_t i;
    const json_t *j;
    *ret = (struct model_ways){.n = 0};
    json_array_foreach(list, i, j)
    {
        const char *ca = jx_str(j, "ca", NULL), *login = jx_str(j, "login", NULL);
        if (ret->n == PROVIDERS_MAX)
            return;
        ret->v[ret->n++] = (struct model_way){
            .provider = xstrdup(jx_str(j, "provider", "")),
            .host = xstrdup(jx_str(j, "host", "")),
            .port = (uint16_t)jx_int(j, "port", HTTPS_PORT),
            .inside = (uint16_t)jx_int(j, "inside", 0),
            .ca_file = ca ? xstrdup(ca) : NULL,
            .keys = json_deep_copy(jx_arr(j, "keys")),
            .login = login ? xstrdup(login) : NULL,
            .paths = json_deep_copy(jx_arr(j, "paths")),
        };
    }
}

static const char placeholder_words[] = "headgate-placeholder-";

const char *model_ways_lacking(const struct model_ways *w, const json_t *keys)
{
    for (size_t i = 0; i < w->n; i++) {
        size_t k;
        const json_t *key;
        if (w->v[i].login)
            continue;
        json_array_foreach(w->v[i].keys, k, key)
        {
            const char *placeholder = jx_str(key, "placeholder", "");
            const char *words = strstr(placeholder, placeholder_words);
            if (!jx_str(keys, placeholder, NULL))
                return words ? words + strlen(placeholder_words) : placeholder;
        }
    }
    return NULL;
}

/* Of the form of the real one, since agents look at that; and told apart from every real one. */
static char *placeholder_for(const struct provider *p, const char *variable)
{
    return xasprintf("%s%s%s", p->shape, placeholder_words, variable);
}

static bool is_held_inside(const struct agent *agent, const struct config *config)
{
    AUTO_FREE char *key = xasprintf("agent.%s.key", agent->name);
    const char *where = config_str(config, key, NULL);
    return where && strcmp(where, "inside") == 0;
}

static const char *url_of(const struct provider *p, const struct strv *env)
{
    const char *own = strv_env_get(env, p->url_env);
    return own && own[0] ? own : p->url;
}

/* Whether one of p's keys is in env, as it is or by its placeholder. */
static bool has_key(const struct provider *p, const struct strv *env)
{
    for (size_t i = 0; p->keys[i].variable; i++) {
        const char *value = strv_env_get(env, p->keys[i].variable);
        if (value && value[0])
            return true;
    }
    return false;
}

/* What no header can carry would only be found out when the agent asks. */
static bool check_keys(const struct provider *p, const struct strv *env, struct err *err)
{
    for (size_t i = 0; p->keys[i].variable; i++) {
        const char *value = strv_env_get(env, p->keys[i].variable);
        for (; value && *value; value++)
            if (*value < ' ' || *value > '~')
                return err_set(err, ERR_USAGE,
                               "the value of %s is no key: it holds a line break or another "
                               "character that no header can carry "
                               "(a keyCommand prints the key alone)",
                               p->keys[i].variable);
    }
    return true;
}

static bool is_in_the_clear(const char *url)
{
    return strncasecmp(url, "http://", strlen("http://")) == 0;
}

/* Exchange p's keys in env for placeholders, and say in which headers those are looked for. */
static json_t *take_keys(json_t *keys, struct strv *env, const struct provider *p)
{
    json_t *headers = json_array();
    for (size_t i = 0; p->keys[i].variable; i++) {
        const struct provider_key *k = &p->keys[i];
        const char *value = strv_env_get(env, k->variable);
        if (!value || !value[0])
            continue;
        AUTO_FREE char *placeholder = placeholder_for(p, k->variable);
        if (strcmp(value, placeholder) != 0) {
            jx_set_str(keys, placeholder, value);
            strv_env_set(env, k->variable, placeholder);
        }
        json_array_append_new(
            headers, json_pack("{s:s, s:s}", "placeholder", placeholder, "header", k->header));
    }
    return headers;
}

static bool has_port(const struct model_ways *w, uint16_t port)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].inside == port)
            return true;
    return false;
}

static uint16_t free_port(const struct model_ways *w, const struct strv *services)
{
    for (uint16_t port = FIRST_PORT;; port++) {
        AUTO_FREE char *text = xasprintf("%u", port);
        if (!strv_has(services, text) && !has_port(w, port))
            return port;
    }
}

static struct model_way *way_to(struct model_ways *w, const struct provider *p)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->v[i].provider, p->name) == 0)
            return &w->v[i];
    return NULL;
}

static bool is_own_address(const struct model_way *way, const char *url)
{
    AUTO_FREE char *own = xasprintf("http://127.0.0.1:%u", way->inside);
    return strncmp(url, own, strlen(own)) == 0;
}

static void drop(struct model_ways *w, struct model_way *way)
{
    release(way);
    *way = w->v[--w->n];
    w->v[w->n] = (struct model_way){0};
}

static bool ca_of(char **ret, const struct agent *agent, const struct config *config,
                  struct err *err)
{
    AUTO_FREE char *key = xasprintf("agent.%s.ca", agent->name);
    const char *ca = config_str(config, key, NULL);
    if (ca && ca[0] != '/')
        return err_set(err, ERR_USAGE, "%s must be an absolute path", key);
    *ret = ca ? xstrdup(ca) : NULL;
    return true;
}

static bool take(struct model_ways *ways, json_t *keys, struct strv *env,
                 const struct strv *services, const struct provider *p, const char *ca,
                 struct err *err)
{
    struct model_way way = {0};
    const char *path;
    if (!has_key(p, env))
        return true;
    const char *url = url_of(p, env);
    struct model_way *had = way_to(ways, p);
    if (!check_keys(p, env, err))
        return false;
    if (had &&
        is_own_address(had, url)) { /* an agent that goes on: its environment was treated before */
        json_decref(had->keys);
        had->keys = take_keys(keys, env, p);
        return true;
    }
    if (had)
        drop(ways, had);
    if (is_in_the_clear(url))
        return true; /* somebody's own server: a service of this host, mostly */
    if (!url_split_https(&way.host, &way.port, &path, url))
        return err_set(err, ERR_USAGE,
                       "%s names no server that a key can be shown to from outside of the box: it "
                       "takes https://HOST[:PORT][/PATH], "
                       "without a user and without an address in brackets",
                       p->url_env);
    if (ways->n == PROVIDERS_MAX) {
        release(&way);
        return err_set(err, ERR_LIMIT, "an agent has keys of %d providers at most", PROVIDERS_MAX);
    }
    way.provider = xstrdup(p->name);
    way.inside = free_port(ways, services);
    way.ca_file = ca ? xstrdup(ca) : NULL;
    AUTO_FREE char *inside = xasprintf("http://127.0.0.1:%u%s", way.inside, path);
    strv_env_set(env, p->url_env, inside);
    way.keys = take_keys(keys, env, p);
    ways->v[ways->n++] = way;
    return true;
}

/* No key of its providers, nor another place of theirs. */
static void drop_keys(struct strv *env, const struct provider *all, size_t n)
{
    AUTO_STRV struct strv names = STRV_INIT;
    provider_variables(&names, all, n);
    for (size_t i = 0; i < names.n; i++)
        strv_env_set(env, names.v[i], NULL);
}

static json_t *paths_of(const struct provider_login *l, const char *below)
{
    json_t *paths = json_array();
    for (size_t i = 0; l->paths[i]; i++) {
        AUTO_FREE char *path = xasprintf("%s%s", below, l->paths[i]);
        json_array_append_new(paths, json_string(path));
    }
    return paths;
}

/* An agent that holds a word in place of the token. Requests with a login go to its provider alone:
 * where env points to is for keys. */
static bool take_login(struct model_ways *ways, struct strv *env, const struct strv *services,
                       const struct agent *agent, const char *file, const char *ca,
                       const struct config *config, struct err *err)
{
    const struct provider *p = &agent->login->provider;
    struct model_way way = {0};
    const char *path;
    AUTO_FREE char *key = xasprintf("agent.%s.loginurl", agent->name);
    const char *url = config_str(config, key, p->url);
    if (file[0] != '/')
        return err_set(err, ERR_USAGE, "the file of a login must be named by an absolute path");
    if (!url_split_https(&way.host, &way.port, &path, url))
        return err_set(err, ERR_USAGE, "agent.%s.loginUrl must begin with https://", agent->name);
    AUTO_FREE char *placeholder = placeholder_for(p, p->keys[0].variable);
    way.provider = xstrdup(p->name);
    way.login = xstrdup(file);
    while (ways->n > 0)
        drop(ways, &ways->v[0]);
    way.inside = free_port(ways, services);
    way.ca_file = ca ? xstrdup(ca) : NULL;
    way.keys = json_pack("[{s:s, s:s}]", "placeholder", placeholder, "header", p->keys[0].header);
    way.paths = paths_of(agent->login, path);
    AUTO_FREE char *inside = xasprintf("http://127.0.0.1:%u%s", way.inside, path);
    strv_env_set(env, p->url_env, inside);
    strv_env_set(env, p->keys[0].variable, placeholder);
    ways->v[ways->n++] = way;
    return true;
}

static const char *login_of(const struct model_ways *ways)
{
    for (size_t i = 0; i < ways->n; i++)
        if (ways->v[i].login)
            return ways->v[i].login;
    return NULL;
}

bool model_ways_take(struct model_ways *ret, json_t **ret_keys, struct strv *env,
                     const struct strv *services, const struct agent *agent, const char *login,
                     const struct config *config, struct err *err)
{
    struct provider all[PROVIDERS_MAX];
    size_t n;
    AUTO_FREE char *ca = NULL;
    *ret_keys = NULL;
    if (!agent_providers(all, &n, agent, config, err) || !ca_of(&ca, agent, config, err))
        return false;
    AUTO_FREE char *file = login || login_of(ret) ? xstrdup(login ? login : login_of(ret)) : NULL;
    if (file && !agent->login)
        return err_set(err, ERR_USAGE, "how %s keeps a login is not known: leave it out",
                       agent->title);
    if (file) {
        drop_keys(env, all, n);
        return take_login(ret, env, services, agent, file, ca, config, err);
    }
    if (is_held_inside(agent, config))
        return true;
    AUTO_JSON json_t *keys = json_object();
    for (size_t i = 0; i < n; i++)
        if (!take(ret, keys, env, services, &all[i], ca, err))
            return false;
    *ret_keys = json_object_size(keys) ? steal_json(&keys) : NULL;
    return true;
}

/* ---- for people ---- */

static void add_line(struct buf *out, const struct provider *p, const struct strv *env,
                     const struct agent *agent, bool is_relay)
{
    struct model_way way = {0};
    const char *path;
    buf_adds(out, out->len ? "; " : "");
    for (size_t i = 0, n = 0; p->keys[i].variable; i++) {
        const char *value = strv_env_get(env, p->keys[i].variable);
        bool is_again = i > 0 && strcmp(p->keys[i - 1].variable, p->keys[i].variable) == 0;
        if (value && value[0] && !is_again)
            buf_addf(out, "%s%s", n++ ? ", " : "", p->keys[i].variable);
    }
    bool is_https = url_split_https(&way.host, &way.port, &path, url_of(p, env));
    if (is_relay && is_https)
        buf_addf(out, " stays outside of the box; a relay shows it to %s alone", way.host);
    else if (is_relay)
        buf_addf(out, " cannot be kept outside: %s is not https://HOST[:PORT][/PATH]", p->url_env);
    else if (is_in_the_clear(url_of(p, env)))
        buf_addf(out, " is passed into the box (%s is in the clear)", p->url_env);
    else
        buf_addf(out, " is passed into the box (agent.%s.key is 'inside')", agent->name);
    release(&way);
}

static void add_none(struct buf *out, const struct provider *all, size_t n,
                     const struct agent *agent)
{
    AUTO_STRV struct strv names = STRV_INIT;
    provider_key_variables(&names, all, n);
    if (names.n == 0) {
        buf_adds(out, agent->program && !agent_find(agent->name)
                          ? "none is known (headgate agent add --key)"
                          : "none is known");
        return;
    }
    buf_adds(out, "none is set (");
    for (size_t i = 0; i < names.n; i++)
        buf_addf(out, "%s%s", i ? ", " : "", names.v[i]);
    buf_addf(out, ", or agent.%s.keyCommand)", agent->name);
}

bool model_ways_describe(enum key_keeping *ret, struct buf *out, const struct strv *env,
                         const struct agent *agent, const struct config *config, struct err *err)
{
    struct provider all[PROVIDERS_MAX];
    size_t n;
    if (!agent_providers(all, &n, agent, config, err))
        return false;
    bool inside = is_held_inside(agent, config);
    *ret = KEY_NONE;
    for (size_t i = 0; i < n; i++) {
        if (!has_key(&all[i], env))
            continue;
        bool is_relay = !inside && !is_in_the_clear(url_of(&all[i], env));
        *ret = !is_relay ? KEY_PASSED : *ret == KEY_NONE ? KEY_RELAY : *ret;
        add_line(out, &all[i], env, agent, is_relay);
    }
    if (*ret == KEY_NONE)
        add_none(out, all, n, agent);
    return true;
}
