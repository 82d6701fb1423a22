#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runner/agents/agent.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/base/text.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"

enum { VERSION_TIMEOUT_MS = 30 * 1000, VERSION_BYTES = 64 * 1024 };

static json_t *agent_rows(const struct strv *env)
{
    json_t *rows = json_array();
    for (size_t i = 0; agents[i]; i++) {
        AUTO_FREE char *path = agents[i]->program ? agent_program_path(agents[i], env) : NULL;
        json_t *row = json_object();
        jx_set_str(row, "name", agents[i]->name);
        jx_set_str(row, "title", agents[i]->title);
        jx_set_str(row, "tested", agents[i]->tested);
        jx_set_str(row, "path", path);
        json_array_append_new(rows, row);
    }
    return rows;
}

static bool ls(char **argv, struct err *err)
{
    static const char *const headers[] = {"NAME", "AGENT", "TESTED", "PROGRAM"};
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    struct print p;
    size_t i;
    const json_t *row;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err))
        return false;
    strv_push_all(&env, environ);
    AUTO_JSON json_t *rows = agent_rows(&env);
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

static bool check(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_BUF struct buf version = BUF_INIT, text = BUF_INIT;
    if (!cmd_parse_n(&args, argv, NULL, 0, 1, 1, err))
        return false;
    const struct agent *agent = agent_find(args.operands.v[0]);
    if (!agent || !agent->program)
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
    buf_addf(&text, "%s: %s, version %s", agent->name, path, version.ptr);
    bool is_tested = agent->tested && strstr(version.ptr, agent->tested);
    if (agent->tested && !is_tested)
        buf_addf(&text,
                 " (tested was %s: hooks may differ, try a harmless prompt with "
                 "--ladder confirm first)",
                 agent->tested);
    else if (is_tested)
        buf_adds(&text, " (tested)");
    buf_addch(&text, '\n');
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
