#include "gate/policy.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gate/broker.h"
#include "gate/floor.h"
#include "gate/lexpath.h"
#include "gate/rule_match.h"
#include "gate/tool.h"
#include "runner/base/mem.h"

static const char *const ladder_names[] = {
    [LADDER_CONFIRM] = "confirm", [LADDER_EDITS] = "edits", [LADDER_AUTO] = "auto"};

const char *ladder_name(enum ladder ladder)
{
    return ladder_names[ladder];
}

bool ladder_parse(enum ladder *ret, const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(ladder_names); i++)
        if (strcmp(ladder_names[i], name) == 0) {
            *ret = (enum ladder)i;
            return true;
        }
    return err_set(err, ERR_USAGE, "'%s' is no rung of the ladder; it has confirm, edits, auto",
                   name);
}

void policy_release(struct policy *p)
{
    for (size_t i = 0; i < p->n_rules; i++)
        rule_release(&p->rules[i]);
    free(p->rules);
    *p = (struct policy)POLICY_INIT;
}

static bool add_rule(struct policy *p, const json_t *item, struct err *err)
{
    struct rule rule = RULE_INIT;
    if (!rule_parse(&rule, jx_str(item, "text", ""), err))
        return err_prefix(err, "rule %lld of the policy", (long long)jx_int(item, "id", 0));
    rule.id = jx_int(item, "id", 0);
    p->rules = xreallocarray(p->rules, p->n_rules + 1, sizeof(*p->rules));
    p->rules[p->n_rules++] = rule;
    return true;
}

bool policy_from_json(struct policy *ret, const json_t *message, struct err *err)
{
    __attribute__((cleanup(policy_release))) struct policy p = POLICY_INIT;
    p.epoch = jx_int(message, "epoch", 0);
    if (!ladder_parse(&p.ladder, jx_str(message, "ladder", ""), err))
        return false;
    size_t i;
    json_t *item;
    json_array_foreach(jx_arr(message, "rules"), i, item)
    {
        if (!add_rule(&p, item, err))
            return false;
    }
    *ret = p;
    p = (struct policy)POLICY_INIT;
    return true;
}

json_t *policy_to_json(const struct policy *p)
{
    json_t *message = json_object(), *rules = json_array();
    for (size_t i = 0; i < p->n_rules; i++) {
        AUTO_BUF struct buf text = BUF_INIT;
        rule_text(&text, &p->rules[i]);
        json_t *item = json_object();
        jx_set_int(item, "id", p->rules[i].id);
        jx_set_str(item, "text", text.ptr);
        if (json_array_append_new(rules, item) != 0)
            abort();
    }
    jx_set_str(message, "t", "policy");
    jx_set_int(message, "epoch", p->epoch);
    jx_set_str(message, "ladder", ladder_name(p->ladder));
    jx_set(message, "rules", rules);
    return message;
}

/* What a reason quotes of a name, so that the sentence around it is whole. */
enum { FINDING_NAME_BYTES = 256 };

struct bench {
    const struct policy *policy;
    const struct rule_subject *subject;
    struct judgement *ret;
    const struct rule *excuse; /* the rule that excused a finding of the floor */
    /* A program that a rule names but does not cover, and why. */
    const char *faulty, *fault;
};

/* The longest beginning of text that fits into max_bytes without cutting a character. */
static size_t fitting(const char *text, size_t max_bytes)
{
    size_t len = strlen(text);
    if (len <= max_bytes)
        return len;
    len = max_bytes;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static bool settle(struct bench *b, enum verdict verdict, const char *why, const struct rule *rule,
                   const char *fmt, ...) PRINTF_LIKE(5, 6);
static bool settle(struct bench *b, enum verdict verdict, const char *why, const struct rule *rule,
                   const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    va_end(args);
    /* The reason quotes an agent's words; err is what escapes them. */
    struct err escaped;
    err_set(&escaped, ERR_REFUSED, "%s", text);
    *b->ret = (struct judgement){.verdict = verdict, .why = why, .rule = rule ? rule->id : 0};
    memcpy(b->ret->reason, escaped.text, fitting(escaped.text, sizeof(b->ret->reason) - 1));
    return true;
}

/* Deny or ask by the first rule of that effect that touches the call. */
static bool judge_rules(struct bench *b, enum rule_effect effect, enum verdict verdict)
{
    for (size_t i = 0; i < b->policy->n_rules; i++) {
        const struct rule *r = &b->policy->rules[i];
        if (r->effect != effect || !rule_is_for(r, b->subject->call) ||
            !rule_touches(r, b->subject))
            continue;
        AUTO_BUF struct buf text = BUF_INIT;
        rule_text(&text, r);
        return settle(b, verdict, "rule", r, "the rule '%s' holds here", text.ptr);
    }
    return false;
}

static void finding_name(struct buf *out, const struct bench *b, const struct floor_finding *f)
{
    if (f->words) {
        for (const char *const *word = f->words; *word; word++)
            buf_addf(out, "%s%s", word > f->words ? " " : "", *word);
        if (!f->argv)
            buf_adds(out, " may be in this text and");
    } else if (f->path && f->path[0]) {
        buf_adds(out, f->path);
    } else {
        buf_adds(out, b->subject->call->tool);
        if (f->host && f->host[0])
            buf_addf(out, call_is_connection(b->subject->call) ? " to %s" : " of %s", f->host);
        if (b->subject->use->port)
            buf_addf(out, ":%u", b->subject->use->port);
    }
    size_t len = fitting(out->ptr, FINDING_NAME_BYTES);
    if (len < out->len) {
        out->len = len;
        buf_adds(out, "...");
    }
}

static const struct rule *find_excuse(const struct bench *b, const struct floor_finding *f)
{
    for (size_t i = 0; i < b->policy->n_rules; i++) {
        const struct rule *r = &b->policy->rules[i];
        if (r->effect == RULE_ALLOW && rule_is_for(r, b->subject->call) &&
            floor_is_excused(f, r, b->subject))
            return r;
    }
    return NULL;
}

static bool deny_finding(void *arg, const struct floor_finding *f)
{
    struct bench *b = arg;
    if (f->effect == FLOOR_ASK || (f->effect == FLOOR_REFUSE && find_excuse(b, f)))
        return true;
    AUTO_BUF struct buf name = BUF_INIT;
    finding_name(&name, b, f);
    settle(b, VERDICT_DENY, "floor", NULL, "%s %s", name.ptr, f->why);
    return false;
}

static bool ask_finding(void *arg, const struct floor_finding *f)
{
    struct bench *b = arg;
    const struct rule *excuse = find_excuse(b, f);
    if (excuse) {
        b->excuse = excuse;
        return true;
    }
    AUTO_BUF struct buf name = BUF_INIT;
    finding_name(&name, b, f);
    settle(b, VERDICT_ASK, "floor", NULL, "%s %s", name.ptr, f->why);
    return false;
}

static const struct rule *rule_for_command(struct bench *b, const struct strv *argv)
{
    for (size_t i = 0; i < b->policy->n_rules; i++) {
        const struct rule *r = &b->policy->rules[i];
        if (r->effect != RULE_ALLOW || !rule_is_for(r, b->subject->call) ||
            !rule_names_command(r, argv))
            continue;
        const char *fault = rule_program_fault(b->subject, argv->v[0]);
        if (!fault)
            return r;
        b->faulty = argv->v[0];
        b->fault = fault;
    }
    return NULL;
}

static const struct rule *rule_for_path(const struct bench *b, const char *path)
{
    for (size_t i = 0; i < b->policy->n_rules; i++) {
        const struct rule *r = &b->policy->rules[i];
        if (r->effect == RULE_ALLOW && rule_is_for(r, b->subject->call) &&
            rule_covers_path(r, b->subject->place, path))
            return r;
    }
    return NULL;
}

static const struct rule *rule_for_tool(const struct bench *b)
{
    const char *host = b->subject->use->host;
    for (size_t i = 0; i < b->policy->n_rules; i++) {
        const struct rule *r = &b->policy->rules[i];
        if (r->effect == RULE_ALLOW && rule_is_for(r, b->subject->call) &&
            (rule_covers_tool(r, b->subject->call->tool) ||
             (host && rule_covers_host(r, host, b->subject->use->port))))
            return r;
    }
    return NULL;
}

/* The broker asks about it itself, when it is carried out. */
static bool is_for_broker(const struct bench *b, const struct strv *argv)
{
    return b->subject->place->has_broker && broker_asks_later(b->subject->call) &&
           broker_is_for(argv->v, argv->n);
}

static bool is_all_for_broker(const struct bench *b)
{
    const struct tool_use *use = b->subject->use;
    for (size_t i = 0; i < use->shell.n; i++)
        if (!is_for_broker(b, &use->shell.commands[i]))
            return false;
    return use->kind == TOOL_SHELL && use->shell.n > 0 && !use->shell.opaque;
}

/* What asks for the tool itself asks here: the broker's call is of another tool. */
static bool is_asked_by_tool(const struct bench *b)
{
    const struct call_request *call = b->subject->call;
    for (size_t i = 0; i < b->policy->n_rules; i++) {
        const struct rule *r = &b->policy->rules[i];
        if (r->effect == RULE_ASK && r->what == RULE_TOOL && rule_is_for(r, call) &&
            rule_touches(r, b->subject))
            return true;
    }
    return false;
}

/* The rule that allows the whole call, or the last of several that do together. */
static const struct rule *find_allowing(struct bench *b)
{
    const struct rule *rule = rule_for_tool(b);
    if (rule)
        return rule;
    const struct tool_use *use = b->subject->use;
    const struct strv *paths = &b->subject->paths;
    if (use->kind == TOOL_SHELL)
        for (size_t i = 0; i < use->shell.n; i++) {
            const struct strv *argv = &use->shell.commands[i];
            const struct rule *own = rule_for_command(b, argv);
            if (!own && !is_for_broker(b, argv))
                return NULL;
            rule = own ? own : rule;
        }
    if ((use->kind == TOOL_READ || use->kind == TOOL_EDIT) && !use->has_unknown_path)
        for (size_t i = 0; i < paths->n; i++)
            if (!(rule = rule_for_path(b, paths->v[i])))
                return NULL;
    return rule;
}

static bool is_all_below(const struct rule_subject *s, bool worktree_only)
{
    for (size_t i = 0; i < s->paths.n; i++)
        if (worktree_only ? !lexpath_is_below(s->paths.v[i], s->place->worktree)
                          : !floor_is_own(s->place, s->paths.v[i]))
            return false;
    return true;
}

static bool passes_ladder(const struct bench *b)
{
    enum ladder ladder = b->policy->ladder;
    const struct rule_subject *s = b->subject;
    switch (s->use->kind) {
    case TOOL_PLAN:
        return true;
    case TOOL_READ:
        return ladder == LADDER_AUTO || is_all_below(s, false);
    case TOOL_EDIT:
        return ladder == LADDER_AUTO || (ladder == LADDER_EDITS && is_all_below(s, true));
    case TOOL_SPAWN:
        return ladder != LADDER_CONFIRM;
    case TOOL_SHELL:
    case TOOL_NETWORK:
    case TOOL_OTHER:
        return ladder == LADDER_AUTO;
    }
    return false;
}

/* What is done with a person's credentials. */
static void judge_broker(struct bench *b)
{
    AUTO_BROKER_ACT struct broker_act act = BROKER_ACT_INIT;
    const char *tool = b->subject->call->tool;
    struct err err = ERR_INIT;
    if (!broker_of_call(&act, b->subject->call, &err)) {
        settle(b, VERDICT_DENY, "broker", NULL, "%s", err.text);
        return;
    }
    if (judge_rules(b, RULE_DENY, VERDICT_DENY))
        return;
    if (broker_needs_person(&act)) {
        settle(b, VERDICT_ASK, "broker", NULL,
               "%s is carried out with your credentials; no rule and no rung lets it pass", tool);
        return;
    }
    if (judge_rules(b, RULE_ASK, VERDICT_ASK))
        return;
    const struct rule *rule = find_allowing(b);
    AUTO_BUF struct buf text = BUF_INIT;
    if (rule)
        rule_text(&text, rule);
    if (rule)
        settle(b, VERDICT_ALLOW, "rule", rule, "the rule '%s' holds here", text.ptr);
    else
        settle(b, VERDICT_ASK, "broker", NULL,
               "%s is carried out with your credentials, and no rule lets it pass", tool);
}

static void judge(struct bench *b)
{
    if (judge_rules(b, RULE_DENY, VERDICT_DENY) || !floor_each(b->subject, deny_finding, b))
        return;
    if (is_all_for_broker(b) && !is_asked_by_tool(b)) {
        settle(b, VERDICT_ALLOW, "broker", NULL, "it is asked about when it is carried out");
        return;
    }
    if (judge_rules(b, RULE_ASK, VERDICT_ASK) || !floor_each(b->subject, ask_finding, b))
        return;
    const struct rule *rule = find_allowing(b);
    const char *rung = ladder_name(b->policy->ladder);
    bool passes = passes_ladder(b);
    if (!rule && passes)
        rule = b->excuse;
    if (rule) {
        AUTO_BUF struct buf text = BUF_INIT;
        rule_text(&text, rule);
        settle(b, VERDICT_ALLOW, "rule", rule, "the rule '%s' holds here", text.ptr);
    } else if (passes) {
        settle(b, VERDICT_ALLOW, "ladder", NULL, "%s passes at '%s'", b->subject->call->tool, rung);
    } else {
        settle(b, VERDICT_ASK, "ladder", NULL, "%s is asked at '%s'%s%s%s%s",
               b->subject->call->tool, rung, b->fault ? ": the program '" : "",
               b->fault ? b->faulty : "", b->fault ? "' " : "", b->fault ? b->fault : "");
    }
}

void policy_judge(struct judgement *ret, const struct policy *p, const struct call_request *call,
                  const struct policy_place *place)
{
    AUTO_TOOL_USE struct tool_use use = TOOL_USE_INIT;
    tool_use_of(&use, call);
    AUTO_RULE_SUBJECT struct rule_subject subject;
    rule_subject_init(&subject, call, &use, place);
    struct bench b = {.policy = p, .subject = &subject, .ret = ret};
    if (broker_is_call(call))
        judge_broker(&b);
    else
        judge(&b);
}
