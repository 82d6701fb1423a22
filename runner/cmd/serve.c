#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/server/server.h"

#include "runner/base/mem.h"

static bool stop_server(struct err *err)
{
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *result = NULL;
    static const char stopped[] =
        "stopped; running attempts go on, the next command starts a server again\n";
    static const char none[] = "no server runs\n";
    bool is_running;
    if (!client_open_running(&c, &is_running, err))
        return false;
    if (!is_running)
        return out_write(none, sizeof(none) - 1, err);
    return client_call(&result, &c, "server.stop", NULL, err) &&
           out_write(stopped, sizeof(stopped) - 1, err);
}

int cmd_serve(int argc, char **argv)
{
    (void)argc;
    bool foreground = false, stop = false;
    const struct opt table[] = {
        {0, "foreground", OPT_FLAG, &foreground, NULL, "stay, and tell on standard error", 0, 0},
        {0, "stop", OPT_FLAG, &stop, NULL, "ask the running server to end; attempts go on", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    struct err err = ERR_INIT;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, &err))
        return cmd_exit(false, &err);
    if (stop && foreground)
        return cmd_exit(cmd_usage(argv[0], "--stop and --foreground exclude each other", &err),
                        &err);
    if (stop)
        return cmd_exit(stop_server(&err), &err);
    const struct server_options options = {.foreground = foreground};
    return server_main(&options);
}
