#include "gate/explain.h"

#include <string.h>

#include "gate/program.h"
#include "gate/rule_match.h"
#include "runner/base/mem.h"

static bool starts_with(const struct strv *argv, const struct strv *words)
{
    if (argv->n < words->n)
        return false;
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(argv->v[i], words->v[i]) != 0)
            return false;
    return true;
}

/* Why an allowing rule does not cover one command, in *why; false: it does. */
static bool uncovered_command(struct buf *why, const struct rule *r, const struct rule_subject *s,
                              const struct strv *argv)
{
    const char *fault = NULL;
    if (rule_names_command(r, argv) && !(fault = rule_program_fault(s, argv->v[0])))
        return false;
    if (fault)
        buf_addf(why, "'%s' %s", argv->v[0], fault);
    else if (strchr(argv->v[0], '/'))
        buf_addf(why, "'%s' is named by its path", argv->v[0]);
    else if (!starts_with(argv, &r->value))
        buf_addf(why, "'%s%s%s%s' is another command", argv->v[0], argv->n > 1 ? " " : "",
                 argv->n > 1 ? argv->v[1] : "", argv->n > 2 ? " ..." : "");
    else if (r->what == RULE_EXACTLY)
        buf_adds(why, "the command goes on where the rule ends");
    else
        buf_addf(why, "'%s' can make %s run something else, and the rule does not spell it out",
                 program_widens(argv->v, argv->n, r->value.n), argv->v[0]);
    return true;
}

static bool covers_commands(struct buf *why, const struct rule *r, const struct rule_subject *s)
{
    const struct tool_use *use = s->use;
    if (!use->command)
        buf_adds(why, "the call runs no command");
    else if (use->shell.opaque)
        buf_addf(why, "the command is not wholly understood: %s", use->shell.opaque);
    else
        for (size_t i = 0; i < use->shell.n && why->len == 0; i++)
            uncovered_command(why, r, s, &use->shell.commands[i]);
    return why->len == 0;
}

static bool covers_paths(struct buf *why, const struct rule *r, const struct rule_subject *s)
{
    bool is_file = s->use->kind == TOOL_READ || s->use->kind == TOOL_EDIT;
    if (!is_file || s->paths.n == 0)
        buf_adds(why, "the call names no file");
    else if (s->use->has_unknown_path)
        buf_adds(why, "the call does not say which file it would change");
    for (size_t i = 0; i < s->paths.n && why->len == 0; i++)
        if (!rule_covers_path(r, s->place, s->paths.v[i]))
            buf_addf(why, "'%s' is not below it", s->paths.v[i]);
    return why->len == 0;
}

static bool covers_host(struct buf *why, const struct rule *r, const struct rule_subject *s)
{
    if (!s->use->host)
        buf_adds(why, "the call names no host");
    else if (!rule_covers_host(r, s->use->host, s->use->port))
        buf_addf(why, "'%s' is another host or port", s->use->host);
    return why->len == 0;
}

/* True when an allowing rule covers the whole call; else *why says what it does not. */
static bool allows(struct buf *why, const struct rule *r, const struct rule_subject *s)
{
    switch (r->what) {
    case RULE_COMMAND:
    case RULE_EXACTLY:
        return covers_commands(why, r, s);
    case RULE_PATH:
        return covers_paths(why, r, s);
    case RULE_HOST:
        return covers_host(why, r, s);
    case RULE_TOOL:
        if (!rule_covers_tool(r, s->call->tool))
            buf_addf(why, "the tool is '%s'", s->call->tool);
        return why->len == 0;
    case RULE_EXEC:
        break;
    }
    buf_adds(why, "it is judged where programs start");
    return false;
}

static bool speaks(struct buf *why, const struct rule *r, const struct rule_subject *s)
{
    if (!rule_is_for(r, s->call)) {
        buf_addf(why, "it is for '%s%s%s'", r->agent ? r->agent : "*", r->subagent ? "/" : "",
                 r->subagent ? r->subagent : "");
        return false;
    }
    if (r->effect == RULE_ALLOW) {
        if (!allows(why, r, s))
            return false;
        buf_adds(why, "it covers the whole call");
        return true;
    }
    bool touches = rule_touches(r, s);
    buf_adds(why, touches ? "a part of the call is, or could be, what it names"
                          : "no part of the call could be what it names");
    return touches;
}

json_t *explain_rules(const struct policy *p, const struct call_request *call,
                      const struct policy_place *place)
{
    AUTO_TOOL_USE struct tool_use use = TOOL_USE_INIT;
    tool_use_of(&use, call);
    AUTO_RULE_SUBJECT struct rule_subject subject;
    rule_subject_init(&subject, call, &use, place);
    json_t *list = json_array();
    for (size_t i = 0; i < p->n_rules; i++) {
        const struct rule *r = &p->rules[i];
        AUTO_BUF struct buf text = BUF_INIT, why = BUF_INIT;
        json_t *item = json_object();
        bool is_speaking = speaks(&why, r, &subject);
        rule_text(&text, r);
        jx_set_int(item, "rule", r->id);
        jx_set(item, "text", jx_bytes(text.ptr, text.len));
        jx_set_str(item, "effect", rule_effect_name(r->effect));
        jx_set_bool(item, "speaks", is_speaking);
        jx_set(item, "why", jx_bytes(why.ptr, why.len));
        json_array_append_new(list, item);
    }
    return list;
}
