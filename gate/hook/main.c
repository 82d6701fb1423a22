/*
 * headgate-hook: turns an agent's hook call into a gate request, and the gate's answer into the
 * agent's own words. It never fails open: see fatal.h.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/dialect.h"
#include "gate/hook/changes_hook.h"
#include "gate/hook/exchange.h"
#include "gate/hook/fatal.h"
#include "gate/hook/shim.h"
#include "gate/hook/tunnel.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/opt.h"

static const char usage[] =
    "usage: headgate-hook [--agent NAME] [--socket PATH] [--timeout MS]\n"
    "\n"
    "Reads one tool call from standard input, asks the gate of this box, and prints the answer.\n"
    "Exit code 2 with a sentence on standard error is a denial too; nothing else can happen.\n"
    "\n"
    "With --agent plain (the default) a call and its answer are\n"
    "  {\"tool\":\"shell\",\"args\":{\"command\":\"make test\"}}\n"
    "  {\"decision\":\"deny\",\"reason\":\"use make check\",\"call\":\"c12\"}\n"
    "and the exit code is 0 for allow, 2 for deny. Further members of a call: agent, cwd, "
    "call_id,\n"
    "session, subagent {id, type, depth}.\n"
    "\n"
    "Under the names git, gh and glab it hands what needs a person's credentials to the gate and "
    "is\n"
    "the real program for all else.\n"
    "\n";

struct options {
    const char *agent;
    const char *socket;
    const char *connect;
    int64_t timeout_ms;
    bool help;
};

static bool read_options(struct options *o, char **argv, const struct opt *table, size_t n,
                         struct err *err)
{
    AUTO_STRV struct strv operands = STRV_INIT;
    size_t dashdash;
    if (!opt_parse(&operands, &dashdash, table, n, argv, false, err))
        return false;
    if (operands.n > 0)
        return err_set(err, ERR_USAGE, "'%s' is one word too many; see headgate-hook --help",
                       operands.v[0]);
    if (!o->help && !o->connect && !o->socket)
        return err_set(err, ERR_USAGE,
                       "HEADGATE_GATE is not set, so there is no gate to ask; "
                       "it is set in every box of Headgate");
    return true;
}

static int print_help(const struct opt *table, size_t n, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    buf_adds(&text, usage);
    opt_help(&text, table, n);
    buf_adds(&text, "\nKnown agents: ");
    dialect_names(&text);
    buf_adds(&text, ".\n");
    if (!fs_write_fd(STDOUT_FILENO, text.ptr, text.len, err))
        fatal(err);
    return 0;
}

static bool answer(int *ret_status, const struct options *o, struct err *err)
{
    const struct dialect *dialect = dialect_find(o->agent);
    if (!dialect)
        return err_set(err, ERR_USAGE, "'%s' is no agent that headgate-hook knows", o->agent);
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_BUF struct buf words = BUF_INIT;
    if (!fs_read_fd(&text, STDIN_FILENO, LIMIT_LINE_BYTES, err))
        return err_prefix(err, "the call");
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    AUTO_DIALECT_INPUT struct dialect_input in = DIALECT_INPUT_INIT;
    if (!dialect_read(&in, dialect, text.ptr, text.len, cwd ? cwd : "", err))
        return false;
    *ret_status = 0;
    if (!in.request)
        return true;
    struct exchange_answer reply;
    if (!exchange(&reply, o->socket, in.request, err))
        return false;
    buf_clear(&text);
    const struct dialect_answer told = {
        .allow = reply.allow, .reason = reply.reason, .call = reply.call};
    *ret_status = dialect_write(&text, &words, dialect, in.event, &told);
    json_decref(reply.reason);
    json_decref(reply.message);
    free(reply.call);
    return fs_write_fd(STDERR_FILENO, words.ptr, words.len, err) &&
           fs_write_fd(STDOUT_FILENO, text.ptr, text.len, err);
}

int main(int argc, char **argv)
{
    if (argc > 0 && shim_is_called(argv[0]))
        return shim_main(argv);
    if (argc > 0 && changes_hook_is_called(argv[0]))
        return changes_hook_main(argv);
    fatal_init();
    struct options o = {.agent = "plain", .socket = getenv("HEADGATE_GATE")};
    const struct opt table[] = {
        {0, "agent", OPT_STRING, &o.agent, "NAME", "whose words to read and print", 0, 0},
        {0, "socket", OPT_STRING, &o.socket, "PATH", "the gate's socket (default $HEADGATE_GATE)",
         0, 0},
        {0, "timeout", OPT_INT, &o.timeout_ms, "MS", "deny after this time (default: wait)", 1,
         INT64_C(1000) * 86400 * 365},
        {0, "connect", OPT_STRING, &o.connect, "HOST:PORT",
         "instead: connect standard streams to a host through the box's proxy (for ssh)", 0, 0},
        {'h', "help", OPT_FLAG, &o.help, NULL, "show this text", 0, 0},
    };
    struct err err = ERR_INIT;
    int status = 0;
    if (!read_options(&o, argv, table, ARRAY_LEN(table), &err))
        fatal(&err);
    if (o.help)
        return print_help(table, ARRAY_LEN(table), &err);
    if (o.connect) {
        signal(SIGHUP, SIG_DFL); /* how ssh ends it: no denial */
        const char *proxy = getenv("HEADGATE_PROXY");
        if (!tunnel(proxy ? proxy : "", o.connect, &err))
            fatal(&err);
        return 0;
    }
    if (o.timeout_ms > 0)
        fatal_after(o.timeout_ms);
    if (!answer(&status, &o, &err))
        fatal(&err);
    return status;
}
