#include "runner/cmd/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/key_command.h"
#include "sandbox/profile.h"

static void add_variable(struct strv *out, const struct strv *all, const char *name)
{
    const char *value = strv_env_get(all, name);
    if (value)
        strv_env_set(out, name, value);
}

static bool add_credentials(struct strv *out, const struct strv *all, const struct agent *agent,
                            const struct config *config, struct err *err)
{
    struct provider providers[PROVIDERS_MAX];
    size_t n;
    AUTO_STRV struct strv names = STRV_INIT;
    if (!agent_providers(providers, &n, agent, config, err))
        return false;
    provider_variables(&names, providers, n);
    for (size_t i = 0; i < names.n; i++)
        add_variable(out, all, names.v[i]);
    for (size_t i = 0; agent->needs_env && agent->needs_env[i]; i++)
        add_variable(out, all, agent->needs_env[i]);
    return key_command_run(out, agent, config, err);
}

struct gathering {
    struct strv *out;
    const struct strv *all;
    const struct config *config;
    bool ok;
    struct err *err;
};

static void add_own(const struct agent *own, void *arg)
{
    struct gathering *g = arg;
    g->ok = g->ok && add_credentials(g->out, g->all, own, g->config, g->err);
}

/* Of every agent, the person's own ones too. */
static bool add_all_credentials(struct strv *out, const struct strv *all,
                                const struct config *config, struct err *err)
{
    struct gathering g = {out, all, config, true, err};
    for (size_t i = 0; agents[i]; i++)
        if (!add_credentials(out, all, agents[i], config, err))
            return false;
    agent_each_own(config, add_own, &g);
    return g.ok;
}

static json_t *to_json(const struct strv *env)
{
    json_t *object = json_object();
    for (size_t i = 0; i < env->n; i++) {
        AUTO_FREE char *name = xstrndup(env->v[i], strcspn(env->v[i], "="));
        if (text_is_utf8(env->v[i], strlen(env->v[i]))) {
            jx_set_str(object, name, env->v[i] + strlen(name) + 1);
            continue;
        }
        AUTO_FREE char *clean = text_clean(name);
        fprintf(stderr, "headgate: the variable %s is left out: it is not UTF-8\n", clean);
    }
    return object;
}

bool env_json(json_t **ret, const struct agent *agent, const struct strv *names,
              const struct config *config, struct err *err)
{
    AUTO_STRV struct strv all = STRV_INIT, env = STRV_INIT;
    strv_push_all(&all, environ);
    profile_env_filter(&env, &all);
    if (agent ? !add_credentials(&env, &all, agent, config, err)
              : !add_all_credentials(&env, &all, config, err))
        return false;
    for (size_t i = 0; names && i < names->n; i++)
        if (!profile_env_add(&env, &all, names->v[i], err))
            return false;
    *ret = to_json(&env);
    return true;
}

bool env_add_secrets(json_t *request, const struct strv *names, struct err *err)
{
    json_t *secrets = json_object();
    jx_set(request, "secrets", secrets);
    for (size_t i = 0; i < names->n; i++) {
        const char *value = getenv(names->v[i]);
        if (!value || strchr(names->v[i], '='))
            return err_set(err, ERR_USAGE,
                           "--secret takes the name of a variable that is set; '%s' is not",
                           names->v[i]);
        if (!text_is_utf8(value, strlen(value)) || !text_is_utf8(names->v[i], strlen(names->v[i])))
            return err_set(err, ERR_USAGE, "--secret: the value of %s is not UTF-8", names->v[i]);
        jx_set_str(secrets, names->v[i], value);
    }
    return true;
}

json_t *env_desktop_json(void)
{
    static const char *const names[] = {
        "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR",
        "HOME", "PATH", "USER", "LANG",
        /* How the broker finds the person's logins. */
        "LOGNAME", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "GNUPGHOME", "PASSWORD_STORE_DIR",
        "GIT_CONFIG_GLOBAL", "GIT_SSL_CAINFO", "SSL_CERT_FILE", "GH_CONFIG_DIR", "GH_TOKEN",
        "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GLAB_CONFIG_DIR",
        "GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN"};
    AUTO_STRV struct strv env = STRV_INIT;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (getenv(names[i]))
            strv_env_set(&env, names[i], getenv(names[i]));
    return to_json(&env);
}
