/* Proposals of rules for a call, narrowest first. */
#include <stdlib.h>
#include <string.h>

#include "gate/explain.h"
#include "gate/lexpath.h"
#include "gate/rule_match.h"
#include "runner/base/mem.h"

struct maker {
    const struct call_request *call;
    const struct tool_use *use;
    const struct policy_place *place;
    const struct strv *paths; /* as the agent names them, resolved as text */
    const char *run;
    bool for_type; /* of the subagent alone */
    json_t *all;
};

/* Append the text of one rule that allows value to set, when the grammar can say it. */
static bool add_rule(json_t *set, const struct maker *m, enum rule_what what, char *const *words,
                     size_t n, enum rule_scope scope)
{
    AUTO_RULE struct rule r = {.effect = RULE_ALLOW, .what = what, .scope = scope};
    AUTO_BUF struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    for (size_t i = 0; i < n; i++)
        strv_push(&r.value, words[i]);
    r.agent = xstrdup(m->call->agent);
    if (m->for_type)
        r.subagent = xstrdup(m->call->sub_type);
    if (scope == RULE_RUN)
        r.scope_value = xstrdup(m->run);
    rule_text(&text, &r);
    AUTO_RULE struct rule again = RULE_INIT;
    if (!rule_parse(&again, text.ptr, &ignored))
        return false;
    json_array_append_new(set, jx_bytes(text.ptr, text.len));
    return true;
}

/* What the rule names of a command: all words, or the program and its subcommand. */
static size_t words_named(enum rule_what what, const struct strv *argv)
{
    if (what == RULE_EXACTLY)
        return argv->n;
    return argv->n > 1 && argv->v[1][0] != '-' ? 2 : 1;
}

/* The set as the next proposal, unless it cannot be said or does not let the call pass by itself.
 */
static void keep(struct maker *m, json_t *set, bool is_whole)
{
    struct judgement j;
    struct policy policy = {.ladder = LADDER_CONFIRM};
    size_t i;
    const json_t *text;
    policy.rules = xcalloc(json_array_size(set) + 1, sizeof(*policy.rules));
    json_array_foreach(set, i, text)
    {
        struct err ignored = ERR_INIT;
        if (rule_parse(&policy.rules[policy.n_rules], json_string_value(text), &ignored))
            policy.n_rules++;
    }
    policy_judge(&j, &policy, m->call, m->place);
    if (is_whole && policy.n_rules > 0 && j.verdict == VERDICT_ALLOW)
        json_array_append(m->all, set);
    policy_release(&policy);
    json_decref(set);
}

static void propose_commands(struct maker *m, enum rule_what what, enum rule_scope scope)
{
    json_t *set = json_array();
    bool is_whole = true;
    for (size_t i = 0; i < m->use->shell.n; i++) {
        const struct strv *argv = &m->use->shell.commands[i];
        is_whole &= add_rule(set, m, what, argv->v, words_named(what, argv), scope);
    }
    keep(m, set, is_whole);
}

/* The file, or its folder, as a rule names it: from the top of the worktree where it is there. */
static char *path_named(const struct maker *m, const char *path, bool folder)
{
    bool is_inside = lexpath_is_below(path, m->place->worktree);
    AUTO_FREE char *name = xstrdup(is_inside ? lexpath_below(path, m->place->worktree) : path);
    char *slash = strrchr(name, '/');
    if (!folder)
        return steal_ptr(&name);
    if (!slash || slash == name)
        return NULL;
    slash[1] = '\0';
    return steal_ptr(&name);
}

static void propose_paths(struct maker *m, bool folder, enum rule_scope scope)
{
    json_t *set = json_array();
    bool is_whole = m->paths->n > 0;
    for (size_t i = 0; i < m->paths->n; i++) {
        AUTO_FREE char *name = path_named(m, m->paths->v[i], folder);
        is_whole &= name && add_rule(set, m, RULE_PATH, &name, 1, scope);
    }
    keep(m, set, is_whole);
}

static void propose_word(struct maker *m, enum rule_what what, const char *word,
                         enum rule_scope scope)
{
    json_t *set = json_array();
    AUTO_FREE char *copy = xstrdup(word);
    keep(m, set, add_rule(set, m, what, &copy, 1, scope));
}

static void propose_host(struct maker *m, enum rule_scope scope)
{
    bool is_v6 = strchr(m->use->host, ':') != NULL;
    AUTO_FREE char *name = xasprintf(is_v6 ? "[%s]" : "%s", m->use->host);
    AUTO_FREE char *with_port = xasprintf("%s:%u", name, m->use->port);
    propose_word(m, RULE_HOST, m->use->port ? with_port : name, scope);
}

/* width 0: the very same; 1: a prefix of it, its folder. */
static void propose_one(struct maker *m, int width, enum rule_scope scope)
{
    bool is_file = m->use->kind == TOOL_READ || m->use->kind == TOOL_EDIT;
    bool is_tool = m->use->kind == TOOL_OTHER || m->use->kind == TOOL_SPAWN;
    if (m->use->shell.n > 0)
        propose_commands(m, width ? RULE_COMMAND : RULE_EXACTLY, scope);
    if (is_file)
        propose_paths(m, width > 0, scope);
    if (m->use->host && m->use->host[0] && width == 0 && !m->for_type)
        propose_host(m, scope);
    if (is_tool && width == 0)
        propose_word(m, RULE_TOOL, m->call->tool, scope);
}

static void propose(struct maker *m)
{
    static const enum rule_scope scopes[] = {RULE_RUN, RULE_REPO};
    if (m->call->sub_type && m->call->sub_type[0]) {
        m->for_type = true;
        propose_one(m, 0, RULE_RUN);
        m->for_type = false;
    }
    for (int width = 0; width < 2; width++)
        for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
            propose_one(m, width, scopes[i]);
}

json_t *explain_proposals(const char **ret_why, const struct call_request *call,
                          const struct policy_place *place, const char *attempt)
{
    AUTO_TOOL_USE struct tool_use use = TOOL_USE_INIT;
    tool_use_of(&use, call);
    struct policy_place text_place = *place;
    text_place.resolve = NULL;
    AUTO_RULE_SUBJECT struct rule_subject subject;
    rule_subject_init(&subject, call, &use, &text_place);
    AUTO_FREE char *run = xstrndup(attempt, strcspn(attempt, "."));
    struct maker m = {.call = call,
                      .use = &use,
                      .place = &text_place,
                      .paths = &subject.paths,
                      .run = run,
                      .all = json_array()};
    propose(&m);
    *ret_why = json_array_size(m.all) > 0 ? NULL
               : use.shell.opaque         ? use.shell.opaque
                                  : "nothing in it can be named narrowly, or the floor refuses it";
    return m.all;
}
