#include "runner/cmd/live.h"

#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "ui/ui.h"

bool live_need_terminal(const char *what, struct err *err)
{
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return true;
    return err_set(err, ERR_USAGE, "%s needs a terminal", what);
}

static bool need_running(const json_t *attempt, struct err *err)
{
    const char *id = jx_str(attempt, "id", "?"), *state = jx_str(attempt, "state", "?");
    if (strcmp(state, "running") == 0)
        return true;
    if (strcmp(state, "done") == 0)
        return err_set(err, ERR_CONFLICT,
                       "%s has ended; headgate logs %s shows its output, headgate resume -i %s "
                       "starts it again",
                       id, id, id);
    return err_set(err, ERR_CONFLICT, "%s is %s, not running yet; headgate ls tells when", id,
                   state);
}

bool live_attach(int *ret_status, const char *keeper_socket, const char *id, struct err *err)
{
    int status;
    AUTO_BUF struct buf text = BUF_INIT;
    if (!live_need_terminal("attach", err) || !ui_attach(&status, keeper_socket, NULL, err))
        return false;
    *ret_status = status;
    if (status < 0)
        buf_addf(&text, "detached; headgate attach %s comes back, headgate stop %s ends it\n", id,
                 id);
    return text.len == 0 || out_buf(&text, err);
}

static bool attach(int *ret_status, char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempt = NULL;
    if (!cmd_parse_n(&args, argv, NULL, 0, 1, 1, err) || !client_open(&c, err) ||
        !client_attempt(&attempt, &c, args.operands.v[0], err) || !need_running(attempt, err))
        return false;
    const char *id = jx_str(attempt, "id", "?");
    if (!jx_bool(attempt, "interactive", false))
        return err_set(err, ERR_CONFLICT,
                       "%s runs without a terminal; headgate logs -f %s follows its output, "
                       "headgate enter %s gives a shell beside it",
                       id, id, id);
    return live_attach(ret_status, jx_str(attempt, "socket", ""), id, err);
}

int cmd_attach(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    if (!attach(&status, argv, &err))
        return cmd_exit(false, &err);
    return status > 0 ? 1 : 0;
}

/* The words behind the attempt, else a shell of the system: the person's own may not be in the box.
 */
static void fill_join(struct ui_join *join, const struct cmd_args *args, const json_t *attempt)
{
    const char *shell = fs_exists("/bin/bash") ? "/bin/bash" : "/bin/sh";
    if (args->operands.n > 1)
        strv_push_all(&join->argv, args->operands.v + 1);
    else
        strv_push(&join->argv, shell);
    strv_push(&join->env, "TERM=xterm-256color");
    join->cwd = jx_str(attempt, "tree", "/");
}

static void join_release(struct ui_join *join)
{
    strv_release(&join->argv);
    strv_release(&join->env);
}

/* A command's output stays in the person's terminal, where the screen of a shell would not. */
static bool join_and_tell(int *ret_status, const char *socket, struct ui_join *join,
                          bool is_command, struct err *err)
{
    AUTO_BUF struct buf output = BUF_INIT;
    join->output = is_command ? &output : NULL;
    return ui_attach(ret_status, socket, join, err) && (output.len == 0 || out_buf(&output, err));
}

static bool enter(int *ret_status, char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempt = NULL;
    __attribute__((cleanup(join_release))) struct ui_join join = {.argv = STRV_INIT,
                                                                  .env = STRV_INIT};
    if (!cmd_parse_n(&args, argv, NULL, 0, 1, SIZE_MAX, err))
        return false;
    if (args.operands.n > 1 && args.dashdash != 1)
        return cmd_usage(argv[0], "put -- before the command", err);
    if (!live_need_terminal("enter", err) || !client_open(&c, err) ||
        !client_attempt(&attempt, &c, args.operands.v[0], err) || !need_running(attempt, err))
        return false;
    fill_join(&join, &args, attempt);
    return join_and_tell(ret_status, jx_str(attempt, "socket", ""), &join, args.operands.n > 1,
                         err);
}

int cmd_enter(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    if (!enter(&status, argv, &err))
        return cmd_exit(false, &err);
    return status < 0 ? 0 : status;
}

int cmd_dashboard(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_CONFIG struct config *config = NULL;
    struct alert alert;
    struct err err = ERR_INIT;
    bool ok = client_open(&c, &err) && config_load(&config, &c.paths, &err) &&
              alert_load(&alert, config, &err) && ui_dashboard(&c.paths, &alert, &err);
    return cmd_exit(ok, &err);
}
