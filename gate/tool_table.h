/*
 * tool_table: the tools of known agents, by agent and name. Sources: the agents' documentation, and
 * hook input recorded from Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0, Qwen Code 0.24.4
 * and OpenCode 1.18.33.
 */
#ifndef GATE_TOOL_TABLE_H
#define GATE_TOOL_TABLE_H

#include "gate/tool.h"

/* TOOL_OTHER for what is in no table. */
enum tool_kind tool_kind_of(const char *agent, const char *tool);

#endif
