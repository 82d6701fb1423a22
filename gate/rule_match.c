#include "gate/rule_match.h"

#include <string.h>
#include <strings.h>

#include "gate/host.h"
#include "gate/lexpath.h"
#include "gate/program.h"
#include "gate/shellscan.h"
#include "runner/base/mem.h"

/* `..` behind a symbolic link leads elsewhere than the text says, so the path is resolved as it was
 * written. */
static void add_real(struct rule_subject *s, const char *base, const char *written,
                     const char *lexical)
{
    if (!s->place->resolve)
        return;
    AUTO_FREE char *whole = written[0] == '~'   ? xstrdup(lexical)
                            : written[0] == '/' ? xstrdup(written)
                                                : xasprintf("%s/%s", base, written);
    AUTO_FREE char *real = s->place->resolve(s->place->arg, whole);
    if (!real)
        strv_push(&s->paths, "/");
    else if (strcmp(real, lexical) != 0)
        strv_push(&s->paths, real);
}

void rule_subject_init(struct rule_subject *s, const struct call_request *call,
                       const struct tool_use *use, const struct policy_place *place)
{
    *s = (struct rule_subject){.call = call, .use = use, .place = place};
    AUTO_BUF struct buf path = BUF_INIT;
    const char *base = call->cwd[0] ? call->cwd : place->worktree;
    for (size_t i = 0; i < use->paths.n; i++) {
        lexpath_resolve(&path, base, place->home, use->paths.v[i]);
        strv_push(&s->paths, path.ptr);
        add_real(s, base, use->paths.v[i], path.ptr);
    }
}

void rule_subject_done(struct rule_subject *s)
{
    strv_release(&s->paths);
}

bool rule_is_for(const struct rule *r, const struct call_request *call)
{
    return (!r->agent || strcmp(r->agent, call->agent) == 0) &&
           (!r->subagent || (call->sub_type && strcmp(r->subagent, call->sub_type) == 0));
}

static bool words_equal(const struct strv *a, char *const *b, size_t n)
{
    if (a->n < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(a->v[i], b[i]) != 0)
            return false;
    return true;
}

const char *rule_program_fault(const struct rule_subject *s, const char *name)
{
    const struct policy_place *place = s->place;
    switch (place->program ? place->program(place->arg, name) : PROGRAM_OUT_OF_REACH) {
    case PROGRAM_OUT_OF_REACH:
        return NULL;
    case PROGRAM_IN_REACH:
        return "lies in a folder of PATH that the agent can write";
    case PROGRAM_ABSENT:
        return "is in no folder of PATH";
    case PROGRAM_UNTOLD:
        break;
    }
    return "may lie in a folder of PATH that the agent can write, and that cannot be told";
}

bool rule_covers_command(const struct rule *r, const struct rule_subject *s,
                         const struct strv *argv)
{
    return rule_names_command(r, argv) && !rule_program_fault(s, argv->v[0]);
}

bool rule_names_command(const struct rule *r, const struct strv *argv)
{
    bool is_prefix = r->what == RULE_COMMAND;
    if ((!is_prefix && r->what != RULE_EXACTLY) || !words_equal(argv, r->value.v, r->value.n) ||
        strchr(argv->v[0], '/'))
        return false;
    if (!is_prefix)
        return argv->n == r->value.n;
    return !program_widens(argv->v, argv->n, r->value.n);
}

bool rule_covers_path(const struct rule *r, const struct policy_place *place, const char *path)
{
    if (r->what != RULE_PATH)
        return false;
    AUTO_BUF struct buf dir = BUF_INIT;
    lexpath_resolve(&dir, place->worktree, place->home, r->value.v[0]);
    return lexpath_is_below(path, dir.ptr);
}

static bool parse_host(struct host_pattern *ret_pattern, struct host *ret, const struct rule *r,
                       const char *host)
{
    struct err ignored = ERR_INIT;
    return r->what == RULE_HOST && host_parse(ret, host, strlen(host), &ignored) &&
           host_pattern_parse(ret_pattern, r->value.v[0], &ignored);
}

bool rule_covers_host(const struct rule *r, const char *host, uint16_t port)
{
    struct host_pattern pattern;
    struct host asked;
    return parse_host(&pattern, &asked, r, host) && host_pattern_covers(&pattern, &asked, port);
}

static bool touches_host(const struct rule *r, const char *host, uint16_t port)
{
    struct host_pattern pattern;
    struct host asked;
    return parse_host(&pattern, &asked, r, host) && host_pattern_touches(&pattern, &asked, port);
}

bool rule_covers_tool(const struct rule *r, const char *tool)
{
    return r->what == RULE_TOOL && strcmp(r->value.v[0], tool) == 0;
}

/* Some file systems take two cases of a name for one, so what denies or asks does too. */
static bool reaches_path(const struct rule *r, const struct policy_place *place, const char *path)
{
    AUTO_BUF struct buf dir = BUF_INIT;
    lexpath_resolve(&dir, place->worktree, place->home, r->value.v[0]);
    return lexpath_is_below_any_case(path, dir.ptr);
}

bool rule_may_start(const struct strv *argv, char *const *words, size_t n_words)
{
    if (argv->n == 0 || !program_widens(argv->v, argv->n, 1))
        return false;
    for (size_t i = 1; i < argv->n; i++)
        if (shellscan_starts(argv->v + i, argv->n - i, words, n_words))
            return true;
    return false;
}

static bool touches_command(const struct rule *r, const struct tool_use *use)
{
    if (!use->command)
        return false;
    for (size_t i = 0; i < use->shell.n; i++) {
        const struct strv *argv = &use->shell.commands[i];
        if (shellscan_starts(argv->v, argv->n, r->value.v, r->value.n) &&
            (r->what == RULE_COMMAND || argv->n == r->value.n))
            return true;
        if (rule_may_start(argv, r->value.v, r->value.n))
            return true;
    }
    if (!use->shell.opaque)
        return false;
    AUTO_STRV struct strv tokens = STRV_INIT;
    shellscan_tokens(&tokens, use->command, strlen(use->command));
    return shellscan_has(&tokens, r->value.v, r->value.n);
}

bool rule_touches(const struct rule *r, const struct rule_subject *s)
{
    switch (r->what) {
    case RULE_COMMAND:
    case RULE_EXACTLY:
        return touches_command(r, s->use);
    case RULE_PATH:
        for (size_t i = 0; i < s->paths.n; i++)
            if (reaches_path(r, s->place, s->paths.v[i]))
                return true;
        return false;
    case RULE_HOST:
        return s->use->host && touches_host(r, s->use->host, s->use->port);
    case RULE_TOOL: /* tools are known in any case of their names */
        return strcasecmp(r->value.v[0], s->call->tool) == 0;
    case RULE_EXEC:
        return false;
    }
    return false;
}
