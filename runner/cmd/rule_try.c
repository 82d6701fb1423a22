#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/broker.h"
#include "gate/explain.h"
#include "gate/lexpath.h"
#include "gate/program.h"
#include "gate/tool.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/real.h"
#include "runner/base/text.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_rules.h"
#include "runner/cmd/rule_file.h"

enum { TRY_ALLOW = 0, TRY_DENY = 3, TRY_ASK = 6 };

struct
try {
    const char *tool, *args, *rules_file, *ladder, *agent, *cwd, *dir;
    struct strv rules;
    bool json, options;
    struct cmd_args words;
};

static void try_release(struct try *t)
{
    strv_release(&t->rules);
    cmd_args_release(&t->words);
}

/* The call as an agent would ask it: --tool and --args, TOOL JSON, or a command line for the shell
 * tool. */
static bool try_request(struct call_request *ret, const struct try *t, const char *cwd,
                        struct err *err)
{
    AUTO_JSON json_t *msg = json_object();
    AUTO_BUF struct buf line = BUF_INIT, command = BUF_INIT;
    json_t *call_args = NULL;
    const struct strv *words = &t->words.operands;
    bool is_command = !t->tool && t->words.dashdash == 0;
    const char *text = is_command ? NULL : t->tool ? t->args : words->v[1];
    if (is_command) {
        cmd_quote(&command, words->v, words->n);
        call_args = json_object();
        jx_set(call_args, "command", jx_bytes(command.ptr, command.len));
    } else if (!jx_parse(&call_args, text, strlen(text), err)) {
        err->code = ERR_USAGE;
        return err_prefix(err, "the arguments");
    }
    jx_set_int(msg, "v", 1);
    jx_set_str(msg, "source", "hook");
    jx_set_str(msg, "agent", t->agent);
    jx_set_str(msg, "tool", is_command ? "Bash" : t->tool ? t->tool : words->v[0]);
    jx_set(msg, "args", call_args);
    jx_set_str(msg, "cwd", cwd);
    jx_dump(&line, msg);
    if (call_request_parse(ret, line.ptr, line.len, err))
        return true;
    err->code = ERR_USAGE;
    return false;
}

static void take_rule(struct policy *p, struct rule *rule, int64_t id)
{
    p->rules = xreallocarray(p->rules, p->n_rules + 1, sizeof(*p->rules));
    rule->id = id;
    p->rules[p->n_rules++] = *rule;
    *rule = (struct rule)RULE_INIT;
}

/* The rules that were given, whatever their scope. */
static bool load_given(struct policy *p, const struct try *t, struct err *err)
{
    AUTO_RULES struct rules rules = RULES_INIT;
    if (t->rules_file && !rules_read(&rules, t->rules_file, err))
        return false;
    for (size_t i = 0; i < t->rules.n; i++)
        if (!rules_add(&rules, t->rules.v[i], err))
            return false;
    for (size_t i = 0; t->tool && i < t->words.operands.n; i++)
        if (!rules_add(&rules, t->words.operands.v[i], err))
            return false;
    for (size_t i = 0; i < rules.n; i++)
        take_rule(p, &rules.v[i], (int64_t)i + 1);
    return true;
}

/* Those in force always: no attempt is named, so no narrower scope holds. */
static bool load_stored(struct policy *p, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    size_t i;
    const json_t *row;
    if (!client_ask(&result, "rule.list", NULL, err))
        return false;
    json_array_foreach(jx_arr(result, "rules"), i, row)
    {
        AUTO_RULE struct rule rule = RULE_INIT;
        if (!rule_parse(&rule, jx_str(row, "text", ""), err))
            return false;
        if (rule.scope == RULE_ALWAYS)
            take_rule(p, &rule, jx_int(row, "id", 0));
    }
    return true;
}

static bool load_policy(struct policy *p, const struct try *t, struct err *err)
{
    bool is_given = t->tool || t->rules.n > 0 || t->rules_file;
    /* By themselves rules are seen best where nothing else lets a call pass. */
    const char *ladder = t->ladder ? t->ladder : is_given ? "confirm" : "auto";
    return ladder_parse(&p->ladder, ladder, err) &&
           (is_given ? load_given(p, t, err) : load_stored(p, err));
}

static const char *verdict_word(enum verdict verdict)
{
    static const char *const words[] = {
        [VERDICT_ALLOW] = "allow", [VERDICT_ASK] = "ask", [VERDICT_DENY] = "deny"};
    return words[verdict];
}

/* rules is taken over. */
static bool print_judgement(const struct judgement *j, json_t *rules, bool json, struct err *err)
{
    AUTO_JSON json_t *result = json_object();
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    jx_set_str(result, "verdict", verdict_word(j->verdict));
    jx_set_str(result, "why", j->why);
    jx_set_int(result, "rule", j->rule);
    jx_set_str(result, "reason", j->reason);
    jx_set(result, "rules", rules);
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_judged(&text, &p, result);
    return out_buf(&text, err);
}

static int try_status(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_ALLOW:
        return TRY_ALLOW;
    case VERDICT_ASK:
        return TRY_ASK;
    case VERDICT_DENY:
        return TRY_DENY;
    }
    return TRY_DENY;
}

/* An absolute folder without links where it exists here, else as it was written. */
static bool folder(char **ret, const char *dir, struct err *err)
{
    struct err ignored = ERR_INIT;
    char *real = fs_realpath(dir, &ignored);
    if (!real && dir[0] != '/')
        return err_set(err, ERR_USAGE, "there is no folder '%s' here; give an absolute path", dir);
    *ret = real ? real : xstrdup(dir);
    return true;
}

static char *resolve_here(void *arg, const char *path)
{
    (void)arg;
    return real_path("", path);
}

/* Of the folders here those that an agent could write: toolchains in the person's home are shown to
 * it read-only. */
static bool is_of_agent(const struct policy_place *place, const char *path)
{
    return lexpath_is_below(path, place->worktree) || lexpath_is_below(path, "/tmp") ||
           lexpath_is_below(path, "/var/tmp");
}

/* The folders of this shell's PATH; what is not installed here is not held against a rule. */
static enum policy_program find_here(void *arg, const char *name)
{
    const struct policy_place *place = arg;
    const char *path = getenv("PATH");
    bool is_relative;
    AUTO_FREE char *program =
        real_program("", path && *path ? path : "/usr/local/bin:/usr/bin:/bin", name, &is_relative);
    if (is_relative)
        return PROGRAM_UNTOLD;
    if (!program)
        return PROGRAM_OUT_OF_REACH;
    AUTO_FREE char *real = real_path("", program);
    return real && !is_of_agent(place, program) && !is_of_agent(place, real) ? PROGRAM_OUT_OF_REACH
                                                                             : PROGRAM_IN_REACH;
}

/* What the broker asks, in the place of the call that led to it. */
static bool broker_request(struct call_request *ret, const struct strv *argv,
                           const struct call_request *call, struct err *err)
{
    AUTO_BROKER_ACT struct broker_act act = BROKER_ACT_INIT;
    AUTO_BUF struct buf line = BUF_INIT;
    AUTO_JSON json_t *msg = json_object();
    json_t *args = json_object();
    struct err unread = ERR_INIT; /* what cannot be read is refused when it is judged */
    AUTO_FREE char *tool =
        broker_read(&act, argv->v, argv->n, &unread) ? broker_tool(&act) : xstrdup(argv->v[0]);
    jx_set(args, "argv", jx_from_strv(argv));
    jx_set_int(msg, "v", 1);
    jx_set_str(msg, "source", "broker");
    jx_set_str(msg, "agent", call->agent);
    jx_set_str(msg, "tool", tool);
    jx_set(msg, "args", args);
    jx_set_str(msg, "cwd", call->cwd);
    jx_dump(&line, msg);
    return call_request_parse(ret, line.ptr, line.len, err);
}

/* The call as the gate judges it, and of each command in it that the broker carries out what is
 * judged then: the strictest counts. *ret_rules: what each rule says of that. */
static bool judge_all(struct judgement *ret, json_t **ret_rules, const struct policy *policy,
                      const struct call_request *call, const struct policy_place *place,
                      struct err *err)
{
    AUTO_TOOL_USE struct tool_use use = TOOL_USE_INIT;
    tool_use_of(&use, call);
    policy_judge(ret, policy, call, place);
    AUTO_JSON json_t *rules = explain_rules(policy, call, place);
    for (size_t i = 0; i < use.shell.n && place->has_broker; i++) {
        const struct strv *argv = &use.shell.commands[i];
        AUTO_CALL_REQUEST struct call_request own = CALL_REQUEST_INIT;
        struct judgement carried;
        if (!broker_is_for(argv->v, argv->n))
            continue;
        if (!broker_request(&own, argv, call, err))
            return false;
        policy_judge(&carried, policy, &own, place);
        bool is_alone = use.shell.n == 1 && ret->verdict == VERDICT_ALLOW;
        if (carried.verdict <= ret->verdict && !is_alone)
            continue;
        *ret = carried;
        json_decref(rules);
        rules = explain_rules(policy, &own, place);
    }
    *ret_rules = steal_json(&rules);
    return true;
}

/* A text that is not understood is asked about as a whole. */
static bool is_understood(const struct call_request *call)
{
    AUTO_TOOL_USE struct tool_use use = TOOL_USE_INIT;
    tool_use_of(&use, call);
    return use.kind == TOOL_SHELL && use.command && !use.shell.opaque;
}

static bool judge(int *ret_status, const struct try *t, struct err *err)
{
    __attribute__((cleanup(policy_release))) struct policy policy = POLICY_INIT;
    AUTO_CALL_REQUEST struct call_request call = CALL_REQUEST_INIT;
    AUTO_FREE char *cwd = NULL, *dir = NULL;
    const char *tree = t->dir ? t->dir : t->cwd ? t->cwd : "/worktree";
    if (!folder(&dir, tree, err) || !folder(&cwd, t->cwd ? t->cwd : tree, err) ||
        !try_request(&call, t, cwd, err) || !load_policy(&policy, t, err))
        return false;
    struct policy_place place = {.worktree = dir,
                                 .home = "/home",
                                 .resolve = access(dir, F_OK) == 0 ? resolve_here : NULL,
                                 .program = find_here,
                                 .has_broker = is_understood(&call),
                                 .arg = &place};
    struct judgement judgement;
    json_t *rules;
    if (!judge_all(&judgement, &rules, &policy, &call, &place, err))
        return false;
    *ret_status = try_status(judgement.verdict);
    return print_judgement(&judgement, rules, t->json, err);
}

static bool print_options(const struct try *t, struct err *err)
{
    AUTO_JSON json_t *all = program_options();
    AUTO_BUF struct buf text = BUF_INIT;
    if (t->json)
        return out_json(all, err);
    print_program_options(&text, all);
    return out_buf(&text, err);
}

static bool check(const struct try *t, const char *name, struct err *err)
{
    if (t->tool && !t->args)
        return cmd_usage(name, "--tool goes with --args JSON", err);
    if (t->args && !t->tool)
        return cmd_usage(name, "--args goes with --tool NAME", err);
    bool is_command = t->words.dashdash == 0 && t->words.operands.n > 0;
    bool is_call = t->words.operands.n == 2 && t->words.dashdash == SIZE_MAX;
    if (!t->tool && !is_command && !is_call)
        return cmd_usage(name,
                         "name a tool and its arguments as JSON (--tool NAME --args JSON), or a "
                         "command behind --",
                         err);
    return true;
}

static bool try_call(int *ret_status, char **argv, struct err *err)
{
    __attribute__((cleanup(try_release))) struct try t = {.agent = "command",
                                                          .words = CMD_ARGS_INIT};
    const struct opt table[] = {
        {0, "rule", OPT_LIST, &t.rules, "TEXT",
         "a rule to try instead of the stored ones; may repeat", 0, 0},
        {0, "rules", OPT_STRING, &t.rules_file, "FILE|-", "rules to try, one a line", 0, 0},
        {0, "tool", OPT_STRING, &t.tool, "NAME", "the tool; without --rule no rule holds", 0, 0},
        {0, "args", OPT_STRING, &t.args, "JSON", "its arguments, an object", 0, 0},
        {0, "cwd", OPT_STRING, &t.cwd, "DIR", "where the call is made (the worktree)", 0, 0},
        {0, "dir", OPT_STRING, &t.dir, "DIR", "the worktree (--cwd, or /worktree)", 0, 0},
        {0, "ladder", OPT_STRING, &t.ladder, "R",
         "confirm, edits or auto (auto for the stored rules, confirm for others)", 0, 0},
        {0, "agent", OPT_STRING, &t.agent, "NAME", "kind of agent that asks", 0, 0},
        {0, "options", OPT_FLAG, &t.options, NULL,
         "list the options of programs that a prefix rule covers only when it spells them", 0, 0},
        {0, "json", OPT_FLAG, &t.json, NULL, "print JSON", 0, 0},
    };
    if (!cmd_parse(&t.words, argv, table, ARRAY_LEN(table), err))
        return false;
    if (t.options)
        return print_options(&t, err);
    return check(&t, argv[0], err) && judge(ret_status, &t, err);
}

int cmd_rule_try(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    bool ok = try_call(&status, argv, &err);
    return ok ? status : cmd_exit(false, &err);
}
