#include "gate/tool_table.h"

#include <string.h>
#include <strings.h>

#include "runner/base/mem.h"

struct row {
    const char *tool;
    enum tool_kind kind;
};

/* Any agent, scripts with headgate-hook among them; in whatever case they write it. */
static const struct row generic[] = {
    {"bash", TOOL_SHELL},  {"ls", TOOL_READ},       {"shell", TOOL_SHELL}, {"exec", TOOL_SHELL},
    {"read", TOOL_READ},   {"list", TOOL_READ},     {"search", TOOL_READ}, {"glob", TOOL_READ},
    {"grep", TOOL_READ},   {"write", TOOL_EDIT},    {"edit", TOOL_EDIT},   {"patch", TOOL_EDIT},
    {"delete", TOOL_EDIT}, {"fetch", TOOL_NETWORK}, {"spawn", TOOL_SPAWN}, {"task", TOOL_SPAWN},
    {"agent", TOOL_SPAWN}, {"todo", TOOL_PLAN},
};

static const struct row claude[] = {
    {"Bash", TOOL_SHELL},
    {"PowerShell", TOOL_SHELL},
    {"Monitor", TOOL_SHELL},
    {"Read", TOOL_READ},
    {"Glob", TOOL_READ},
    {"Grep", TOOL_READ},
    {"LS", TOOL_READ},
    {"NotebookRead", TOOL_READ},
    {"LSP", TOOL_READ},
    {"Write", TOOL_EDIT},
    {"Edit", TOOL_EDIT},
    {"MultiEdit", TOOL_EDIT},
    {"NotebookEdit", TOOL_EDIT},
    {"WebFetch", TOOL_NETWORK},
    {"WebSearch", TOOL_NETWORK},
    {"Agent", TOOL_SPAWN},
    {"Task", TOOL_SPAWN},
    {"Workflow", TOOL_SPAWN},
    {"SendMessage", TOOL_SPAWN},
    {"ListAgents", TOOL_PLAN},
    {"BashOutput", TOOL_PLAN},
    {"KillShell", TOOL_PLAN},
    {"KillBash", TOOL_PLAN},
    {"TaskOutput", TOOL_PLAN},
    {"AgentOutputTool", TOOL_PLAN},
    {"TaskStop", TOOL_PLAN},
    {"TaskCreate", TOOL_PLAN},
    {"TaskUpdate", TOOL_PLAN},
    {"TaskGet", TOOL_PLAN},
    {"TaskList", TOOL_PLAN},
    {"TodoWrite", TOOL_PLAN},
    {"TodoRead", TOOL_PLAN},
    {"EnterPlanMode", TOOL_PLAN},
    {"ExitPlanMode", TOOL_PLAN},
    {"AskUserQuestion", TOOL_PLAN},
    {"Skill", TOOL_PLAN},
    {"SlashCommand", TOOL_PLAN},
    {"ToolSearch", TOOL_PLAN},
    {"StructuredOutput", TOOL_PLAN},
};

/* Codex writes a tool of a group as group and name without a separator. */
static const struct row codex[] = {
    {"Bash", TOOL_SHELL},
    {"exec_command", TOOL_SHELL},
    {"local_shell", TOOL_SHELL},
    {"write_stdin", TOOL_SHELL},
    {"apply_patch", TOOL_EDIT},
    {"view_image", TOOL_READ},
    {"web_search", TOOL_NETWORK},
    {"spawn_agent", TOOL_SPAWN},
    {"multi_agent_v1spawn_agent", TOOL_SPAWN},
    {"collaborationspawn_agent", TOOL_SPAWN},
    {"send_input", TOOL_SPAWN},
    {"multi_agent_v1send_input", TOOL_SPAWN},
    {"collaborationsend_message", TOOL_SPAWN},
    {"wait_agent", TOOL_PLAN},
    {"multi_agent_v1wait_agent", TOOL_PLAN},
    {"collaborationwait_agent", TOOL_PLAN},
    {"close_agent", TOOL_PLAN},
    {"multi_agent_v1close_agent", TOOL_PLAN},
    {"update_plan", TOOL_PLAN},
    {"create_goal", TOOL_PLAN},
    {"update_goal", TOOL_PLAN},
    {"get_goal", TOOL_PLAN},
};

/* Gemini CLI and its descendant Qwen Code. */
static const struct row gemini[] = {
    {"run_shell_command", TOOL_SHELL},
    {"read_file", TOOL_READ},
    {"read_many_files", TOOL_READ},
    {"list_directory", TOOL_READ},
    {"glob", TOOL_READ},
    {"grep_search", TOOL_READ},
    {"search_file_content", TOOL_READ},
    {"write_file", TOOL_EDIT},
    {"replace", TOOL_EDIT},
    {"edit", TOOL_EDIT},
    {"web_fetch", TOOL_NETWORK},
    {"web_search", TOOL_NETWORK},
    {"google_web_search", TOOL_NETWORK},
    {"invoke_agent", TOOL_SPAWN},
    {"codebase_investigator", TOOL_SPAWN},
    {"agent", TOOL_SPAWN},
    {"task", TOOL_SPAWN},
    {"complete_task", TOOL_PLAN},
    {"write_todos", TOOL_PLAN},
    {"todo_write", TOOL_PLAN},
    {"enter_plan_mode", TOOL_PLAN},
    {"exit_plan_mode", TOOL_PLAN},
    {"ask_user", TOOL_PLAN},
    {"ask_user_question", TOOL_PLAN},
    {"activate_skill", TOOL_PLAN},
    {"skill", TOOL_PLAN},
};

static const struct row opencode[] = {
    {"bash", TOOL_SHELL},        {"read", TOOL_READ},          {"glob", TOOL_READ},
    {"grep", TOOL_READ},         {"list", TOOL_READ},          {"lsp", TOOL_READ},
    {"write", TOOL_EDIT},        {"edit", TOOL_EDIT},          {"multiedit", TOOL_EDIT},
    {"patch", TOOL_EDIT},        {"apply_patch", TOOL_EDIT},   {"webfetch", TOOL_NETWORK},
    {"websearch", TOOL_NETWORK}, {"codesearch", TOOL_NETWORK}, {"task", TOOL_SPAWN},
    {"todowrite", TOOL_PLAN},    {"todoread", TOOL_PLAN},      {"question", TOOL_PLAN},
    {"skill", TOOL_PLAN},        {"invalid", TOOL_PLAN},
};

static const struct {
    const char *agent;
    const struct row *rows;
    size_t n;
} agents[] = {
    {"claude", claude, ARRAY_LEN(claude)},       {"codex", codex, ARRAY_LEN(codex)},
    {"gemini", gemini, ARRAY_LEN(gemini)},       {"qwen", gemini, ARRAY_LEN(gemini)},
    {"opencode", opencode, ARRAY_LEN(opencode)},
};

static const struct row *find_row(const struct row *rows, size_t n, const char *tool,
                                  int (*compare)(const char *, const char *))
{
    for (size_t i = 0; i < n; i++)
        if (compare(rows[i].tool, tool) == 0)
            return &rows[i];
    return NULL;
}

enum tool_kind tool_kind_of(const char *agent, const char *tool)
{
    const struct row *row = NULL;
    for (size_t i = 0; i < ARRAY_LEN(agents) && !row; i++)
        if (strcmp(agents[i].agent, agent) == 0)
            row = find_row(agents[i].rows, agents[i].n, tool, strcmp);
    if (!row)
        row = find_row(generic, ARRAY_LEN(generic), tool, strcasecmp);
    return row ? row->kind : TOOL_OTHER;
}
