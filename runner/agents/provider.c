#include "runner/agents/provider.h"

#include <string.h>

#include "runner/agents/agent.h"
#include "runner/base/mem.h"

#define BEARER "authorization: Bearer"

const struct provider provider_anthropic = {
    .name = "anthropic",
    .url = "https://api.anthropic.com",
    .url_env = "ANTHROPIC_BASE_URL",
    .shape = "sk-ant-",
    .keys = {{"ANTHROPIC_API_KEY", "x-api-key"},
             {"ANTHROPIC_AUTH_TOKEN", BEARER},
             {"CLAUDE_CODE_OAUTH_TOKEN", BEARER},
             {0}},
};

/* As `claude setup-token` is used: a bearer token, with the header that says so. */
static const char *const anthropic_paths[] = {"/v1/messages", "/v1/models", NULL};

const struct provider_login login_anthropic = {
    .provider = {.name = "anthropic",
                 .url = "https://api.anthropic.com",
                 .url_env = "ANTHROPIC_BASE_URL",
                 .shape = "sk-ant-oat01-",
                 .keys = {{"CLAUDE_CODE_OAUTH_TOKEN", BEARER}, {0}}},
    .paths = anthropic_paths,
};

const struct provider provider_openai = {
    .name = "openai",
    .url = "https://api.openai.com/v1",
    .url_env = "OPENAI_BASE_URL",
    .shape = "sk-",
    .keys = {{"OPENAI_API_KEY", BEARER}, {0}},
};

static const char *const chatgpt_paths[] = {"/responses", "/models", "/memories", NULL};

const struct provider_login login_chatgpt = {
    .provider = {.name = "chatgpt",
                 .url = "https://chatgpt.com/backend-api/codex",
                 .url_env = "OPENAI_BASE_URL",
                 .shape = "sk-",
                 .keys = {{"OPENAI_API_KEY", BEARER}, {0}}},
    .paths = chatgpt_paths,
};

const struct provider provider_google = {
    .name = "google",
    .url = "https://generativelanguage.googleapis.com",
    .url_env = "GOOGLE_GEMINI_BASE_URL",
    .shape = "AIza",
    .keys = {{"GEMINI_API_KEY", "x-goog-api-key"},
             {"GEMINI_API_KEY", BEARER},
             {"GOOGLE_GENERATIVE_AI_API_KEY", "x-goog-api-key"},
             {0}},
};

const struct provider provider_openrouter = {
    .name = "openrouter",
    .url = "https://openrouter.ai/api/v1",
    .url_env = "OPENROUTER_BASE_URL",
    .shape = "sk-or-",
    .keys = {{"OPENROUTER_API_KEY", BEARER}, {0}},
};

/* It speaks the protocol of whoever made the model. */
const struct provider provider_opencode = {
    .name = "opencode",
    .url = "https://opencode.ai/zen/v1",
    .url_env = "OPENCODE_BASE_URL",
    .shape = "sk-",
    .keys = {{"OPENCODE_API_KEY", BEARER},
             {"OPENCODE_API_KEY", "x-api-key"},
             {"OPENCODE_API_KEY", "x-goog-api-key"},
             {0}},
};

static const struct provider *const known[] = {&provider_anthropic, &provider_openai,
                                               &provider_google, &provider_openrouter,
                                               &provider_opencode};

bool provider_has(const struct provider *p, const char *variable)
{
    for (size_t i = 0; p->keys[i].variable; i++)
        if (strcmp(p->keys[i].variable, variable) == 0)
            return true;
    return false;
}

void provider_key_variables(struct strv *out, const struct provider *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; all[i].keys[k].variable; k++)
            if (!strv_has(out, all[i].keys[k].variable))
                strv_push(out, all[i].keys[k].variable);
}

void provider_variables(struct strv *out, const struct provider *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strv_push(out, all[i].url_env);
    provider_key_variables(out, all, n);
}

/* What is known of a variable of this name, and nothing of its provider's other ones. */
static struct provider known_one(const char *variable)
{
    struct provider one = {.name = variable, .shape = "sk-"};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (!provider_has(known[i], variable))
            continue;
        one = *known[i];
        memset(one.keys, 0, sizeof(one.keys));
        for (size_t k = 0; known[i]->keys[k].variable; k++)
            if (strcmp(known[i]->keys[k].variable, variable) == 0)
                one.keys[n++] = known[i]->keys[k];
        break;
    }
    return one;
}

static bool is_variable(const char *name)
{
    return name[0] &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
               strlen(name);
}

/* What is said of a single one has the last word. */
static bool add_own(struct provider *ret, const char *name, const char *variable, const char *url,
                    const char *url_env, const char *header, struct err *err)
{
    struct provider one = known_one(variable);
    if (!is_variable(variable) || (url_env && !is_variable(url_env)))
        return err_set(err, ERR_USAGE,
                       "'%.64s' cannot be a variable; agent.%s.keyEnv (--key) names the one that "
                       "holds the key",
                       is_variable(variable) ? url_env : variable, name);
    if (header || !one.keys[0].variable) {
        memset(one.keys, 0, sizeof(one.keys));
        one.keys[0] = (struct provider_key){variable, header ? header : BEARER};
    }
    one.url = url ? url : one.url;
    one.url_env = url_env ? url_env : one.url_env;
    if (!one.url || !one.url_env)
        return err_set(err, ERR_USAGE,
                       "what the key in %s is for is not known: say where requests go "
                       "(agent.%s.keyUrl, --key-url https://...) and "
                       "by which variable '%s' is told to send them elsewhere (agent.%s.keyUrlEnv, "
                       "--key-url-env)",
                       variable, name, name, name);
    if (strncmp(one.url, "https://", strlen("https://")) != 0)
        return err_set(err, ERR_USAGE,
                       "agent.%s.keyUrl must begin with https://, so that no other server can be "
                       "shown the key",
                       name);
    *ret = one;
    return true;
}

bool provider_own(struct provider *out, size_t *ret_n, const char *name,
                  const char *const *variables, size_t n, const char *url, const char *url_env,
                  const char *header, struct err *err)
{
    if (n > PROVIDERS_MAX)
        return err_set(err, ERR_LIMIT, "agent.%s.keyEnv (--key) names more than %d variables", name,
                       PROVIDERS_MAX);
    if (n != 1 && (url || url_env || header))
        return err_set(
            err, ERR_USAGE,
            "agent.%s.keyUrl, keyUrlEnv and keyHeader are about one key; keyEnv (--key) names %zu",
            name, n);
    for (size_t i = 0; i < n; i++)
        if (!add_own(&out[i], name, variables[i], url, url_env, header, err))
            return false;
    *ret_n = n;
    return true;
}

static const char *setting(const struct config *config, const char *name, const char *what)
{
    AUTO_FREE char *key = xasprintf("agent.%s.%s", name, what);
    return config_str(config, key, NULL);
}

static bool of_settings(struct provider *out, size_t *ret_n, const char *name,
                        const struct config *config, struct err *err)
{
    AUTO_FREE char *key = xasprintf("agent.%s.keyenv", name);
    const char *variables[PROVIDERS_MAX];
    size_t n = config_values(variables, PROVIDERS_MAX, config, key);
    return provider_own(out, ret_n, name, variables, n, setting(config, name, "keyurl"),
                        setting(config, name, "keyurlenv"), setting(config, name, "keyheader"),
                        err);
}

bool agent_providers(struct provider *out, size_t *ret_n, const struct agent *agent,
                     const struct config *config, struct err *err)
{
    size_t n = 0;
    if (!agent_find(agent->name))
        return of_settings(out, ret_n, agent->name, config, err);
    for (; agent->providers && agent->providers[n]; n++)
        out[n] = *agent->providers[n];
    *ret_n = n;
    return true;
}
