#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/rule.h"
#include "runner/agents/agent.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_rules.h"
#include "runner/cmd/rule_file.h"
#include "runner/cmd/rule_pick.h"
#include "worktree/worktree.h"

/* `in repo` means the repository of this folder, `in repo PATH` that of PATH: runs know it by its
 * git folder, which is how an exported rule has it. */
static bool fill_scope(struct rule *rule, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    struct err why = ERR_INIT;
    const char *path = rule->scope_value;
    if (rule->scope != RULE_REPO)
        return true;
    bool is_open = wt_repo_open(&repo, path ? path : ".", &why);
    bool is_git_folder = !is_open && path && path[0] == '/' && why.code == ERR_USAGE;
    if (is_git_folder)
        return true;
    if (!is_open) {
        *err = why;
        return path ? err_prefix(err, "the rule is for the repository of '%.200s'", path)
                    : err_prefix(err, "the rule is for the repository of this folder");
    }
    free(rule->scope_value);
    rule->scope_value = xstrdup(repo.common_dir);
    return true;
}

/* A mistyped kind would make a rule that never holds, and one that denies nothing. */
static bool check_agent(const struct rule *rule, const struct config *config, struct err *err)
{
    const struct agent *found;
    struct agent own;
    AUTO_BUF struct buf names = BUF_INIT;
    if (!rule->agent || agent_named(&found, &own, rule->agent, config))
        return true;
    agent_add_names(&names, config);
    return err_set(
        err, ERR_USAGE,
        "there is no agent '%.64s'; there are %s ('headgate agent add' makes one of your "
        "own; where 'for' is a word of the command write \"'for'\")",
        rule->agent, names.ptr);
}

/* All or none. Checked here first, so that a mistake costs no server. */
static bool add_rules(struct client *c, struct rules *rules, struct err *err)
{
    AUTO_BUF struct buf report = BUF_INIT;
    AUTO_PATHS struct paths paths = {0};
    AUTO_CONFIG struct config *config = NULL;
    if (!paths_init(&paths, err) || !config_load(&config, &paths, err))
        return false;
    json_t *texts = json_array(), *request = json_pack("{s:o}", "texts", texts);
    for (size_t i = 0; i < rules->n; i++) {
        AUTO_BUF struct buf text = BUF_INIT;
        bool is_good = check_agent(&rules->v[i], config, err) && fill_scope(&rules->v[i], err);
        rule_text(&text, &rules->v[i]);
        if (!is_good) {
            json_decref(request);
            return rules->n > 1 ? err_prefix(err, "rule %zu, '%.200s'", i + 1, text.ptr) : false;
        }
        json_array_append_new(texts, jx_bytes(text.ptr, text.len));
    }
    return client_open(c, err) && rule_store(&report, c, request, err) && out_buf(&report, err);
}

/* --from C shows proposals with what each would have decided; --pick N stores one. */
static bool add_from(char **argv, struct err *err)
{
    const char *call = NULL;
    int64_t pick = 0;
    bool json = false;
    const struct opt table[] = {
        {0, "from", OPT_STRING, &call, "C", "propose rules that let such a call pass", 0, 0},
        {0, "pick", OPT_INT, &pick, "N", "store the proposal with this number", 1, 1000},
        {0, "json", OPT_FLAG, &json, NULL, "print the proposals as JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err))
        return false;
    if (!call)
        return cmd_usage(argv[0], "--pick goes with --from C", err);
    if (!client_open(&c, err) || !rule_proposals(&result, &c, call, err))
        return false;
    if (pick > 0)
        return rule_pick(&text, &c, result, pick, err) && out_buf(&text, err);
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_proposals(&text, &p, result);
    return out_buf(&text, err);
}

static bool add(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_RULES struct rules rules = RULES_INIT;
    /* Words of a command are no options of ours: `add allow command ls -l`. */
    bool wants_help = argv[1] && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (wants_help || (argv[1] && argv[1][0] == '-'))
        return add_from(argv, err);
    for (char **word = argv + 1; *word; word++)
        strv_push(&args.operands, *word);
    if (args.operands.n == 0)
        return cmd_usage(argv[0], "a rule is missing, like: allow command git status", err);
    bool is_text = args.operands.n == 1;
    bool ok = is_text ? rules_add(&rules, args.operands.v[0], err)
                      : rules_add_words(&rules, &args.operands, err);
    return ok && add_rules(&c, &rules, err);
}

int cmd_rule_add(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(add(argv, &err), &err);
}

static bool ls(char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err) ||
        !client_ask(&result, "rule.list", NULL, err))
        return false;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_rules(&text, &p, jx_arr(result, "rules"));
    return out_buf(&text, err);
}

int cmd_rule_ls(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(ls(argv, &err), &err);
}

static bool rm(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    return cmd_parse_n(&args, argv, NULL, 0, 1, SIZE_MAX, err) &&
           client_ask(&result, "rule.rm", client_ids(&args.operands), err) &&
           client_in_force(result, err);
}

int cmd_rule_rm(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(rm(argv, &err), &err);
}

static bool export_rules(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    size_t i;
    const json_t *rule;
    if (!cmd_parse_n(&args, argv, NULL, 0, 0, 0, err) ||
        !client_ask(&result, "rule.list", NULL, err))
        return false;
    json_array_foreach(jx_arr(result, "rules"), i, rule)
    {
        AUTO_FREE char *clean = text_clean(jx_str(rule, "text", ""));
        buf_addf(&text, "%s\n", clean);
    }
    return out_buf(&text, err);
}

int cmd_rule_export(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(export_rules(argv, &err), &err);
}

static bool import_rules(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_RULES struct rules rules = RULES_INIT;
    return cmd_parse_n(&args, argv, NULL, 0, 1, 1, err) &&
           rules_read(&rules, args.operands.v[0], err) && add_rules(&c, &rules, err);
}

int cmd_rule_import(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(import_rules(argv, &err), &err);
}
