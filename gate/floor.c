#include "gate/floor.h"

#include <string.h>

#include "gate/broker.h"
#include "gate/exec.h"
#include "gate/lexpath.h"
#include "gate/shellscan.h"
#include "runner/base/mem.h"

static const char why_publish[] = "would publish something outside of the box";
static const char why_remote[] = "would change something on a server";
static const char why_root[] = "asks for another user's rights";

/* Commands by their words; shellscan_starts says how options between them count. */
static const struct {
    const char *words[4];
    const char *why;
} commands[] = {
    {{"git", "push"}, why_publish},
    {{"git", "send-pack"}, why_publish},
    {{"git", "send-email"}, why_publish},
    {{"git", "lfs", "push"}, why_publish},
    {{"git", "subtree", "push"}, why_publish},
    {{"git", "svn", "dcommit"}, why_publish},
    {{"hg", "push"}, why_publish},
    {{"svn", "commit"}, why_publish},
    {{"npm", "publish"}, why_publish},
    {{"npm", "unpublish"}, why_remote},
    {{"npm", "deprecate"}, why_remote},
    {{"npm", "dist-tag"}, why_remote},
    {{"npm", "owner"}, why_remote},
    {{"pnpm", "publish"}, why_publish},
    {{"yarn", "publish"}, why_publish},
    {{"yarn", "npm", "publish"}, why_publish},
    {{"bun", "publish"}, why_publish},
    {{"jsr", "publish"}, why_publish},
    {{"cargo", "publish"}, why_publish},
    {{"cargo", "yank"}, why_remote},
    {{"gem", "push"}, why_publish},
    {{"twine", "upload"}, why_publish},
    {{"poetry", "publish"}, why_publish},
    {{"flit", "publish"}, why_publish},
    {{"hatch", "publish"}, why_publish},
    {{"pdm", "publish"}, why_publish},
    {{"uv", "publish"}, why_publish},
    {{"mvn", "deploy"}, why_publish},
    {{"gradle", "publish"}, why_publish},
    {{"dotnet", "nuget", "push"}, why_publish},
    {{"docker", "push"}, why_publish},
    {{"docker", "image", "push"}, why_publish},
    {{"podman", "push"}, why_publish},
    {{"buildah", "push"}, why_publish},
    {{"skopeo", "copy"}, why_publish},
    {{"helm", "push"}, why_publish},
    {{"gh", "pr", "create"}, why_publish},
    {{"gh", "pr", "merge"}, why_remote},
    {{"gh", "pr", "close"}, why_remote},
    {{"gh", "pr", "comment"}, why_publish},
    {{"gh", "pr", "review"}, why_publish},
    {{"gh", "pr", "edit"}, why_remote},
    {{"gh", "issue", "create"}, why_publish},
    {{"gh", "issue", "comment"}, why_publish},
    {{"gh", "issue", "close"}, why_remote},
    {{"gh", "issue", "edit"}, why_remote},
    {{"gh", "release", "create"}, why_publish},
    {{"gh", "release", "upload"}, why_publish},
    {{"gh", "release", "delete"}, why_remote},
    {{"gh", "repo", "create"}, why_publish},
    {{"gh", "repo", "delete"}, why_remote},
    {{"gh", "gist", "create"}, why_publish},
    {{"gh", "workflow", "run"}, why_remote},
    {{"gh", "secret", "set"}, why_remote},
    {{"gh", "api"}, why_remote},
    {{"glab", "mr", "create"}, why_publish},
    {{"glab", "mr", "merge"}, why_remote},
    {{"hub", "pull-request"}, why_publish},
    {{"sudo"}, why_root},
    {{"doas"}, why_root},
    {{"pkexec"}, why_root},
};

static const char why_host_runs[] = "is run or obeyed on the host later";
static const char why_agent_obeys[] = "is what an agent obeys, the gate's own hooks included";
static const char why_gate[] = "belongs to the gate of this attempt";

static const char why_hidden[] = "holds a character that does not show";
static const char why_outside[] =
    "lies outside of the worktree, the home and the temporary folder of this attempt";
static const char why_unread[] = "does not say what it would run";
static const char why_untold[] = "does not say which file it would change";
static const char why_host[] = "would reach a host that no rule lists";

/* Names in the worktree, at any depth, as lexpath_has matches them. */
static const struct {
    const char *name;
    const char *why;
} protected_names[] = {
    {".git", why_host_runs},
    {".gitmodules", why_host_runs},
    {".gitconfig", why_host_runs},
    {".githooks", why_host_runs},
    {".husky", why_host_runs},
    {".pre-commit-config.yaml", why_host_runs},
    {"lefthook.yml", why_host_runs},
    {".github/workflows", why_host_runs},
    {".github/actions", why_host_runs},
    {".github/hooks", why_agent_obeys},
    {".gitlab-ci.yml", why_host_runs},
    {".circleci", why_host_runs},
    {".buildkite", why_host_runs},
    {".travis.yml", why_host_runs},
    {"azure-pipelines.yml", why_host_runs},
    {"bitbucket-pipelines.yml", why_host_runs},
    {"Jenkinsfile", why_host_runs},
    {".ci", why_host_runs},
    {".envrc", why_host_runs},
    {".mise.toml", why_host_runs},
    {"mise.toml", why_host_runs},
    {".npmrc", why_host_runs},
    {".yarnrc*", why_host_runs},
    {".cargo/config*", why_host_runs},
    {".devcontainer*", why_host_runs},
    {".vscode", why_host_runs},
    {".idea", why_host_runs},
    {".zed", why_host_runs},
    {".exrc", why_host_runs},
    {".nvimrc", why_host_runs},
    {".nvim.lua", why_host_runs},
    {".vimrc", why_host_runs},
    {".dir-locals.el", why_host_runs},
    {".gdbinit", why_host_runs},
    {".headgate", why_gate},
    {".mcp.json", why_agent_obeys},
    {".claude/settings*", why_agent_obeys},
    {".claude/hooks", why_agent_obeys},
    {".claude/plugins", why_agent_obeys},
    {".codex", why_agent_obeys},
    {".gemini", why_agent_obeys},
    {".opencode", why_agent_obeys},
    {"opencode.json*", why_agent_obeys},
    {".qwen", why_agent_obeys},
    {".cursor", why_agent_obeys},
};

/* In the attempt's home: switching off the hooks that lead here is nobody's to approve. */
static const char *const hook_settings[] = {
    ".claude/settings*",  ".claude/hooks",      ".claude/plugins", ".claude.json",
    ".codex/config.toml", ".codex/hooks*",      ".codex/rules",    ".gemini/settings*",
    ".gemini/policies",   ".gemini/extensions", ".qwen/settings*", ".qwen/extensions",
    ".opencode",          ".config/opencode",
};

static const char *const temporary[] = {"/tmp", "/var/tmp", "/dev/null"};
static const char *const loopback[] = {"localhost", "127.0.0.1", "::1"};

static void list(json_t *all, enum floor_effect effect, const char *what, const char *why)
{
    json_t *entry = json_object();
    jx_set_str(entry, "effect", effect == FLOOR_ASK ? "ask" : "deny");
    jx_set_str(entry, "what", what);
    jx_set_str(entry, "why", why);
    json_array_append_new(all, entry);
}

/* What is judged where programs start and connections are made (exec.h, net.h). */
static void list_effects(json_t *all)
{
    size_t n;
    const char *why;
    const char *const *programs = exec_floor(&n, &why);
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *what = xasprintf("start %s", programs[i]);
        list(all, FLOOR_DENY, what, why);
    }
    list(all, FLOOR_DENY, "connect to a private address",
         "is, as loopback, link-local, metadata and multicast ones are, reached only where a rule "
         "lists "
         "that very address with its port");
}

static size_t count_words(const char *const *words)
{
    size_t n = 0;
    while (n < 4 && words[n])
        n++;
    return n;
}

/* The words of a table are only read; strings of argv are not const by tradition. */
static char *const *as_argv(const char *const *words)
{
    return (char *const *)(uintptr_t)words;
}

json_t *floor_list(void)
{
    json_t *all = json_array();
    list(all, FLOOR_DENY, "edit /run/headgate", why_gate);
    for (size_t i = 0; i < ARRAY_LEN(hook_settings); i++) {
        AUTO_FREE char *what = xasprintf("edit ~/%s", hook_settings[i]);
        list(all, FLOOR_DENY, what, why_agent_obeys);
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        AUTO_BUF struct buf what = BUF_INIT;
        for (size_t w = 0; w < 4 && commands[i].words[w]; w++)
            buf_addf(&what, "%s%s", w ? " " : "", commands[i].words[w]);
        const char *person =
            broker_publishes(as_argv(commands[i].words), count_words(commands[i].words));
        list(all, person ? FLOOR_REFUSE : FLOOR_ASK, what.ptr, person ? person : commands[i].why);
    }
    for (size_t i = 0; i < ARRAY_LEN(protected_names); i++) {
        AUTO_FREE char *what = xasprintf("edit %s", protected_names[i].name);
        list(all, FLOOR_ASK, what, protected_names[i].why);
    }
    list_effects(all);
    list(all, FLOOR_ASK, "edit a name with hidden characters", why_hidden);
    list(all, FLOOR_ASK, "edit elsewhere", why_outside);
    list(all, FLOOR_ASK, "edit something untold", why_untold);
    list(all, FLOOR_ASK, "run something untold", why_unread);
    list(all, FLOOR_ASK, "reach a host", why_host);
    return all;
}

bool floor_is_own(const struct policy_place *place, const char *path)
{
    if (lexpath_is_below(path, place->worktree) || lexpath_is_below(path, place->home))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(temporary); i++)
        if (lexpath_is_below(path, temporary[i]))
            return true;
    return false;
}

/* What a broker does not carry out is said at once, instead of asking for what cannot work. */
static void leave_to_person(struct floor_finding *f)
{
    const char *why = broker_publishes(f->argv->v, f->argv->n);
    if (!why)
        return;
    f->effect = FLOOR_REFUSE;
    f->why = why;
}

static bool each_in_command(const struct rule_subject *s, const struct strv *argv,
                            floor_visit visit, void *arg)
{
    bool has_broker = s->place->has_broker;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        const char *const *words = commands[i].words;
        bool starts = shellscan_starts(argv->v, argv->n, as_argv(words), count_words(words));
        if ((!starts && !rule_may_start(argv, as_argv(words), count_words(words))) ||
            (starts && has_broker && broker_asks_later(s->call) && broker_is_for(argv->v, argv->n)))
            continue;
        struct floor_finding f = {
            .effect = FLOOR_ASK, .argv = argv, .words = words, .why = commands[i].why};
        if (has_broker && starts)
            leave_to_person(&f);
        if (!visit(arg, &f))
            return false;
    }
    return true;
}

/* Redirected or piped, a command still ends at the broker; one with an address or a path of its own
 * does not. */
static bool is_left_to_broker(const struct rule_subject *s, const char *text,
                              const char *const *words)
{
    return s->place->has_broker && broker_is_for(as_argv(words), count_words(words)) &&
           !strstr(text, "://") && !strchr(text, '@') && !strstr(text, "/git") &&
           !strstr(text, "PATH");
}

static bool each_in_text(const struct rule_subject *s, floor_visit visit, void *arg)
{
    const char *text = s->use->command;
    AUTO_STRV struct strv tokens = STRV_INIT;
    shellscan_tokens(&tokens, text, strlen(text));
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        const char *const *words = commands[i].words;
        if (!shellscan_has(&tokens, as_argv(words), count_words(words)) ||
            is_left_to_broker(s, text, words))
            continue;
        struct floor_finding f = {.effect = FLOOR_ASK, .words = words, .why = commands[i].why};
        if (!visit(arg, &f))
            return false;
    }
    return true;
}

static bool each_command(const struct rule_subject *s, floor_visit visit, void *arg)
{
    const struct tool_use *use = s->use;
    const struct floor_finding untold = {.effect = FLOOR_ASK, .path = "", .why = why_unread};
    if (!use->command)
        return use->kind != TOOL_SHELL || visit(arg, &untold);
    if (use->shell.opaque)
        return each_in_text(s, visit, arg);
    for (size_t i = 0; i < use->shell.n; i++)
        if (!each_in_command(s, &use->shell.commands[i], visit, arg))
            return false;
    return true;
}

static bool find_protected(struct floor_finding *f, const char *below)
{
    for (size_t i = 0; i < ARRAY_LEN(protected_names); i++)
        if (lexpath_has(below, protected_names[i].name)) {
            f->protected_as = protected_names[i].name;
            f->why = protected_names[i].why;
            return true;
        }
    return false;
}

/* A name that does not look like what it is; some file systems drop such characters from names. */
static bool find_hidden(struct floor_finding *f, const char *below)
{
    f->why = why_hidden;
    return shellwords_unreadable(below, strlen(below)) != NULL;
}

static bool is_hook_setting(const char *below)
{
    for (size_t i = 0; i < ARRAY_LEN(hook_settings); i++)
        if (lexpath_has(below, hook_settings[i]))
            return true;
    return false;
}

/* True and *f filled when an edit of path is not the attempt's own business. The worktree may lie
 * below the home, so it is looked at first. */
static bool find_path(struct floor_finding *f, const struct policy_place *place, const char *path)
{
    *f = (struct floor_finding){.effect = FLOOR_ASK, .path = path};
    if (lexpath_is_below(path, "/run/headgate")) {
        f->effect = FLOOR_DENY;
        f->protected_as = "/run/headgate";
        f->why = why_gate;
        return true;
    }
    if (lexpath_is_below(path, place->worktree))
        return find_protected(f, lexpath_below(path, place->worktree)) ||
               find_hidden(f, lexpath_below(path, place->worktree));
    if (lexpath_is_below(path, place->home) && is_hook_setting(lexpath_below(path, place->home))) {
        f->effect = FLOOR_DENY;
        f->protected_as = "home";
        f->why = why_agent_obeys;
        return true;
    }
    f->why = why_outside;
    return !floor_is_own(place, path);
}

static bool each_path(const struct rule_subject *s, floor_visit visit, void *arg)
{
    if (s->use->kind != TOOL_EDIT && s->use->kind != TOOL_OTHER)
        return true;
    for (size_t i = 0; i < s->paths.n; i++) {
        struct floor_finding f;
        if (find_path(&f, s->place, s->paths.v[i]) && !visit(arg, &f))
            return false;
    }
    if (!s->use->has_unknown_path)
        return true;
    struct floor_finding f = {.effect = FLOOR_ASK, .path = "", .why = why_untold};
    return visit(arg, &f);
}

static bool is_loopback(const char *host)
{
    for (size_t i = 0; i < ARRAY_LEN(loopback); i++)
        if (strcmp(host, loopback[i]) == 0)
            return true;
    return false;
}

static bool each_host(const struct rule_subject *s, floor_visit visit, void *arg)
{
    const char *host = s->use->host;
    if (s->use->kind == TOOL_NETWORK && !host)
        host = "";
    /* A tool's own loopback is the box's; a connection that the proxy holds would end on the host.
     */
    if (!host || (is_loopback(host) && !call_is_connection(s->call)))
        return true;
    struct floor_finding f = {.effect = FLOOR_ASK, .host = host, .why = why_host};
    return visit(arg, &f);
}

bool floor_each(const struct rule_subject *s, floor_visit visit, void *arg)
{
    return each_command(s, visit, arg) && each_path(s, visit, arg) && each_host(s, visit, arg);
}

/* A path rule spells a protected name out when it names the first part of it. */
static bool names_protected(const char *value, const char *protected_as)
{
    char first[64];
    size_t len = strcspn(protected_as, "/*");
    if (len >= sizeof(first))
        return false;
    memcpy(first, protected_as, len);
    first[len] = protected_as[len] == '*' ? '*' : '\0';
    first[len + 1] = '\0';
    return lexpath_has(value, first);
}

bool floor_is_excused(const struct floor_finding *f, const struct rule *r,
                      const struct rule_subject *s)
{
    if (f->effect == FLOOR_DENY)
        return false;
    if (f->words)
        return f->argv && rule_covers_command(r, s, f->argv) &&
               shellscan_starts(r->value.v, r->value.n, as_argv(f->words), count_words(f->words));
    if (f->path && !f->path[0])
        return rule_covers_tool(r, s->call->tool);
    if (f->path)
        return rule_covers_path(r, s->place, f->path) &&
               (f->protected_as ? names_protected(r->value.v[0], f->protected_as)
                                : r->value.v[0][0] == '/');
    return rule_covers_tool(r, s->call->tool) ||
           (f->host[0] && rule_covers_host(r, f->host, s->use->port));
}
