/*
 * fatal: the hook client's only way to fail: one sentence on standard error, exit code 2.
 *
 * Agents take any other end for "no decision" and may run the tool; some run it too on exit 2 with
 * nothing on standard error (measured: Codex, Gemini CLI, Qwen Code). So every signal that would
 * end the process, a crash and want of memory (abort) included, ends it this way. SIGKILL cannot be
 * caught: there the agent's own settings must fail closed.
 */
#ifndef GATE_HOOK_FATAL_H
#define GATE_HOOK_FATAL_H

#include <stdint.h>
#include "runner/base/err.h"

/* Make descriptors 0 to 2 exist (unwritable where they were missing), and catch and unblock every
 * deadly signal. Call first in main. */
void fatal_init(void);
/* Die with a sentence about the time when timeout_ms (> 0) have passed. */
void fatal_after(int64_t timeout_ms);
_Noreturn void fatal(const struct err *err);

#endif
