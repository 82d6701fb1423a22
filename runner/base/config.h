/*
 * config: settings in git-config syntax (gitconf.h).
 *
 * Order: built-in defaults, /etc/headgate/config, the user's file. A later value of a single-valued
 * key wins; list keys accumulate. include and includeIf are errors. Keys are lower-case
 * "section.name" (the subsection keeps its case: "agent.claude.model"). A repository's `.headgate`
 * is not read here: it may only tighten and needs consent (runner/consent). Every key stands with
 * its kind in a table of config.c; an unknown key, or a value of the wrong kind, is ERR_USAGE with
 * file and key. Sections: run, gate, box, worktree, agent, ui, server.
 */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stdint.h>
#include "runner/base/paths.h"
#include "runner/base/strv.h"

struct config;

bool config_load(struct config **ret, const struct paths *paths, struct err *err) WARN_UNUSED;
/* A number that changes when one of the files does (size, time, inode), so that a server can notice
 * without reading. */
uint64_t config_stamp(const struct paths *paths);
/* Parse bytes that were already read (and hashed); origin is for messages. */
bool config_parse(struct config **ret, const char *bytes, size_t len, const char *origin,
                  struct err *err) WARN_UNUSED;
void config_free(struct config *c);
void auto_config_(struct config **c);
#define AUTO_CONFIG __attribute__((cleanup(auto_config_)))
const char *config_str(const struct config *c, const char *key, const char *fallback);
bool config_bool(const struct config *c, const char *key, bool fallback);
/* With git's suffixes k, m, g. */
int64_t config_int(const struct config *c, const char *key, int64_t fallback);
/* The values of a list key, borrowed, at most max; returns how many there are. */
size_t config_values(const char **out, size_t max, const struct config *c, const char *key);
void config_list(struct strv *out, const struct config *c, const char *key);
/* Call visit for every entry in order. */
void config_each(const struct config *c,
                 void (*visit)(const char *key, const char *value, void *arg), void *arg);

#endif
