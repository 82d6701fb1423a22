#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/agents/checked.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/base/text.h"
#include "runner/cmd/canary.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/key_words.h"
#include "runner/cmd/out.h"

enum { VERSION_TIMEOUT_MS = 30 * 1000, VERSION_BYTES = 64 * 1024 };

/* The configuration, for those who need no state. */
static bool load(struct config **ret, struct paths *paths, struct err *err)
{
    paths_init_config(paths);
    return config_load(ret, paths, err);
}

static json_t *row_of(const struct agent *agent, const struct strv *env,
                      const struct config *config)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = agent->program ? agent_program_path(agent, env) : NULL;
    json_t *row = json_object();
    jx_set_str(row, "name", agent->name);
    jx_set_str(row, "title", agent->title);
    jx_set_str(row, "tested", agent->tested);
    jx_set_str(row, "path", path);
    jx_set_str(row, "gated", agent->gated);
    jx_set_str(row, "gaps", agent->gaps);
    jx_set_str(row, "lack", agent_lack(agent, env));
    if (!key_words(row, agent, env, config, &err)) {
        jx_set_str(row, "key", "wrong setting");
        jx_set_str(row, "key_text", err.text);
    }
    return row;
}

struct own_rows {
    json_t *rows;
    const struct strv *env;
    const struct config *config;
};

static void add_own(const struct agent *agent, void *arg)
{
    struct own_rows *own = arg;
    json_array_append_new(own->rows, row_of(agent, own->env, own->config));
}

static json_t *agent_rows(const struct strv *env, const struct config *config)
{
    json_t *rows = json_array();
    struct own_rows own = {.rows = rows, .env = env, .config = config};
    for (size_t i = 0; agents[i]; i++)
        if (agents[i]->program)
            json_array_append_new(rows, row_of(agents[i], env, config));
    agent_each_own(config, add_own, &own);
    json_array_append_new(rows, row_of(agent_find("command"), env, config));
    return rows;
}

static bool ls(char **argv, struct err *err)
{
    static const char *const headers[] = {"NAME", "AGENT", "TESTED", "KEY", "PROGRAM"};
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_PATHS struct paths paths = {0};
    AUTO_CONFIG struct config *config = NULL;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    struct print p;
    size_t i;
    const json_t *row;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err) ||
        !load(&config, &paths, err))
        return false;
    strv_push_all(&env, environ);
    AUTO_JSON json_t *rows = agent_rows(&env, config);
    if (json)
        return out_json(rows, err);
    out_print(&p);
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(rows, i, row)
    {
        bool is_command = strcmp(jx_str(row, "name", ""), "command") == 0;
        print_table_cell(&t, PRINT_BOLD, jx_str(row, "name", ""));
        print_table_cell(&t, PRINT_PLAIN, jx_str(row, "title", ""));
        print_table_cell(&t, PRINT_PLAIN, jx_str(row, "tested", ""));
        print_table_cell(&t, PRINT_PLAIN, jx_str(row, "key", ""));
        print_table_cell(&t, PRINT_PLAIN,
                         jx_str(row, "path", is_command ? "any, behind --" : "not installed"));
    }
    print_table_add(&text, &p, &t);
    return out_buf(&text, err);
}

int cmd_agent_ls(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(ls(argv, &err), &err);
}

/* The first line that `PROGRAM --version` prints. */
static bool version_of(struct buf *out, const char *path, struct err *err)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    strv_push(&argv, path);
    strv_push(&argv, "--version");
    const struct proc_cmd cmd = {.argv = &argv,
                                 .max_output_bytes = VERSION_BYTES,
                                 .timeout_ms = VERSION_TIMEOUT_MS,
                                 .new_session = true};
    if (!proc_run(&result, &cmd, err))
        return err_prefix(err, "%s --version", path);
    if (result.status != 0)
        return err_set(err, ERR_FAILED, "%s --version ended with exit code %d", path,
                       result.status);
    text_sanitise(out, result.out.ptr, strcspn(result.out.ptr, "\n"), 0);
    return true;
}

static void describe(struct buf *out, const struct agent *agent, const char *path,
                     const char *version, const json_t *row)
{
    bool is_tested = agent->tested && strstr(version, agent->tested);
    buf_addf(out, "%s: %s, %s\n  program:     %s\n  version:     %s", agent->name, agent->title,
             "installed", path, version);
    if (is_tested)
        buf_adds(out, " (tested)");
    else if (agent->tested)
        buf_addf(out,
                 " (tested was %s: its hooks may differ; try a harmless prompt with --ladder "
                 "confirm first, or "
                 "--exec match)",
                 agent->tested);
    buf_addf(out, "\n  gated:       %s\n  key:         %s\n", agent->gated,
             jx_str(row, "key_text", ""));
    if (agent->gaps)
        buf_addf(out, "  not covered: %s\n", agent->gaps);
    if (*jx_str(row, "lack", ""))
        buf_addf(out, "  missing:     %s\n", jx_str(row, "lack", ""));
}

/* Have it denied one call, and remember which program it was. */
static bool pass_canary(const struct agent *agent, const char *program, const struct config *config,
                        struct err *err)
{
    AUTO_PATHS struct paths paths = {0};
    if (!agent_is_checkable(agent))
        return err_set(err, ERR_USAGE,
                       "what '%s' says to a model is not known; --canary is for built-in agents",
                       agent->name);
    if (!canary(agent, config, err))
        return err_prefix(err, "the canary of %s", agent->name);
    return paths_init(&paths, err) && agent_checked_write(paths.state, agent, program, config, err);
}

static bool check(char **argv, struct err *err)
{
    bool json = false, with_canary = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
        {0, "canary", OPT_FLAG, &with_canary, NULL,
         "have it make a call in a box, against a model of our own, that is denied and must not "
         "run",
         0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_PATHS struct paths paths = {0};
    AUTO_CONFIG struct config *config = NULL;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_BUF struct buf version = BUF_INIT, text = BUF_INIT;
    const struct agent *agent;
    struct agent own;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, 1, err) ||
        !load(&config, &paths, err))
        return false;
    if (!agent_named(&agent, &own, args.operands.v[0], config) || !agent->program)
        return err_set(err, ERR_USAGE,
                       "there is no agent '%s' to check; headgate agent ls lists them",
                       args.operands.v[0]);
    strv_push_all(&env, environ);
    AUTO_FREE char *path = agent_program_path(agent, &env);
    if (!path)
        return err_set(err, ERR_NOT_FOUND, "%s is not installed: no %s in PATH", agent->title,
                       agent->program);
    if (!version_of(&version, path, err))
        return false;
    if (with_canary && !pass_canary(agent, path, config, err))
        return false;
    AUTO_JSON json_t *row = row_of(agent, &env, config);
    if (json) {
        jx_set_str(row, "version", version.ptr);
        jx_set_bool(row, "canary", with_canary);
        jx_set_bool(row, "is_tested", agent->tested && strstr(version.ptr, agent->tested));
        return out_json(row, err);
    }
    describe(&text, agent, path, version.ptr, row);
    if (with_canary)
        buf_adds(&text,
                 "  canary:      a call was denied, did not run, and the model was told why\n");
    return out_buf(&text, err);
}

int cmd_agent_check(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(check(argv, &err), &err);
}

/* The same program under the name that people know; in a box it is found as headgate-mcp. */
int cmd_mcp(int argc, char **argv)
{
    struct err err = ERR_INIT;
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    (void)argc;
    if (!cmd_parse_n(&args, argv, NULL, 0, 0, 0, &err))
        return cmd_exit(false, &err);
    AUTO_FREE char *program = paths_program("headgate-mcp", &err);
    if (!program)
        return cmd_exit(false, &err);
    char *const words[] = {program, NULL};
    execv(program, words);
    err_sys(&err, errno, "cannot start %s", program);
    return cmd_exit(false, &err);
}
