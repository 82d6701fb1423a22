#include "runner/cmd/run_opts.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"

enum { PORT_MAX = 65535, PIDS_MIN = 8, PIDS_MAX = 1000 * 1000 };

void run_opts_init(struct run_opts *o)
{
    *o = (struct run_opts){.n = 1};
}

void run_opts_release(struct run_opts *o)
{
    strv_release(&o->prompts);
    strv_release(&o->services);
    strv_release(&o->net);
    strv_release(&o->ro);
    strv_release(&o->rw);
    strv_release(&o->mask);
    strv_release(&o->secrets);
    strv_release(&o->env);
    strv_release(&o->command);
}

/* The unquoted sentence is the mistake of the first minute, so the answer shows the words quoted.
 */
static bool extra_words(const struct cmd_args *args, size_t n_words, struct err *err)
{
    AUTO_BUF struct buf prompt = BUF_INIT, quoted = BUF_INIT;
    for (size_t i = 0; i < n_words; i++)
        buf_addf(&prompt, "%s%s", i ? " " : "", args->operands.v[i]);
    cmd_quote(&quoted, &prompt.ptr, 1);
    return err_set(err, ERR_USAGE,
                   "run takes one prompt, as one word: headgate run %s (several tasks: -p PROMPT "
                   "-p PROMPT; a program: -- COMMAND ARG...)",
                   quoted.ptr);
}

static bool split_operands(struct run_opts *o, const struct cmd_args *args, struct err *err)
{
    bool has_command = args->dashdash != SIZE_MAX;
    size_t n_words = has_command ? args->dashdash : args->operands.n;
    if (has_command && n_words == args->operands.n)
        return err_set(err, ERR_USAGE, "-- needs a command behind it: headgate run -- make test");
    if (n_words > 1)
        return extra_words(args, n_words, err);
    if (n_words == 1 && (o->prompts.n || o->tasks_file))
        return err_set(err, ERR_USAGE, "give the tasks in one way: a prompt, -p, or --tasks");
    if (n_words == 1)
        strv_push(&o->prompts, args->operands.v[0]);
    if (has_command)
        strv_push_all(&o->command, args->operands.v + args->dashdash);
    return true;
}

static bool check_services(const struct run_opts *o, struct err *err)
{
    for (size_t i = 0; i < o->services.n; i++) {
        const char *text = o->services.v[i];
        char *end;
        long port = strtol(text, &end, 10);
        if (*text < '0' || *text > '9' || *end || port < 1 || port > PORT_MAX)
            return err_set(err, ERR_USAGE, "--service needs a port from 1 to %d, not '%s'",
                           PORT_MAX, text);
    }
    return true;
}

static bool check(const struct run_opts *o, struct err *err)
{
    if (o->prompts.n && o->tasks_file)
        return err_set(err, ERR_USAGE, "give the tasks in one way: a prompt, -p, or --tasks");
    if (o->template && !o->tasks_file)
        return err_set(err, ERR_USAGE, "--template goes with --tasks FILE");
    if (o->command.n && o->agent && strcmp(o->agent, "command") != 0)
        return err_set(err, ERR_USAGE,
                       "--agent %s and -- COMMAND exclude each other: the command is the agent",
                       o->agent);
    if (!o->command.n && o->agent && strcmp(o->agent, "command") == 0)
        return err_set(err, ERR_USAGE,
                       "--agent command needs a command: headgate run -- make test");
    if (!o->prompts.n && !o->tasks_file && !o->command.n && !o->interactive)
        return cmd_usage("run",
                         "there is nothing to do: give a prompt in quotes, --tasks FILE, "
                         "or -- COMMAND",
                         err);
    if (!!o->base + !!o->on + o->wip > 1)
        return err_set(err, ERR_USAGE, "give one start: --base, --on or --wip");
    if (o->wip && o->fetch)
        return err_set(err, ERR_USAGE, "--wip starts from what is here; leave --fetch out");
    if (o->interactive && o->json)
        return err_set(err, ERR_USAGE, "-i and --json exclude each other");
    return check_services(o, err);
}

bool run_opts_parse(struct run_opts *o, char **argv, struct err *err)
{
    const struct opt table[] = {
        {'n', "attempts", OPT_INT, &o->n, "N", "agents for each task (1)", 1,
         LIMIT_ATTEMPTS_PER_RUN},
        {'j', "jobs", OPT_INT, &o->jobs, "J", "at most J at once (4, or as many as CPUs)", 1,
         LIMIT_ATTEMPTS_PER_RUN},
        {'i', "interactive", OPT_FLAG, &o->interactive, NULL,
         "the agent's own interface; one attempt is attached at once", 0, 0},
        {'p', "prompt", OPT_LIST, &o->prompts, "PROMPT", "a task; may repeat", 0, 0},
        {0, "tasks", OPT_STRING, &o->tasks_file, "FILE|-",
         "tasks: a JSON array, JSON lines or plain lines", 0, 0},
        {0, "template", OPT_STRING, &o->template, "T", "prompt of each task, with {{field}}", 0, 0},
        {0, "base", OPT_STRING, &o->base, "REF", "commit to start from (HEAD)", 0, 0},
        {0, "on", OPT_STRING, &o->on, "BRANCH", "start from a branch, and merge back into it", 0,
         0},
        {0, "fetch", OPT_FLAG, &o->fetch, NULL, "ask the remote for the commit to start from", 0,
         0},
        {0, "wip", OPT_FLAG, &o->wip, NULL,
         "start from your uncommitted work, untracked files included", 0, 0},
        {0, "agent", OPT_STRING, &o->agent, "NAME", "kind of agent (headgate agent ls)", 0, 0},
        {0, "login", OPT_FLAG, &o->login, NULL,
         "work on your subscription's login of that agent, which stays outside of the box", 0, 0},
        {0, "ladder", OPT_STRING, &o->ladder, "R", "confirm, edits or auto", 0, 0},
        {0, "ask-deadline", OPT_STRING, &o->ask_deadline, "TIME[,deny|,wait]|wait",
         "how long a call waits for you, and what is then: denied as a timeout (the default), or "
         "said "
         "again and waiting on; wait alone is as long as the agent can",
         0, 0},
        {0, "exec", OPT_STRING, &o->exec, "P",
         "what becomes of every exec in the box: watch, match, ask or off", 0, 0},
        {0, "engine", OPT_STRING, &o->engine, "E", "overlay, btrfs, reflink or checkout", 0, 0},
        {0, "require", OPT_STRING, &o->require, "LAYER,...",
         "refuse to start unless these layers are active", 0, 0},
        {0, "net", OPT_LIST, &o->net, "HOST[:PORT]",
         "let the box reach this host without asking (443 and 80); may repeat", 0, 0},
        {0, "service", OPT_LIST, &o->services, "PORT",
         "let the box reach this loopback port of the host; may repeat", 0, 0},
        {0, "ro", OPT_LIST, &o->ro, "PATH", "show a host path read-only; may repeat", 0, 0},
        {0, "rw", OPT_LIST, &o->rw, "PATH", "show a host path writable; may repeat", 0, 0},
        {0, "mask", OPT_LIST, &o->mask, "PATH", "cover a path in the box; may repeat", 0, 0},
        {0, "env", OPT_LIST, &o->env, "NAME[=VALUE]", "pass a variable; may repeat", 0, 0},
        {0, "secret", OPT_LIST, &o->secrets, "NAME",
         "give a variable to the set-up command alone; may repeat", 0, 0},
        {0, "memory", OPT_SIZE, &o->memory_bytes, "SIZE", "memory of each box, like 4G", 0, 0},
        {0, "pids", OPT_INT, &o->pids, "N", "processes of each box", PIDS_MIN, PIDS_MAX},
        {0, "timeout", OPT_DURATION, &o->time_ms, "TIME", "end an attempt after, like 30m", 0, 0},
        {0, "output-limit", OPT_SIZE, &o->output_bytes, "SIZE", "output kept of each attempt", 0,
         0},
        {0, "consent", OPT_STRING, &o->consent, "HASH|none",
         "accept the repository's .headgate with this hash, or go without it", 0, 0},
        {0, "no-canary", OPT_FLAG, &o->no_canary, NULL,
         "start an agent that has not shown that a denied call does not run", 0, 0},
        {0, "detach", OPT_FLAG, &o->detach, NULL, "start and return", 0, 0},
        {0, "json", OPT_FLAG, &o->json, NULL, "print one JSON object at the end", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    return cmd_parse(&args, argv, table, ARRAY_LEN(table), err) && split_operands(o, &args, err) &&
           check(o, err);
}
