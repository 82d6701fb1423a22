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

static bool has_credentials(const struct agent *agent, const struct strv *env)
{
    for (size_t i = 0; agent->needs_env && agent->needs_env[i]; i++)
        if (strv_env_get(env, agent->needs_env[i]))
            return true;
    return false;
}

/* host[:port] of https://host[:port]/path, where the agent is pointed to another server; NULL: it is not. */
static char *other_server(const struct agent *agent, const struct strv *env)
{
    static const char scheme[] = "https://";
    const char *url = agent->url_env ? strv_env_get(env, agent->url_env) : NULL;
    if (!url || strncmp(url, scheme, sizeof(scheme) - 1) != 0)
        return NULL;
    url += sizeof(scheme) - 1;
    return xstrndup(url, strcspn(url, "/?#"));
}

static void add_needed(struct strv *out, const struct agent *agent, const struct strv *env)
{
    AUTO_FREE char *other = other_server(agent, env);
    const char *url = agent->url_env ? strv_env_get(env, agent->url_env) : NULL;
    if (!has_credentials(agent, env) || (url && url[0] && !other))
        return; /* in the clear: a port of the box itself, or what somebody lists by name */
    if (other)
        strv_push(out, other);
    for (size_t i = 0; !other && agent->needs_hosts && agent->needs_hosts[i]; i++)
        strv_push(out, agent->needs_hosts[i]);
}

bool way_out_hosts(struct strv *ret, const struct strv *asked, const struct config *config,
                   const struct agent *agent, const struct strv *env, struct err *err)
{
    AUTO_STRV struct strv hosts = STRV_INIT, of_boxes = STRV_INIT, of_agent = STRV_INIT;
    AUTO_FREE char *key = xasprintf("agent.%s.net", agent->name);
    config_list(&of_boxes, config, "box.net");
    config_list(&of_agent, config, key);
    if (of_agent.n == 0)
        add_needed(&of_agent, agent, env);
    if (!add(&hosts, asked, "--net", err) || !add(&hosts, &of_boxes, "box.net", err) ||
        !add(&hosts, &of_agent, key, err))
        return false;
    *ret = hosts;
    hosts = (struct strv)STRV_INIT;
    return true;
}

/* An adapter may have named hosts that its agent looks for by itself and that nobody should be asked about: without the proxy
 * they are not found. */
static void show_exceptions(struct box_spec *spec)
{
    const char *more = strv_env_get(&spec->env, "NO_PROXY");
    AUTO_FREE char *all = xasprintf("127.0.0.1,localhost,::1%s%s", more ? "," : "", more ? more : "");
    strv_env_set(&spec->env, "NO_PROXY", all);
    strv_env_set(&spec->env, "no_proxy", all);
}

/* Where a program does not know a proxy for everything, HTTP's is what most know; SOCKS5 is spoken on the same
 * port. Services and servers of the box's own are never asked for through it. */
void way_out_show(struct box_spec *spec, const struct strv *services)
{
    static const char *const names[] = {
        "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY",       "HTTPS_PROXY",
        "ALL_PROXY",  "PIP_PROXY",   "npm_config_proxy", "npm_config_https_proxy",
        "CARGO_HTTP_PROXY", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY",
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
