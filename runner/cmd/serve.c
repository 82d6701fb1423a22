#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/server/server.h"

#include <inttypes.h>
#include <poll.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum { STOP_WAIT_MS = 30 * 1000 };

/* Return once it has really ended: what comes next may touch its files. */
static bool await_end(pid_t pid, struct err *err)
{
    AUTO_FD int fd = proc_pidfd(pid);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd < 0) /* it is gone already */
        return true;
    int64_t deadline_ms = clock_mono_ms() + STOP_WAIT_MS;
    while (clock_mono_ms() < deadline_ms)
        if (poll(&p, 1, (int)(deadline_ms - clock_mono_ms())) == 1)
            return true;
    return err_set(err, ERR_FAILED,
                   "the server (pid %d) was asked to end and still works; try again", (int)pid);
}

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
           await_end((pid_t)jx_int(result, "pid", 0), err) &&
           out_write(stopped, sizeof(stopped) - 1, err);
}

static bool print_status(bool json, struct err *err)
{
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *result = NULL;
    bool is_running;
    if (!client_open_running(&c, &is_running, err))
        return false;
    if (!is_running)
        return err_set(err, ERR_NOT_FOUND, "no server runs; the next command starts one");
    if (!client_call(&result, &c, "server.info", NULL, err))
        return false;
    if (json)
        return out_json(result, err);
    AUTO_BUF struct buf text = BUF_INIT;
    buf_addf(&text,
             "server %s runs with pid %" PRId64 ": %" PRId64 " attempts active, %" PRId64
             " queued\n",
             jx_str(result, "version", "?"), jx_int(result, "pid", 0), jx_int(result, "active", 0),
             jx_int(result, "queued", 0));
    return out_buf(&text, err);
}

int cmd_serve(int argc, char **argv)
{
    (void)argc;
    bool foreground = false, stop = false, status = false, json = false;
    const struct opt table[] = {
        {0, "foreground", OPT_FLAG, &foreground, NULL, "stay, and tell on standard error", 0, 0},
        {0, "stop", OPT_FLAG, &stop, NULL, "ask the running server to end; attempts go on", 0, 0},
        {0, "status", OPT_FLAG, &status, NULL, "say whether a server runs, and its pid", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON (with --status)", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    struct err err = ERR_INIT;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, &err))
        return cmd_exit(false, &err);
    if (stop + foreground + status > 1)
        return cmd_exit(
            cmd_usage(argv[0], "--stop, --status and --foreground exclude each other", &err), &err);
    if (status)
        return cmd_exit(print_status(json, &err), &err);
    if (stop)
        return cmd_exit(stop_server(&err), &err);
    const struct server_options options = {.foreground = foreground};
    int code = server_main(&options);
    if (code != SERVER_EXIT_RUNNING)
        return code;
    err_set(&err, ERR_CONFLICT, "a server runs already; headgate serve --stop ends it");
    return cmd_exit(false, &err);
}
