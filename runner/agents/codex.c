/*
 * codex: Codex CLI (facts seen with 0.171.0).
 *
 * Two layers, since its hook can carry a person's words to the model but is passed over when it
 * fails, and its client can carry none but nothing runs without its yes. The hook is managed,
 * read-only at /etc/codex: it holds against a project's or a user's settings and needs no trust.
 * Headless, headgate-drive is the client (runner/drive/codex.c). Its own sandbox is off, which
 * cannot start in ours. What neither layer is asked about is switched off: typing into a terminal
 * session (write_stdin), apps, plugins, the provider's own search.
 */
#include "runner/agents/kinds.h"

#include <fcntl.h>
#include <string.h>

#include "runner/agents/program.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

static const char requirements[] = "allow_managed_hooks_only = true\n"
                                   "[features]\n"
                                   "hooks = true\n"
                                   "unified_exec_tty = false\n"
                                   "[hooks]\n"
                                   "managed_dir = \"/run/headgate/bin\"\n";
static const char call_hook[] = "[[hooks.PreToolUse]]\n"
                                "matcher = \".*\"\n"
                                "[[hooks.PreToolUse.hooks]]\n"
                                "type = \"command\"\n"
                                "timeout = 86400\n" /* the keeper's own deadline is shorter */
                                "command = ";
static const char session_hook[] = "[[hooks.SessionStart]]\n"
                                   "[[hooks.SessionStart.hooks]]\n"
                                   "type = \"command\"\n"
                                   "timeout = 60\n" /* nobody is asked */
                                   "command = ";

/* Behind the hook's words: a denial has some in any case, since without any the call runs, and what
 * ends it otherwise is a denial too. */
#define HOOK_TAIL                                                               \
    " || { [ $? = 2 ] || echo 'headgate: the gate could not answer' >&2; echo " \
    "'headgate: the call is denied' >&2; exit 2; }"

static const char *const disabled[] = {
    "unified_exec_tty", "apps",  "plugins", "browser_use", "computer_use",
    "image_generation", "goals",
};

/* A JSON string is one of TOML too. */
static void add_quoted(struct buf *out, const char *text)
{
    AUTO_JSON json_t *value = jx_bytes(text, strlen(text));
    jx_dump(out, value);
}

static bool install_gate(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *folder = fs_join(start->dir, "codex");
    AUTO_FREE char *file = fs_join(folder, "requirements.toml");
    AUTO_FREE char *command =
        xasprintf("%s --agent codex --socket %s" HOOK_TAIL, start->hook_inside, start->gate_inside);
    AUTO_BUF struct buf text = BUF_INIT;
    const char *const hooks[] = {call_hook, session_hook};
    buf_adds(&text, requirements);
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        buf_adds(&text, hooks[i]);
        add_quoted(&text, command);
        buf_addch(&text, '\n');
    }
    if (!fs_mkdirs(folder, 0755, err) ||
        !fs_write_plain(AT_FDCWD, file, text.ptr, text.len, 0644, err))
        return false;
    box_spec_bind(spec, folder, "/etc/codex", 0);
    return true;
}

/* -c KEY=VALUE with a text as the value. */
static void set_text(struct box_spec *spec, const char *key, const char *value)
{
    AUTO_BUF struct buf word = BUF_INIT;
    buf_addf(&word, "%s=", key);
    add_quoted(&word, value);
    strv_push(&spec->argv, "-c");
    strv_push(&spec->argv, word.ptr);
}

/* With a key it speaks to one server with that key alone; without, to whatever its login says. */
static void add_provider(struct box_spec *spec, const struct agent_start *start)
{
    const char *url = strv_env_get(start->caller_env, "OPENAI_BASE_URL");
    if (!strv_env_get(start->caller_env, "OPENAI_API_KEY"))
        return;
    set_text(spec, "model_provider", "headgate");
    set_text(spec, "model_providers.headgate.name", "OpenAI");
    set_text(spec, "model_providers.headgate.base_url", url ? url : "https://api.openai.com/v1");
    set_text(spec, "model_providers.headgate.env_key", "OPENAI_API_KEY");
    set_text(spec, "model_providers.headgate.wire_api", "responses");
}

/* The dialog about the folder is answered: what of its settings would count is covered. */
static void add_trust(struct box_spec *spec, const struct agent_start *start)
{
    AUTO_BUF struct buf word = BUF_INIT;
    buf_adds(&word, "projects={");
    add_quoted(&word, start->worktree);
    buf_adds(&word, "={trust_level=\"trusted\"}}");
    strv_push(&spec->argv, "-c");
    strv_push(&spec->argv, word.ptr);
}

/* Of these it asks at its start whether the newer one is to be taken, and does nothing until then.
 * Answered: the person chose. */
static const struct {
    const char *model, *newer;
} successors[] = {
    {"gpt-5.5", "gpt-6-sol"},
    {"gpt-5.6-sol", "gpt-6-sol"},
    {"gpt-5.6-terra", "gpt-6-sol"},
    {"gpt-5.6-luna", "gpt-6-luna"},
};

static void keep_model(struct box_spec *spec)
{
    AUTO_BUF struct buf word = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(successors); i++) {
        buf_adds(&word, i ? "," : "notice.model_migrations={");
        add_quoted(&word, successors[i].model);
        buf_addch(&word, '=');
        add_quoted(&word, successors[i].newer);
    }
    buf_addch(&word, '}');
    strv_push(&spec->argv, "-c");
    strv_push(&spec->argv, word.ptr);
}

static void add_settings(struct box_spec *spec, const struct agent_start *start)
{
    const char *model = config_str(start->config, "agent.codex.model", NULL);
    for (size_t i = 0; i < ARRAY_LEN(disabled); i++) {
        strv_push(&spec->argv, "--disable");
        strv_push(&spec->argv, disabled[i]);
    }
    strv_push(&spec->argv, "-c");
    strv_push(&spec->argv, "check_for_update_on_startup=false");
    strv_push(&spec->argv, "-c");
    strv_push(&spec->argv, "analytics.enabled=false");
    set_text(spec, "web_search", "disabled");
    if (model)
        set_text(spec, "model", model);
    add_trust(spec, start);
    add_provider(spec, start);
}

/* Its hooks may run in a login shell, and nothing that an agent can write runs before them there.
 * Of these files the shell reads the first that exists, and its PATH becomes that of every command.
 */
static bool cover_start_up(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    static const char *const names[] = {".profile", ".bash_profile", ".bash_login"};
    const char *text = start->profile ? start->profile : "";
    AUTO_FREE char *cover = fs_join(start->dir, "codex-profile");
    if (!fs_write_plain(AT_FDCWD, cover, text, strlen(text), 0644, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *inside = fs_join(start->home_inside, names[i]);
        box_spec_bind(spec, cover, inside, 0);
    }
    return true;
}

static void add_interactive(struct box_spec *spec, const struct agent_start *start,
                            const char *program)
{
    strv_push(&spec->argv, program);
    add_settings(spec, start);
    set_text(spec, "approval_policy", "never");
    set_text(spec, "sandbox_mode", "danger-full-access");
    keep_model(spec);
    /* For announcements. What its tools start may still ask for that host. */
    strv_env_set(&spec->env, "NO_PROXY", "raw.githubusercontent.com");
    set_text(spec, "shell_environment_policy.set.NO_PROXY", "127.0.0.1,localhost,::1");
    set_text(spec, "shell_environment_policy.set.no_proxy", "127.0.0.1,localhost,::1");
    if (start->resume) {
        strv_push(&spec->argv, "resume");
        strv_push(&spec->argv, "--last");
    }
    if (start->prompt[0]) {
        strv_push(&spec->argv, "--");
        strv_push(&spec->argv, start->prompt);
    }
}

static bool add_headless(struct box_spec *spec, const struct agent_start *start,
                         const char *program, struct err *err)
{
    AUTO_FREE char *driver = program_show_driver(spec, start->hook_inside, err);
    if (!driver)
        return false;
    strv_push(&spec->argv, driver);
    if (start->resume)
        strv_push(&spec->argv, "--resume");
    strv_push(&spec->argv, "codex");
    strv_push(&spec->argv, "--");
    strv_push(&spec->argv, program);
    strv_push(&spec->argv, "app-server");
    strv_push(&spec->argv, "--strict-config");
    add_settings(spec, start);
    return true;
}

/* The program of an npm package is one of several in a folder that it needs; a launcher of Node in
 * front of it is left out. */
static char *find_native(const char *found, struct err *err)
{
    static const char *const places[] = {
        "../node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        "../node_modules/@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
        "../../codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        "../../codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
    };
    AUTO_FREE char *real = fs_realpath(found, err);
    if (!real)
        return NULL;
    AUTO_FREE char *folder = fs_dirname(real);
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        AUTO_FREE char *path = fs_join(folder, places[i]);
        struct err absent = ERR_INIT;
        char *native = fs_realpath(path, &absent);
        if (native)
            return native;
    }
    return steal_ptr(&real);
}

static char *show(struct box_spec *spec, const char *found, struct err *err)
{
    AUTO_FREE char *native = find_native(found, err);
    if (!native)
        return NULL;
    AUTO_FREE char *bin = fs_dirname(native);
    AUTO_FREE char *target = fs_dirname(bin);
    AUTO_FREE char *vendor = fs_dirname(target);
    if (strcmp(fs_basename(vendor), "vendor") != 0)
        return program_show(spec, native, err);
    box_spec_bind(spec, target, target, 0);
    return steal_ptr(&native);
}

static const char *const credentials[] = {"OPENAI_API_KEY", "OPENAI_BASE_URL", NULL};
static const struct provider *const providers[] = {&provider_openai, NULL};

static bool prepare(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *found = program_find("codex", start->caller_env);
    if (!found)
        return err_set(
            err, ERR_FAILED,
            "Codex is not installed: there is no 'codex' in PATH (npm install -g @openai/codex)");
    AUTO_FREE char *program = show(spec, found, err);
    AUTO_FREE char *home = fs_join(start->home_host, ".codex"); /* which it wants to be there */
    if (!program || !install_gate(spec, start, err) || !fs_mkdirs(home, 0700, err))
        return false;
    for (size_t i = 0; credentials[i]; i++) {
        const char *value = strv_env_get(start->caller_env, credentials[i]);
        if (value)
            strv_env_set(&spec->env, credentials[i], value);
    }
    if (!start->interactive)
        return add_headless(spec, start, program, err);
    if (!cover_start_up(spec, start, err))
        return false;
    add_interactive(spec, start, program);
    return true;
}

/* A shell call goes through itself, which sets pipes and folder up. Once it has a snapshot of the
 * shell, the command is the last line of a text that restores it. */
#define SET_UP                                                                                   \
    "/proc/self/exe", "--codex-run-as-process-setup", "%i", "%i", "pipe", "", "%d", "/bin/bash", \
        "/bin/bash"
static const struct agent_form calls[] = {
    {{SET_UP, "-lc", "%c", NULL}},
    {{SET_UP, "-c", "__CODEX_SNAPSHOT_OVERRIDE_SET_0=%a\nexec '/bin/bash' -c %q", NULL}},
    {{"bash", "-lc", "%c", NULL}},
    {{NULL}},
};

/* The hook as it is installed above, looks at the system, and the snapshot of the shell. */
static const struct agent_form helpers[] = {
    {{"bash", "-c", "%k --agent codex --socket %g" HOOK_TAIL, NULL}},
    {{"bash", "-lc",
      "if [ -z \"${BASH_ENV-}\" ] && [ -n \"${HOME-}\" ] && [ -r \"$HOME/.bashrc\" ]; then\n%a",
      NULL}},
    {{"bash", "-c", "set -e; . \"%h/.codex/shell_snapshots/%i\"", NULL}},
    {{"bwrap", "--unshare-user", "--unshare-net", "--ro-bind", "/", "/", "/bin/true", NULL}},
    {{"lsb_release", "-a", NULL}},
    {{"getconf", "LONG_BIT", NULL}},
    {{"git", "%*", NULL}},
    {{NULL}},
};

static const char *const project_settings[] = {".codex", NULL};

/* headgate-drive starts it. */
static const struct agent_form selves[] = {{{"codex", "app-server", "%*", NULL}}, {{NULL}}};

const struct agent agent_codex = {
    .name = "codex",
    .title = "Codex",
    .program = "codex",
    .tested = "0.171.0",
    .gated = "Headless: headgate-drive is the client of its app-server, without whose yes no "
             "command and no patch "
             "runs; a managed hook carries your words to the model. Nothing begins unless that "
             "hook is in force. "
             "Subagents are told by id.",
    .gaps = "With -i the hook stands alone, and Codex runs a call whose hook is killed, late or "
            "says nonsense: the keeper sees how each hook ends and stops the attempt first, unless "
            "the gate told that hook yes. view_image, spawn_agent and plans are asked by the hook "
            "alone.",
    .output = "codex",
    .hears = "lines",
    .needs_env = credentials,
    .providers = providers,
    .login = &login_chatgpt,
    .exec_calls = calls,
    .exec_helpers = helpers,
    .exec_selves = selves,
    .project_settings = project_settings,
    .has_hook = true,
    .needs_guard = true,
    .greets = true,
    .prepare = prepare,
};
