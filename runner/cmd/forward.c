/*
 * forward: a port of this host that leads to a port of an attempt's box.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/wire/sync.h"

enum { PORT_MAX = 65535, ANSWER_MS = 10000 };

static bool parse_port(int *ret, const char *word, struct err *err)
{
    char *end;
    long port = strtol(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || port < 1 || port > PORT_MAX) {
        AUTO_FREE char *shown = text_clean(word);
        return err_set(err, ERR_USAGE, "a port is a number from 1 to %d, not '%s'", PORT_MAX,
                       shown);
    }
    *ret = (int)port;
    return true;
}

/* The keeper's answer among what it tells every client that attaches. */
static bool await_port(int64_t *ret_listen, struct sync_conn *conn, const char *id, struct err *err)
{
    for (;;) {
        AUTO_JSON json_t *msg = NULL;
        if (!sync_recv(&msg, conn, ANSWER_MS, err))
            return err_prefix(err, "the keeper of %s", id);
        if (!msg)
            return err_set(err, ERR_FAILED, "the keeper of %s does not answer", id);
        const char *t = jx_str(msg, "t", "");
        if (strcmp(t, "forward") == 0) {
            *ret_listen = jx_int(msg, "listen", 0);
            return true;
        }
        if (strcmp(t, "note") == 0)
            return err_set(err, ERR_FAILED, "%s",
                           jx_str(msg, "text", "the port cannot be forwarded"));
    }
}

/* Until the box ends; Ctrl-C ends this program, and with it the port. */
static bool stay(struct sync_conn *conn, const char *id, struct err *err)
{
    for (;;) {
        AUTO_JSON json_t *msg = NULL;
        if (!sync_recv(&msg, conn, -1, err)) {
            if (err->sys_errno != ECONNRESET)
                return false;
            break;
        }
        if (msg && strcmp(jx_str(msg, "t", ""), "exit") == 0)
            break;
    }
    AUTO_FREE char *line = xasprintf("%s has ended\n", id);
    return out_write(line, strlen(line), err);
}

static bool forward(char **argv, struct err *err)
{
    int64_t listen = -1;
    const struct opt table[] = {
        {0, "listen", OPT_INT, &listen, "PORT",
         "port of this host (the same one; 0: any that is free)", 0, PORT_MAX},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempt = NULL;
    AUTO_SYNC struct sync_conn conn = {.fd = -1};
    AUTO_BUF struct buf text = BUF_INIT;
    int port = 0;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 2, 2, err) ||
        !parse_port(&port, args.operands.v[1], err) || !client_open(&c, err) ||
        !client_attempt(&attempt, &c, args.operands.v[0], err))
        return false;
    const char *id = jx_str(attempt, "id", "?");
    if (strcmp(jx_str(attempt, "state", ""), "running") != 0)
        return err_set(err, ERR_CONFLICT, "%s does not run, so nothing listens in its box", id);
    AUTO_JSON json_t *hello = json_pack("{s:s, s:i, s:s}", "t", "hello", "v", 1, "role", "attach");
    AUTO_JSON json_t *ask = json_pack("{s:s, s:i, s:I}", "t", "forward", "port", port, "listen",
                                      (json_int_t)(listen < 0 ? port : listen));
    if (!sync_open(&conn, jx_str(attempt, "socket", ""), err) || !sync_send(&conn, hello, err) ||
        !sync_send(&conn, ask, err) || !await_port(&listen, &conn, id, err))
        return false;
    buf_addf(&text, "127.0.0.1:%" PRId64 " leads to port %d of %s until you press Ctrl-C\n", listen,
             port, id);
    return out_buf(&text, err) && stay(&conn, id, err);
}

int cmd_forward(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(forward(argv, &err), &err);
}
