#include "runner/cmd/key_words.h"

#include <string.h>
#include <unistd.h>

#include "runner/attempt/model_way.h"
#include "runner/base/mem.h"
#include "runner/cmd/key_command.h"
#include "runner/cmd/login_file.h"

bool key_words(json_t *row, const struct agent *agent, const struct strv *env,
               const struct config *config, struct err *err)
{
    static const char *const words[] = {
        [KEY_NONE] = "none", [KEY_RELAY] = "relay", [KEY_PASSED] = "passed in"};
    struct provider all[PROVIDERS_MAX];
    size_t n;
    const char *asked;
    enum key_keeping keeping;
    AUTO_STRV struct strv today = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    if (login_is_configured(agent, config)) {
        jx_set_str(row, "key", "login");
        bool ok = login_describe(&text, agent, config, err);
        jx_set_str(row, "key_text", text.ptr);
        return ok;
    }
    strv_push_all(&today, strv_array(env));
    if (!agent_providers(all, &n, agent, config, err) ||
        !key_command_variable(&asked, env, agent, all, n, config, err))
        return false;
    if (asked)
        strv_env_set(&today, asked, "asked for when a run starts");
    if (!model_ways_describe(&keeping, &text, &today, agent, config, err))
        return false;
    if (asked)
        buf_addf(&text, " (%s is what agent.%s.keyCommand prints)", asked, agent->name);
    if (keeping == KEY_NONE && agent->login)
        buf_adds(&text, "; or a subscription's login (run --login)");
    jx_set_str(row, "key", words[keeping]);
    jx_set_str(row, "key_text", text.ptr);
    return true;
}

char *key_missing(const struct agent *agent, const struct config *config)
{
    struct provider all[PROVIDERS_MAX];
    size_t n;
    struct err ignored = ERR_INIT; /* a wrong setting is told by what begins the run */
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_JSON json_t *row = json_object();
    strv_push_all(&env, environ);
    if (!agent_providers(all, &n, agent, config, &ignored) || n == 0 ||
        !key_words(row, agent, &env, config, &ignored) ||
        strcmp(jx_str(row, "key", ""), "none") != 0)
        return NULL;
    return xasprintf("no key of %s: %s", agent->title, jx_str(row, "key_text", ""));
}
