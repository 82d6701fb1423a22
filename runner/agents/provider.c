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
    .keys = {{"ANTHROPIC_API_KEY", "x-api-key"}, {"ANTHROPIC_AUTH_TOKEN", BEARER}, {"CLAUDE_CODE_OAUTH_TOKEN", BEARER}, {0}},
};

const struct provider provider_openai = {
    .name = "openai",
    .url = "https://api.openai.com/v1",
    .url_env = "OPENAI_BASE_URL",
    .shape = "sk-",
    .keys = {{"OPENAI_API_KEY", BEARER}, {0}},
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
    .keys = {{"OPENCODE_API_KEY", BEARER}, {"OPENCODE_API_KEY", "x-api-key"}, {"OPENCODE_API_KEY", "x-goog-api-key"}, {0}},
};

static const struct provider *const known[] = {&provider_anthropic, &provider_openai, &provider_google, &provider_openrouter,
                                               &provider_opencode};

bool provider_has(const struct provider *p, const char *variable)
{
    for (size_t i = 0; p->keys[i].variable; i++)
        if (strcmp(p->keys[i].variable, variable) == 0)
            return true;
    return false;
}

void provider_variables(struct strv *out, const struct provider *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        strv_push(out, all[i].url_env);
        for (size_t k = 0; all[i].keys[k].variable; k++)
            if (!strv_has(out, all[i].keys[k].variable))
                strv_push(out, all[i].keys[k].variable);
    }
}

static const char *setting(const struct config *config, const struct agent *agent, const char *what)
{
    AUTO_FREE char *key = xasprintf("agent.%s.%s", agent->name, what);
    return config_str(config, key, NULL);
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

/* The configuration has the last word on a single one. */
static bool add_configured(struct provider *ret, const char *variable, const struct agent *agent,
                           const struct config *config, struct err *err)
{
    const char *url = setting(config, agent, "keyurl"), *url_env = setting(config, agent, "keyurlenv"),
               *header = setting(config, agent, "keyheader");
    struct provider one = known_one(variable);
    if (header || !one.keys[0].variable) {
        memset(one.keys, 0, sizeof(one.keys));
        one.keys[0] = (struct provider_key){variable, header ? header : BEARER};
    }
    one.url = url ? url : one.url;
    one.url_env = url_env ? url_env : one.url_env;
    if (!one.url || !one.url_env)
        return err_set(err, ERR_USAGE,
                       "where the key in %s is for is not known: set agent.%s.keyUrl (https://...) and agent.%s.keyUrlEnv (the "
                       "variable that tells %s to ask elsewhere)",
                       variable, agent->name, agent->name, agent->name);
    if (strncmp(one.url, "https://", strlen("https://")) != 0)
        return err_set(err, ERR_USAGE, "agent.%s.keyUrl must begin with https://, so that a key is shown to its own server alone",
                       agent->name);
    *ret = one;
    return true;
}

static bool has_details(const struct config *config, const struct agent *agent)
{
    return setting(config, agent, "keyurl") || setting(config, agent, "keyurlenv") || setting(config, agent, "keyheader");
}

static bool of_own(struct provider *out, size_t *ret_n, const struct agent *agent, const struct config *config,
                   struct err *err)
{
    AUTO_FREE char *key = xasprintf("agent.%s.keyenv", agent->name);
    AUTO_STRV struct strv variables = STRV_INIT;
    config_list(&variables, config, key);
    if (variables.n > PROVIDERS_MAX)
        return err_set(err, ERR_LIMIT, "agent.%s.keyEnv names more than %d variables", agent->name, PROVIDERS_MAX);
    if (variables.n != 1 && has_details(config, agent))
        return err_set(err, ERR_USAGE,
                       "agent.%s.keyUrl, keyUrlEnv and keyHeader are about one key; agent.%s.keyEnv names %zu", agent->name,
                       agent->name, variables.n);
    for (size_t i = 0; i < variables.n; i++) { /* what is kept of one of several is the table's own text */
        const char *variable = variables.n == 1 ? config_str(config, key, "") : variables.v[i];
        if (!add_configured(&out[i], variable, agent, config, err))
            return false;
    }
    *ret_n = variables.n;
    return true;
}

bool agent_providers(struct provider *out, size_t *ret_n, const struct agent *agent, const struct config *config,
                     struct err *err)
{
    size_t n = 0;
    if (!agent_find(agent->name))
        return of_own(out, ret_n, agent, config, err);
    for (; agent->providers && agent->providers[n]; n++)
        out[n] = *agent->providers[n];
    *ret_n = n;
    return true;
}
