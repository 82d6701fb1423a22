/*
 * login_file: which login of the person's an agent works on, where it is one: named by the person,
 * never guessed.
 */
#ifndef CMD_LOGIN_FILE_H
#define CMD_LOGIN_FILE_H

#include "runner/agents/agent.h"

/* The file of agent.NAME.login (a path, `~/` for the home; `true`: where the agent's own program
 * keeps it), or with asked
 * (--login) that last one; NULL: none. Allocated. ERR_USAGE: it has none that is known;
 * ERR_NOT_FOUND: there is no such file. */
bool login_file(char **ret, const struct agent *agent, bool asked, const struct config *config,
                struct err *err) WARN_UNUSED;
/* Whether the configuration names one. */
bool login_is_configured(const struct agent *agent, const struct config *config);
/* Append how the one that is configured is kept, as a sentence for people. */
bool login_describe(struct buf *out, const struct agent *agent, const struct config *config,
                    struct err *err) WARN_UNUSED;

#endif
