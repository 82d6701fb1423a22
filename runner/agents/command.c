/*
 * command: any program as an agent. It is told its task by HEADGATE_TASK and gates its own tool
 * calls with headgate-hook where it wants to; whatever it does, the box contains.
 */
#include "runner/agents/kinds.h"

static bool prepare(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    if (!start->command || start->command->n == 0)
        return err_set(err, ERR_USAGE, "a command is missing: headgate run -- COMMAND [ARG...]");
    for (size_t i = 0; i < start->command->n; i++)
        strv_push(&spec->argv, start->command->v[i]);
    return true;
}

static const char *const no_env[] = {NULL};

/* A shell that is given the command as it is, or none. */
static const struct agent_form calls[] = {
    {{"sh", "-c", "%c", NULL}},
    {{"bash", "-c", "%c", NULL}},
    {{"bash", "-lc", "%c", NULL}},
    {{"%w", NULL}},
    {{NULL}},
};
static const struct agent_form helpers[] = {{{"%k", "%*", NULL}}, {{NULL}}};

const struct agent agent_command = {
    .name = "command",
    .title = "a command of your own",
    .gated = "By what it asks with headgate-hook or headgate-mcp, by the exec gate and by the "
             "proxy; the box "
             "contains the rest.",
    .gaps = "Whatever it does not ask.",
    .output = "lines",
    .needs_env = no_env,
    .exec_calls = calls,
    .exec_helpers = helpers,
    .prepare = prepare,
};
