/*
 * agent_own: agents of the person's own, which are lines of the configuration.
 */
#include <string.h>

#include "runner/agents/agent.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/base/proc.h"
#include "runner/cmd/cmd.h"

enum { GIT_TIMEOUT_MS = 30 * 1000 };

/* `git config --file FILE WORDS...`: its own lock, its own quoting. */
static bool git_config(const char *file, const char *const *words, bool may_miss, struct err *err)
{
    enum { NO_SUCH_KEY = 5 };
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    strv_push(&argv, "git");
    strv_push(&argv, "config");
    strv_push(&argv, "--file");
    strv_push(&argv, file);
    for (size_t i = 0; words[i]; i++)
        strv_push(&argv, words[i]);
    const struct proc_cmd cmd = {.argv = &argv, .timeout_ms = GIT_TIMEOUT_MS};
    if (!proc_run(&result, &cmd, err))
        return err_prefix(err, "git config");
    if (result.status == 0 || (may_miss && result.status == NO_SUCH_KEY))
        return true;
    return err_set(err, ERR_FAILED, "git config could not change %s: %s", file, result.errout.ptr);
}

/* Replace the list agent.NAME.WHAT. */
static bool set_words(const char *file, const char *name, const char *what,
                      const struct strv *words, size_t first, struct err *err)
{
    AUTO_FREE char *key = xasprintf("agent.%s.%s", name, what);
    const char *const drop[] = {"--unset-all", key, NULL};
    if (!git_config(file, drop, true, err))
        return false;
    for (size_t i = first; i < words->n; i++) {
        const char *const add[] = {"--add", key, words->v[i], NULL};
        if (!git_config(file, add, false, err))
            return false;
    }
    return true;
}

static bool check_name(const char *name, struct err *err)
{
    if (!agent_name_is_valid(name))
        return err_set(err, ERR_USAGE,
                       "an agent's name is letters, digits, '-' and '_', at most 64");
    if (agent_find(name) || strcmp(name, "default") == 0)
        return err_set(err, ERR_USAGE, "'%s' is built in; choose another name", name);
    return true;
}

/* What --key and its companions say; NULL and empty: nothing. */
struct key_words {
    struct strv variables;
    const char *url, *url_env, *header;
};

static bool has_keys(const struct key_words *k)
{
    return k->variables.n || k->url || k->url_env || k->header;
}

/* They replace what was said before, all of them. */
static bool set_keys(const char *file, const char *name, const struct key_words *k, struct err *err)
{
    const char *const texts[] = {k->url, k->url_env, k->header};
    static const char *const settings[] = {"keyUrl", "keyUrlEnv", "keyHeader"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_STRV struct strv one = STRV_INIT;
        if (texts[i])
            strv_push(&one, texts[i]);
        if (!set_words(file, name, settings[i], &one, 0, err))
            return false;
    }
    return set_words(file, name, "keyEnv", &k->variables, 0, err);
}

static bool check_keys(const char *name, const struct key_words *k, struct err *err)
{
    struct provider all[PROVIDERS_MAX];
    size_t n;
    return provider_own(all, &n, name, (const char *const *)k->variables.v, k->variables.n, k->url,
                        k->url_env, k->header, err);
}

static bool write_own(const struct strv *words, const char *what, const struct key_words *k,
                      struct err *err)
{
    AUTO_PATHS struct paths paths = {0};
    const char *name = words->v[0], *program = words->v[1];
    paths_init_config(&paths);
    AUTO_FREE char *key = xasprintf("agent.%s.program", name);
    AUTO_FREE char *folder = fs_dirname(paths.user_config);
    const char *const set[] = {key, program, NULL};
    return check_name(name, err) && check_keys(name, k, err) && fs_mkdirs(folder, 0700, err) &&
           git_config(paths.user_config, set, false, err) &&
           set_words(paths.user_config, name, what, words, 2, err) &&
           (!has_keys(k) || set_keys(paths.user_config, name, k, err));
}

static bool add(char **argv, struct err *err)
{
    bool interactive = false, resume = false;
    struct key_words k = {.variables = STRV_INIT};
    const struct opt table[] = {
        {'i', "interactive", OPT_FLAG, &interactive, NULL,
         "these are the words for its own terminal (run -i)", 0, 0},
        {0, "resume", OPT_FLAG, &resume, NULL, "these are the words to go on where it was", 0, 0},
        {0, "key", OPT_LIST, &k.variables, "VARIABLE",
         "holds the key of its model, which stays outside of its box (may repeat)", 0, 0},
        {0, "key-url", OPT_STRING, &k.url, "URL",
         "where requests with that key go, where this is not known by the variable", 0, 0},
        {0, "key-url-env", OPT_STRING, &k.url_env, "VARIABLE",
         "by which the agent is told to send them elsewhere", 0, 0},
        {0, "key-header", OPT_STRING, &k.header, "HEADER",
         "in which it travels: 'x-api-key', or 'authorization: Bearer'", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    bool ok = cmd_parse(&args, argv, table, ARRAY_LEN(table), err);
    if (ok && (args.dashdash != 1 || args.operands.n < 2 || (interactive && resume)))
        ok = cmd_usage(
            argv[0],
            "a name is needed, and behind -- a program with its words ({task} in one is the task)",
            err);
    ok = ok && write_own(&args.operands,
                         interactive ? "interactive"
                         : resume    ? "resume"
                                     : "run",
                         &k, err);
    strv_release(&k.variables);
    return ok;
}

int cmd_agent_add(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(add(argv, &err), &err);
}

static bool rm(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_PATHS struct paths paths = {0};
    if (!cmd_parse_n(&args, argv, NULL, 0, 1, 1, err) || !check_name(args.operands.v[0], err))
        return false;
    paths_init_config(&paths);
    AUTO_FREE char *section = xasprintf("agent.%s", args.operands.v[0]);
    const char *const words[] = {"--remove-section", section, NULL};
    return git_config(paths.user_config, words, false, err);
}

int cmd_agent_rm(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(rm(argv, &err), &err);
}
