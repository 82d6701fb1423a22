/*
 * claude: Claude Code.
 *
 * The gate is installed as managed settings, read-only at /etc/claude-code: they hold against a
 * project's or a user's disableAllHooks, against --bare, and against settings that are rewritten
 * while it runs (seen with 2.1.332). The hook's command fails closed by itself: whatever ends
 * headgate-hook other than well becomes exit 2, which is the one status that always blocks;
 * onFailure covers a hook that cannot be started.
 */
#include "runner/agents/kinds.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "runner/agents/program.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

/* The longest that the client waits for the hook; the keeper's own deadline is shorter. */
enum { HOOK_TIMEOUT_S = 86400, GREETING_TIMEOUT_S = 60 };

/* What settings of a home or a project could set to make the hook's shell, or the hook, somebody
 * else's: the client reads them anew while it runs (seen with 2.1.332), and the managed value wins.
 */
static const char *const pinned_empty[] = {
    "BASH_ENV", "CLAUDE_CODE_SHELL", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_SIMPLE",
    "ENV",      "LD_AUDIT",          "LD_LIBRARY_PATH",          "LD_PRELOAD",
};

static json_t *pinned_environment(const struct agent_start *start)
{
    json_t *env = json_object();
    for (size_t i = 0; i < ARRAY_LEN(pinned_empty); i++)
        jx_set_str(env, pinned_empty[i], "");
    jx_set_str(env, "HEADGATE_GATE", start->gate_inside);
    return env;
}

/* Its own word that it waits. News: a hook that fails must not make it go on. */
static void add_news(json_t *hooks, const struct agent_start *start)
{
    static const char *const events[] = {"Stop", "Notification"};
    AUTO_FREE char *command = xasprintf(
        "%s --agent claude --socket %s 2>/dev/null || :", start->hook_inside, start->gate_inside);
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        jx_set(hooks, events[i],
               json_pack("[{s:[{s:s, s:s}]}]", "hooks", "type", "command", "command", command));
}

static json_t *managed_settings(const struct agent_start *start)
{
    AUTO_FREE char *command = xasprintf("%s --agent claude --socket %s || { echo 'headgate: the "
                                        "gate could not answer; the call is denied' >&2; "
                                        "exit 2; }",
                                        start->hook_inside, start->gate_inside);
    json_t *settings =
        json_pack("{s:b, s:b, s:s, s:b, s:o, "
                  "s:{s:[{s:s, s:[{s:s, s:s, s:i, s:s}]}], s:[{s:[{s:s, s:s, s:i}]}]}}",
                  "allowManagedHooksOnly", 1, "allowManagedPermissionRulesOnly",
                  1, /* what a project allows by itself would run when a hook says nonsense */
                  "disableBypassPermissionsMode", "disable", "includeCoAuthoredBy", 0, "env",
                  pinned_environment(start), "hooks", "PreToolUse", "matcher", "*", "hooks", "type",
                  "command", "command", command, "timeout", HOOK_TIMEOUT_S, "onFailure", "block",
                  "SessionStart", "hooks", "type", "command", "command", command, "timeout",
                  GREETING_TIMEOUT_S);
    if (start->interactive)
        add_news(jx_obj(settings, "hooks"), start);
    return settings;
}

/* What the first start would ask a person: answered once in the private home. */
static json_t *first_run_answers(const struct agent_start *start)
{
    json_t *project =
        json_pack("{s:b, s:b, s:i}", "hasTrustDialogAccepted", 1, "hasCompletedProjectOnboarding",
                  1, "projectOnboardingSeenCount", 1);
    json_t *answers =
        json_pack("{s:b, s:s, s:i, s:b, s:{s:o}}", "hasCompletedOnboarding", 1, "theme", "dark",
                  "numStartups", 2, "autoUpdates", 0, "projects", start->worktree, project);
    const char *key = strv_env_get(start->caller_env, "ANTHROPIC_API_KEY");
    size_t len = key ? strlen(key) : 0;
    if (len > 0) {
        /* It remembers an accepted key by its last 20 characters. */
        const char *tail = len > 20 ? key + len - 20 : key;
        jx_set(answers, "customApiKeyResponses",
               json_pack("{s:[s], s:[]}", "approved", tail, "rejected"));
    }
    return answers;
}

static bool write_json(const char *folder, const char *name, json_t *value, mode_t mode,
                       struct err *err)
{
    AUTO_JSON json_t *owned = value;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = fs_join(folder, name);
    jx_dump(&text, owned);
    buf_addch(&text, '\n');
    return fs_write_plain(AT_FDCWD, path, text.ptr, text.len, mode, err);
}

static bool install_gate(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *folder = fs_join(start->dir, "claude-code");
    if (!fs_mkdirs(folder, 0755, err) ||
        !write_json(folder, "managed-settings.json", managed_settings(start), 0644, err))
        return false;
    box_spec_bind(spec, folder, "/etc/claude-code", 0);
    return true;
}

static bool seed_home(const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *file = fs_join(start->home_host, ".claude.json");
    if (fs_exists(file)) /* a resumed attempt keeps its own */
        return true;
    return write_json(start->home_host, ".claude.json", first_run_answers(start), 0600, err);
}

enum { SESSION_ID_BYTES = 64 };

/* A random UUID (RFC 9562, version 4), kept beside the attempt: --continue passes over
 * conversations that were held headless. */
static bool session_of(struct buf *id, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *file = fs_join(start->dir, "claude-session");
    unsigned char b[16];
    if (fs_exists(file))
        return fs_read_file(id, AT_FDCWD, file, SESSION_ID_BYTES, err);
    if (getrandom(b, sizeof b, 0) != sizeof b)
        return err_set(err, ERR_SYS, "the kernel gives no random bytes");
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof b; i++)
        buf_addf(id, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    return fs_write_plain(AT_FDCWD, file, id->ptr, id->len, 0600, err);
}

/* It has been spoken in: its transcript is below the folder of a project. */
static bool has_session(const struct agent_start *start, const char *id)
{
    AUTO_FREE char *projects = fs_join(start->home_host, ".claude/projects");
    AUTO_DIR DIR *dir = opendir(projects);
    const struct dirent *entry;
    bool found = false;
    while (dir && !found && (entry = readdir(dir))) {
        AUTO_FREE char *transcript = xasprintf("%s/%s/%s.jsonl", projects, entry->d_name, id);
        found = fs_exists(transcript);
    }
    return found;
}

static bool add_arguments(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_BUF struct buf session = BUF_INIT;
    if (!session_of(&session, start, err))
        return false;
    const char *model = config_str(start->config, "agent.claude.model", NULL);
    if (model) {
        strv_push(&spec->argv, "--model");
        strv_push(&spec->argv, model);
    }
    strv_push(&spec->argv,
              start->resume && has_session(start, session.ptr) ? "--resume" : "--session-id");
    strv_push(&spec->argv, session.ptr);
    if (!start->interactive) {
        strv_push(&spec->argv, "-p");
        strv_push(&spec->argv, "--output-format");
        strv_push(&spec->argv, "stream-json");
        strv_push(&spec->argv, "--verbose");
    }
    if (start->is_heard) {
        strv_push(&spec->argv, "--input-format");
        strv_push(&spec->argv, "stream-json");
        strv_push(&spec->argv, "--replay-user-messages"); /* when it takes them up */
        strv_env_set(&spec->env, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
    } else if (start->prompt[0]) {
        strv_push(&spec->argv, "--");
        strv_push(&spec->argv, start->prompt);
    }
    return true;
}

static const char *const credentials[] = {
    "ANTHROPIC_API_KEY",       "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_MODEL",      NULL,
};

static const struct provider *const providers[] = {&provider_anthropic, NULL};

static void add_environment(struct box_spec *spec, const struct agent_start *start)
{
    for (size_t i = 0; credentials[i]; i++) {
        const char *value = strv_env_get(start->caller_env, credentials[i]);
        if (value)
            strv_env_set(&spec->env, credentials[i], value);
    }
    strv_env_set(&spec->env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    strv_env_set(&spec->env, "DISABLE_AUTOUPDATER", "1");
    /* From a host that nobody listed: saying hello must raise no card. */
    strv_env_set(&spec->env, "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1");
    strv_env_set(&spec->env, "DISABLE_TELEMETRY", "1");
    strv_env_set(&spec->env, "DISABLE_ERROR_REPORTING", "1");
}

static bool prepare(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *found = program_find("claude", start->caller_env);
    if (!found)
        return err_set(err, ERR_FAILED,
                       "Claude Code is not installed: there is no 'claude' in PATH (npm install -g "
                       "@anthropic-ai/claude-code)");
    AUTO_FREE char *program = program_show(spec, found, err);
    if (!program || !install_gate(spec, start, err) || !seed_home(start, err))
        return false;
    strv_push(&spec->argv, program);
    add_environment(spec, start);
    return add_arguments(spec, start, err);
}

/*
 * Bash calls, as 2.1.332 runs them: the snapshot of the shell that it took at its start, the
 * command as one word, the folder kept for the next call. Without standard input where the command
 * brings its own.
 */
#define BASH_FORM(input)                                                                       \
    {                                                                                          \
        {                                                                                      \
            "bash", "-c",                                                                      \
                "source %h/.claude/shell-snapshots/snapshot-bash-%i 2>/dev/null || true && "   \
                "\\builtin shopt -u extglob 2>/dev/null || true && "                           \
                "{ \\builtin unalias -- 'which'; \\builtin unset -f -- 'which'; } "            \
                ">/dev/null 2>&1 || true && "                                                  \
                "{ \\builtin unalias -- 'unsetenv'; \\builtin unset -f -- 'unsetenv'; } "      \
                ">/dev/null 2>&1 || true && eval %q" input " && pwd -P >| /tmp/claude-%i-cwd", \
                NULL                                                                           \
        }                                                                                      \
    }
static const struct agent_form calls[] = {BASH_FORM(" < /dev/null"), BASH_FORM(""), {{NULL}}};

/* The hook as it is installed above, its look at the environment, the snapshot of the shell, and
 * programs that it reads the worktree with. */
static const struct agent_form helpers[] = {
    {{"sh", "-c",
      "%k --agent claude --socket %g || { echo 'headgate: the gate could not answer; the call is "
      "denied' >&2; "
      "exit 2; }",
      NULL}},
    {{"sh", "-c", "%k --agent claude --socket %g 2>/dev/null || :", NULL}},
    {{"bash", "-c", "env", NULL}},
    {{"bash", "-c", "-l", "SNAPSHOT_FILE=%h/.claude/shell-snapshots/snapshot-bash-%i\n%a", NULL}},
    {{"git", "%*", NULL}},
    {{"rg", "%*", NULL}},
    {{"ps", "%*", NULL}},
    {{NULL}},
};

/* They name programs that it starts without a call (servers, apiKeyHelper, a status line), and
 * variables for all that it starts, PATH among them. */
static const char *const project_settings[] = {".claude/settings.json",
                                               ".claude/settings.local.json", ".mcp.json", NULL};

const struct agent agent_claude = {
    .name = "claude",
    .title = "Claude Code",
    .program = "claude",
    .tested = "2.1.332",
    .gated = "Its hook PreToolUse, in managed settings that are read-only in the box; a hook that "
             "fails, is killed or times out blocks the call, and one that says what the gate did "
             "not ends the attempt. Subagents are told by id and type.",
    .gaps = "Files that a prompt names by @path are read without a call.",
    .output = "claude",
    .hears = "claude",
    .needs_env = credentials,
    .exec_calls = calls,
    .exec_helpers = helpers,
    .project_settings = project_settings,
    .is_gated_apart = true,
    .providers = providers,
    .login = &login_anthropic,
    .has_hook = true,
    .greets = true,
    .prepare = prepare,
};
