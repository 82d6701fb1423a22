/*
 * tool: what a call is about: the kind of its tool, and the files, command and host in its
 * arguments.
 *
 * Tools are known by agent and name, from a table; an unknown tool is TOOL_OTHER, and what its
 * arguments look like is still taken out, so that the floor holds for it too. A call of source
 * `net` is a connection that the egress proxy holds, with host and port. Pure.
 */
#ifndef GATE_TOOL_H
#define GATE_TOOL_H

#include "gate/call.h"
#include "gate/shellwords.h"
#include "runner/base/strv.h"

enum tool_kind {
    TOOL_PLAN, /* the agent's own bookkeeping: to-do lists, plans, questions, waiting */
    TOOL_READ,
    TOOL_EDIT,
    TOOL_SHELL,
    TOOL_NETWORK,
    TOOL_SPAWN, /* starts or feeds a subagent, whose calls are judged themselves */
    TOOL_OTHER,
};

struct tool_use {
    enum tool_kind kind;
    struct strv paths;       /* as the agent wrote them */
    bool has_unknown_path;   /* an edit whose target could not be found in its arguments */
    char *command;           /* the shell text, NULL: none */
    struct shellwords shell; /* what command means; empty without one */
    char *host;              /* of a URL, lower case; NULL: none */
    uint16_t port;           /* of a connection; 0: not told */
};
#define TOOL_USE_INIT                                \
    {                                                \
        .kind = TOOL_OTHER, .shell = SHELLWORDS_INIT \
    }
#define AUTO_TOOL_USE __attribute__((cleanup(tool_use_release)))
void tool_use_release(struct tool_use *u);
void tool_use_of(struct tool_use *ret, const struct call_request *call);

/* Append the files that a patch names: unified diffs, git's headers, and `*** Update File:` blocks.
 * False when it names none, or one that could not be read (a quoted name). */
bool tool_patch_paths(struct strv *out, const char *patch, size_t len);

#endif
