/*
 * provider: servers of models, as data: where requests go, the variable that names another place,
 * and the variables that hold a key of the person's, each with the header that it travels in. Such
 * a key can be held outside of the box (attempt/model_way.h).
 */
#ifndef AGENTS_PROVIDER_H
#define AGENTS_PROVIDER_H

#include "runner/base/config.h"

enum { PROVIDER_KEYS = 8, PROVIDERS_MAX = 8 };

struct agent;

struct provider_key {
    const char *variable; /* "OPENAI_API_KEY" */
    const char *header;   /* "authorization: Bearer": its name, and what stands before the key;
                             "x-api-key": the key alone */
};

struct provider {
    const char *name;    /* "openai" */
    const char *url;     /* https; no slash at its end */
    const char *url_env; /* "OPENAI_BASE_URL" */
    const char *shape;   /* what its keys begin with, since agents look at that */
    struct provider_key
        keys[PROVIDER_KEYS]; /* a variable may stand in several headers; ended by a NULL variable */
};

/* Whom a subscription's login is for. The first key is the variable that holds a word in its place,
 * so that the agent takes itself for logged in. */
struct provider_login {
    struct provider provider;
    const char *const *
        paths; /* below the provider's URL: what its requests to a model ask for, NULL-terminated */
};

extern const struct provider_login login_anthropic, login_chatgpt;

extern const struct provider provider_anthropic, provider_openai, provider_google,
    provider_openrouter, provider_opencode;

/*
 * Those that this agent may ask, at most PROVIDERS_MAX: of a built-in one as its adapter says, of
 * the person's own as the configuration does:
 *
 *   agent.NAME.keyEnv     variable of a key, may repeat; of one that is known here the rest is
 * known too agent.NAME.keyUrl     where it is for, https agent.NAME.keyUrlEnv  the variable by
 * which the agent is told to ask elsewhere agent.NAME.keyHeader  "authorization: Bearer" unless it
 * says otherwise
 *
 * The texts are borrowed. ERR_USAGE names the setting that is missing or wrong.
 */
bool agent_providers(struct provider *out, size_t *ret_n, const struct agent *agent,
                     const struct config *config, struct err *err) WARN_UNUSED;
/* The same of an agent of the person's own by what its settings say; NULL: nothing. */
bool provider_own(struct provider *out, size_t *ret_n, const char *name,
                  const char *const *variables, size_t n, const char *url, const char *url_env,
                  const char *header, struct err *err) WARN_UNUSED;
/* Whether p has a key of this name. */
bool provider_has(const struct provider *p, const char *variable);
/* Append every variable that is a key of one of them, once. */
void provider_key_variables(struct strv *out, const struct provider *all, size_t n);
/* The same and each url_env. */
void provider_variables(struct strv *out, const struct provider *all, size_t n);

#endif
