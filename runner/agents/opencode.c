/*
 * opencode: OpenCode (facts seen with 1.18.33).
 *
 * The gate is a plugin inside its process, named by its managed configuration, read-only at
 * /etc/opencode, which wins over all others. That configuration denies every tool, and the plugin
 * takes it back when it is loaded: without the plugin there are no tools. Plugins and settings of a
 * project are loaded as code before any call and cannot be switched off, so they are covered; its
 * folders in the home are covered too, since a call could put plugins there for the next start. An
 * unwritable one also keeps it from installing packages there at each start.
 */
#include "runner/agents/kinds.h"

#include <fcntl.h>
#include <string.h>

#include "opencode_plugin.h"
#include "runner/agents/program.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

/* Another server than a provider's own, as the programs of that provider name it. */
static const struct {
    const char *provider, *variable, *suffix;
} servers[] = {
    {"anthropic", "ANTHROPIC_BASE_URL", "/v1"},      {"openai", "OPENAI_BASE_URL", ""},
    {"google", "GOOGLE_GEMINI_BASE_URL", "/v1beta"}, {"openrouter", "OPENROUTER_BASE_URL", ""},
    {"opencode", "OPENCODE_BASE_URL", ""},
};

/* What a project says to read, which is lost with its settings. */
static json_t *instructions(const struct agent_start *start)
{
    static const char *const names[] = {"AGENTS.md", "CLAUDE.md", "CONTEXT.md"};
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *path = fs_join(start->worktree, names[i]);
        json_array_append_new(list, jx_bytes(path, strlen(path)));
    }
    return list;
}

static json_t *settings(const struct agent_start *start)
{
    json_t *providers = json_object();
    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        const char *url = strv_env_get(start->caller_env, servers[i].variable);
        if (!url)
            continue;
        AUTO_FREE char *whole = xasprintf("%s%s", url, servers[i].suffix);
        jx_set(providers, servers[i].provider, json_pack("{s:{s:s}}", "options", "baseURL", whole));
    }
    return json_pack("{s:s, s:b, s:s, s:{s:s}, s:[s], s:o, s:o}", "$schema",
                     "https://opencode.ai/config.json", "autoupdate", 0, "share", "disabled",
                     "permission", "*", "deny", "plugin", "file:///etc/opencode/headgate.js",
                     "provider", providers, "instructions", instructions(start));
}

static bool install_gate(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *folder = fs_join(start->dir, "opencode");
    AUTO_FREE char *config = fs_join(folder, "opencode.json");
    AUTO_FREE char *plugin = fs_join(folder, "headgate.js");
    AUTO_JSON json_t *value = settings(start);
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, value);
    if (!fs_mkdirs(folder, 0755, err) ||
        !fs_write_plain(AT_FDCWD, config, text.ptr, text.len, 0644, err) ||
        !fs_write_plain(AT_FDCWD, plugin, opencode_plugin, sizeof(opencode_plugin), 0644, err))
        return false;
    box_spec_bind(spec, folder, "/etc/opencode", 0);
    return true;
}

/* It wants a .gitignore in there, and ends when it cannot write one. */
static bool cover_home(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    static const char *const places[] = {".config/opencode", ".opencode"};
    AUTO_FREE char *folder = fs_join(start->dir, "opencode-home");
    AUTO_FREE char *file = fs_join(folder, ".gitignore");
    if (!fs_mkdirs(folder, 0755, err) || !fs_write_plain(AT_FDCWD, file, "*\n", 2, 0644, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        AUTO_FREE char *inside = fs_join(start->home_inside, places[i]);
        box_spec_bind(spec, folder, inside, 0);
    }
    return true;
}

static void add_arguments(struct box_spec *spec, const struct agent_start *start)
{
    const char *model = config_str(start->config, "agent.opencode.model", NULL);
    if (!start->interactive) {
        strv_push(&spec->argv, "run");
        strv_push(&spec->argv, "--format");
        strv_push(&spec->argv, "json");
    }
    if (model) {
        strv_push(&spec->argv, "--model");
        strv_push(&spec->argv, model);
    }
    if (start->resume)
        strv_push(&spec->argv, "--continue");
    if (!start->prompt[0])
        return;
    /* One word: it looks for options that open its server among all of them. */
    if (start->interactive) {
        strv_pushf(&spec->argv, "--prompt=%s", start->prompt);
        return;
    }
    strv_push(&spec->argv, "--");
    strv_push(&spec->argv, start->prompt);
}

static const char *const credentials[] = {
    "OPENAI_API_KEY",         "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",      "ANTHROPIC_BASE_URL",
    "OPENROUTER_API_KEY",     "OPENROUTER_BASE_URL",
    "GEMINI_API_KEY",         "GOOGLE_GENERATIVE_AI_API_KEY",
    "GOOGLE_GEMINI_BASE_URL", "OPENCODE_API_KEY",
    "OPENCODE_BASE_URL",      NULL,
};

static void add_environment(struct box_spec *spec, const struct agent_start *start)
{
    static const char *const off[] = {
        "OPENCODE_DISABLE_AUTOUPDATE",      "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS", "OPENCODE_DISABLE_PROJECT_CONFIG",
    };
    for (size_t i = 0; credentials[i]; i++) {
        const char *value = strv_env_get(start->caller_env, credentials[i]);
        if (value)
            strv_env_set(&spec->env, credentials[i], value);
    }
    /* It takes a key of Google's by this name alone. */
    const char *google = strv_env_get(&spec->env, "GEMINI_API_KEY");
    if (google && !strv_env_get(&spec->env, "GOOGLE_GENERATIVE_AI_API_KEY"))
        strv_env_set(&spec->env, "GOOGLE_GENERATIVE_AI_API_KEY", google);
    for (size_t i = 0; i < ARRAY_LEN(off); i++)
        strv_env_set(&spec->env, off[i], "1");
    /* Its files in the home, which calls can write, name servers whose settings it takes, and
     * providers as code. These stand in their place; the list of models is then its own. */
    strv_env_set(&spec->env, "OPENCODE_AUTH_CONTENT", "{}");
    strv_env_set(&spec->env, "OPENCODE_MODELS_PATH", "/etc/opencode/models.json");
    if (start->interactive)
        strv_env_set(&spec->env, "HEADGATE_INTERACTIVE", "1");
}

static bool prepare(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *found = program_find("opencode", start->caller_env);
    if (!found)
        return err_set(err, ERR_FAILED,
                       "OpenCode is not installed: there is no 'opencode' in PATH (npm install -g "
                       "opencode-ai)");
    AUTO_FREE char *program = program_show(spec, found, err);
    if (!program || !install_gate(spec, start, err) || !cover_home(spec, start, err))
        return false;
    if (start->is_heard) {
        /* It reads its standard input to the end before it begins: what is said comes to the plugin
         * on another. */
        static const char *const words[] = {"/bin/sh", "-c", "exec \"$@\" 3<&0 </dev/null",
                                            "opencode"};
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            strv_push(&spec->argv, words[i]);
        strv_env_set(&spec->env, "HEADGATE_SAID", "3");
    }
    strv_push(&spec->argv, program);
    add_arguments(spec, start);
    add_environment(spec, start);
    return true;
}

static const struct provider *const providers[] = {&provider_openai,   &provider_anthropic,
                                                   &provider_google,   &provider_openrouter,
                                                   &provider_opencode, NULL};
static const char *const project_settings[] = {".opencode", "opencode.json", "opencode.jsonc",
                                               NULL};
static const struct agent_form calls[] = {
    {{"sh", "-c", "%c", NULL}}, {{"bash", "-c", "%c", NULL}}, {{NULL}}};
static const struct agent_form helpers[] = {{{"git", "%*", NULL}}, {{"rg", "%*", NULL}}, {{NULL}}};

/* The shell that sets its streams up becomes it. */
static const struct agent_form selves[] = {{{"opencode", "%*", NULL}}, {{NULL}}};

const struct agent agent_opencode = {
    .name = "opencode",
    .title = "OpenCode",
    .program = "opencode",
    .tested = "1.18.33",
    .gated = "A plugin in its process, which alone gives the model tools: where it is not loaded "
             "there are none. A "
             "project's own .opencode and opencode.json are covered. Subagents are told by id, "
             "type and depth.",
    .gaps = "It takes settings of the console account that its database in the home names, which a "
            "program in the box can write: such a plugin is code in its process at its next start.",
    .wants = "rg",
    .without =
        "OpenCode searches with 'rg' (ripgrep), which is not in your PATH: in each attempt it "
        "asks for github.com to fetch it, waits for that, and finds nothing without; install "
        "ripgrep",
    .output = "opencode",
    .hears = "lines",
    .needs_env = credentials,
    .exec_calls = calls,
    .exec_helpers = helpers,
    .exec_selves = selves,
    .project_settings = project_settings,
    .providers = providers,
    .stub_model = "openai/gpt-4.1",
    .greets = true,
    .prepare = prepare,
};
