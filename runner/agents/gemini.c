/*
 * gemini: Gemini CLI (facts seen with 0.61.0).
 *
 * It takes system settings only from files of uid 0, which no file in a box has. So the gate stands
 * in the settings of the person, read-only over the private home, and what a project could say
 * against them is covered. The hook has a name that a project cannot know, since lists of names to
 * switch off are merged. A call runs when the hook fails; therefore code in its process takes the
 * hook's place (gemini_preload.cjs). It does not ask by itself: without the mode `yolo` it offers
 * neither shell nor edits headless.
 */
#include "runner/agents/kinds.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "gemini_preload.h"
#include "runner/agents/program.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

#define PRELOAD_FOLDER "/etc/gemini-cli"
#define PRELOAD PRELOAD_FOLDER "/headgate.cjs"

/* The longest that its timer takes; the keeper's own deadline is shorter. */
enum { HOOK_TIMEOUT_MS = 2147483647 };

static bool hook_name(char **ret, struct err *err)
{
    unsigned char bytes[12];
    AUTO_BUF struct buf name = BUF_INIT;
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_set(err, ERR_SYS, "the kernel gives no random bytes");
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_addf(&name, "%02x", bytes[i]);
    *ret = buf_steal(&name);
    return true;
}

/* Its own word that it waits. News: a hook that fails must not make it go on. In other words than
 * the gate's, in whose place the preload answers. */
static void add_news(json_t *hooks, const struct agent_start *start, const char *name)
{
    AUTO_FREE char *command = xasprintf(
        "%s --socket %s --agent gemini 2>/dev/null || :", start->hook_inside, start->gate_inside);
    jx_set(hooks, "AfterAgent",
           json_pack("[{s:[{s:s, s:s, s:s}]}]", "hooks", "type", "command", "name", name, "command",
                     command));
}

static json_t *settings(const struct agent_start *start, const char *name)
{
    AUTO_FREE char *command = xasprintf("%s --agent gemini --socket %s || { echo 'headgate: the "
                                        "gate could not answer; the call is denied' >&2; "
                                        "exit 2; }",
                                        start->hook_inside, start->gate_inside);
    json_t *all =
        json_pack("{s:{s:b}, s:{s:b}, s:{s:[{s:s, s:[{s:s, s:s, s:s, s:i}]}], s:[{s:[{s:s, s:s, "
                  "s:s}]}]}, s:{s:{s:s}, s:{s:b}}, s:{s:b, s:b}, s:{s:b}, s:{s:b}}",
                  "advanced", "ignoreLocalEnv", 1, /* a project's .env would name its home */
                  "hooksConfig", "enabled", 1, "hooks", "BeforeTool", "matcher", ".*", "hooks",
                  "type", "command", "name", name, "command", command, "timeout", HOOK_TIMEOUT_MS,
                  "SessionStart", "hooks", "type", "command", "name", name, "command", command,
                  "security", "auth", "selectedType", "gemini-api-key", "folderTrust", "enabled", 0,
                  "general", "enableAutoUpdate", 0, "enableAutoUpdateNotification", 0, "privacy",
                  "usageStatisticsEnabled", 0, "telemetry", "enabled", 0);
    if (start->interactive)
        add_news(jx_obj(all, "hooks"), start, name);
    return all;
}

static bool install_gate(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *folder = fs_join(start->dir, "gemini");
    AUTO_FREE char *preload = fs_join(folder, "headgate.cjs");
    AUTO_FREE char *file = fs_join(start->dir, "gemini-settings.json");
    AUTO_FREE char *inside = fs_join(start->home_inside, ".gemini/settings.json");
    AUTO_FREE char *name = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    if (!hook_name(&name, err))
        return false;
    AUTO_JSON json_t *value = settings(start, name);
    jx_dump(&text, value);
    if (!fs_mkdirs(folder, 0755, err) ||
        !fs_write_plain(AT_FDCWD, preload, gemini_preload, sizeof(gemini_preload), 0644, err) ||
        !fs_write_plain(AT_FDCWD, file, text.ptr, text.len, 0644, err))
        return false;
    box_spec_bind(spec, folder, PRELOAD_FOLDER, 0);
    box_spec_bind(spec, file, inside, 0);
    return true;
}

static void add_arguments(struct box_spec *spec, const struct agent_start *start)
{
    const char *model = config_str(start->config, "agent.gemini.model", NULL);
    strv_push(&spec->argv, "--approval-mode=yolo");
    if (model)
        strv_pushf(&spec->argv, "--model=%s", model);
    if (start->resume)
        strv_push(&spec->argv, "--resume=latest");
    if (!start->interactive)
        strv_push(&spec->argv, "--output-format=stream-json");
    if (start->prompt[0])
        strv_pushf(&spec->argv, "--prompt%s=%s", start->interactive ? "-interactive" : "",
                   start->prompt);
}

static const char *const credentials[] = {"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", NULL};

static void add_environment(struct box_spec *spec, const struct agent_start *start)
{
    for (size_t i = 0; credentials[i]; i++) {
        const char *value = strv_env_get(start->caller_env, credentials[i]);
        if (value)
            strv_env_set(&spec->env, credentials[i], value);
    }
    strv_env_set(&spec->env, "GEMINI_CLI_NO_RELAUNCH", "true");
    strv_env_set(&spec->env, "GEMINI_CLI_TRUST_WORKSPACE", "true");
    /* Set, so that no file of a project sets them. */
    strv_env_set(&spec->env, "GEMINI_CLI_SYSTEM_SETTINGS_PATH", PRELOAD_FOLDER "/settings.json");
    strv_env_set(&spec->env, "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", PRELOAD_FOLDER "/defaults.json");
}

static bool prepare(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_FREE char *found = program_find("gemini", start->caller_env);
    AUTO_FREE char *found_node = program_find("node", start->caller_env);
    if (!found)
        return err_set(err, ERR_FAILED,
                       "Gemini CLI is not installed: there is no 'gemini' in PATH (npm install -g "
                       "@google/gemini-cli)");
    if (!found_node)
        return err_set(err, ERR_FAILED, "Gemini CLI needs Node: there is no 'node' in PATH");
    AUTO_FREE char *script = program_show(spec, found, err);
    AUTO_FREE char *node = script ? program_show(spec, found_node, err) : NULL;
    if (!node || !install_gate(spec, start, err))
        return false;
    strv_push(&spec->argv, node);
    strv_push(&spec->argv, "--require");
    strv_push(&spec->argv, PRELOAD);
    strv_push(&spec->argv, script);
    add_arguments(spec, start);
    add_environment(spec, start);
    return true;
}

static const struct provider *const providers[] = {&provider_google, NULL};
static const char *const project_settings[] = {".gemini", NULL};

static const struct agent_form calls[] = {
    {{"bash", "-c",
      "shopt -u promptvars nullglob extglob nocaseglob dotglob; "
      "_bgpids_file=/tmp/gemini-shell-%i/bgpids.tmp\n"
      "(\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\n%c\n)\n__code=$?\nexit $__code",
      NULL}},
    {{NULL}},
};

/* Looks at the worktree and for git; the hook, should it be started. */
static const struct agent_form helpers[] = {
    {{"bash", "-c",
      "%k --agent gemini --socket %g || { echo 'headgate: the gate could not answer; the call is "
      "denied' >&2; "
      "exit 2; }",
      NULL}},
    {{"bash", "-c", "%k --socket %g --agent gemini 2>/dev/null || :", NULL}},
    {{"sh", "-c", "command -v git", NULL}},
    {{"git", "%*", NULL}},
    {{"rg", "%*", NULL}},
    {{NULL}},
};

const struct agent agent_gemini = {
    .name = "gemini",
    .title = "Gemini CLI",
    .program = "gemini",
    .tested = "0.61.0",
    .gated = "Code that is loaded into its process takes the place of its hook: there is no "
             "program to kill, and "
             "whatever fails is a denial. The settings are read-only, a project's own .gemini is "
             "covered.",
    .gaps = "Subagents are asked like the parent, whom their calls cannot be told from.",
    .output = "gemini",
    .needs_env = credentials,
    .exec_calls = calls,
    .exec_helpers = helpers,
    .project_settings = project_settings,
    .providers = providers,
    .stub_model = "gemini-2.5-flash",
    .greets = true,
    .prepare = prepare,
};
