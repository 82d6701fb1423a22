#include "runner/attempt/way_out.h"

#include <string.h>

#include "gate/host.h"
#include "runner/base/mem.h"

/* Below the ports that a kernel hands out by itself, and nobody's well-known one. */
enum { FIRST_PORT = 17117 };

uint16_t way_out_port(const struct strv *services)
{
    for (uint16_t port = FIRST_PORT;; port++) {
        AUTO_FREE char *text = xasprintf("%u", port);
        if (!strv_has(services, text))
            return port;
    }
}

static bool add(struct strv *out, const struct strv *patterns, const char *origin, struct err *err)
{
    for (size_t i = 0; i < patterns->n; i++) {
        struct host_pattern pattern;
        if (!host_pattern_parse(&pattern, patterns->v[i], err)) {
            err->code = ERR_USAGE;
            return err_prefix(err, "%s", origin);
        }
        if (!strv_has(out, patterns->v[i]))
            strv_push(out, patterns->v[i]);
    }
    return true;
}

/* Something for this provider is in the box: a key, or the address of another server. */
static bool is_used(const struct provider *p, const struct strv *env)
{
    AUTO_STRV struct strv names = STRV_INIT;
    provider_variables(&names, p, 1);
    for (size_t i = 0; i < names.n; i++) {
        const char *value = strv_env_get(env, names.v[i]);
        if (value && value[0])
            return true;
    }
    return false;
}

/* Its server, host[:port] of https://host[:port]/path. In the clear it is a port of the box itself,
 * a relay's among them, or what somebody lists by name. */
static void add_server(struct strv *out, const struct provider *p, const struct strv *env)
{
    static const char scheme[] = "https://";
    const char *other = strv_env_get(env, p->url_env), *url = other && other[0] ? other : p->url;
    if (!is_used(p, env) || strncmp(url, scheme, strlen(scheme)) != 0)
        return;
    url += strlen(scheme);
    AUTO_FREE char *place = xstrndup(url, strcspn(url, "/?#"));
    AUTO_FREE char *with_port = xasprintf("%s%s", place, strchr(place, ':') ? "" : ":443");
    if (!strv_has(out, with_port))
        strv_push(out, with_port);
}

static bool add_needed(struct strv *out, const struct agent *agent, const struct config *config,
                       const struct strv *env, struct err *err)
{
    struct provider all[PROVIDERS_MAX];
    size_t n;
    if (!agent_providers(all, &n, agent, config, err))
        return false;
    for (size_t i = 0; i < n; i++)
        add_server(out, &all[i], env);
    return true;
}

bool way_out_hosts(struct strv *ret, const struct strv *asked, const struct config *config,
                   const struct agent *agent, const struct strv *env, struct err *err)
{
    AUTO_STRV struct strv hosts = STRV_INIT, of_boxes = STRV_INIT, of_agent = STRV_INIT;
    AUTO_FREE char *key = xasprintf("agent.%s.net", agent->name);
    config_list(&of_boxes, config, "box.net");
    config_list(&of_agent, config, key);
    if (of_agent.n == 0 && !add_needed(&of_agent, agent, config, env, err))
        return false;
    if (!add(&hosts, asked, "--net", err) || !add(&hosts, &of_boxes, "box.net", err) ||
        !add(&hosts, &of_agent, key, err))
        return false;
    *ret = hosts;
    hosts = (struct strv)STRV_INIT;
    return true;
}

/* An adapter may have named hosts that its agent looks for by itself and that nobody should be
 * asked about: without the proxy they are not found. */
static void show_exceptions(struct box_spec *spec)
{
    const char *more = strv_env_get(&spec->env, "NO_PROXY");
    AUTO_FREE char *all =
        xasprintf("127.0.0.1,localhost,::1%s%s", more ? "," : "", more ? more : "");
    strv_env_set(&spec->env, "NO_PROXY", all);
    strv_env_set(&spec->env, "no_proxy", all);
}

/* Where a program does not know a proxy for everything, HTTP's is what most know; SOCKS5 is spoken
 * on the same port. Services and servers of the box's own are never asked for through it. */
void way_out_show(struct box_spec *spec, const struct strv *services)
{
    static const char *const names[] = {
        "http_proxy",       "https_proxy",      "all_proxy",
        "HTTP_PROXY",       "HTTPS_PROXY",      "ALL_PROXY",
        "PIP_PROXY",        "npm_config_proxy", "npm_config_https_proxy",
        "CARGO_HTTP_PROXY", "YARN_HTTP_PROXY",  "YARN_HTTPS_PROXY",
    };
    unsigned port = way_out_port(services);
    AUTO_FREE char *url = xasprintf("http://127.0.0.1:%u", port);
    AUTO_FREE char *place = xasprintf("127.0.0.1:%u", port);
    const char *own = strv_env_get(&spec->env, "JAVA_TOOL_OPTIONS");
    AUTO_FREE char *java = xasprintf("%s%s-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=%u "
                                     "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=%u "
                                     "-Dhttp.nonProxyHosts=localhost|127.*|[::1]",
                                     own ? own : "", own ? " " : "", port, port);
    strv_pushf(&spec->listen_ports, "%u", port);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        strv_env_set(&spec->env, names[i], url);
    show_exceptions(spec);
    strv_env_set(&spec->env, "NODE_USE_ENV_PROXY", "1");
    strv_env_set(&spec->env, "JAVA_TOOL_OPTIONS", java);
    strv_env_set(&spec->env, "HEADGATE_PROXY", place);
    strv_env_set(&spec->env, "RSYNC_PROXY", place);
    spec->ssh_config = xstrdup("Host *\n    ProxyCommand " WAY_OUT_HOOK " --connect %h:%p\n");
}

static void add_list(struct buf *out, const struct strv *list)
{
    for (size_t i = 0; i < list->n; i++)
        buf_addf(out, "%s%s", i ? ", " : " ", list->v[i]);
}

char *way_out_text(const struct strv *hosts, const struct strv *services)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (hosts->n) {
        buf_adds(&text, "lists");
        add_list(&text, hosts);
        buf_adds(&text, " and asks for other hosts");
    } else {
        buf_adds(&text, "asks for every host");
    }
    if (services->n) {
        buf_adds(&text, "; from this host port");
        add_list(&text, services);
    }
    return buf_steal(&text);
}
