/*
 * codex_words: what Codex's app-server says, in the gate's words (checked with 0.171.0). Pure.
 */
#ifndef DRIVE_CODEX_WORDS_H
#define DRIVE_CODEX_WORDS_H

#include "runner/base/jx.h"

/* The text that a shell gets of `/bin/bash -lc 'TEXT'`; the whole command where it is not of that
 * form. Appends. */
void codex_shell_text(struct buf *out, const char *command);
/* The gate message of `item/commandExecution/requestApproval`. main: the id of the main thread. */
json_t *codex_command_request(const json_t *params, const char *main_thread);
/* The same of `item/fileChange/requestApproval`; item: the change as `item/started` told it, NULL:
 * it was not. */
json_t *codex_change_request(const json_t *params, const json_t *item, const char *main_thread,
                             const char *cwd);
/* The answer of `hooks/list` says that our hook is asked before each call, and cannot be switched
 * off. */
bool codex_hook_is_active(const json_t *answer, const char *hook, struct err *err) WARN_UNUSED;
/* Of all notifications those that a log should hold. */
bool codex_is_told(const char *method);

#endif
