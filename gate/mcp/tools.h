/*
 * tools: what headgate-mcp offers, and how a call is carried out.
 */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "runner/base/jx.h"

/* The list for `tools/list`. New reference. */
json_t *tools_list(void);

/* Ask the gate at the socket, then do it. Blocks, for as long as a person takes. Appends what the
 * model is to read; false: that is a denial, or a failure of the tool. */
bool tools_call(struct buf *out, const char *socket, const char *tool, const json_t *args,
                const char *call_id);

#endif
