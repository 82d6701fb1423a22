/*
 * profile: the built-in profile: what every agent's box holds so that ordinary work runs.
 *
 * System folders come with the plan. The profile adds: toolchain roots below the person's home
 * found from PATH through symlinks (nvm, pyenv, cargo, rustup, go, ~/.local/bin), read-only at the
 * same path, with the secrets in them covered; an allow-listed environment; HOME, TMPDIR, TERM and
 * cache variables that point into the private home.
 */
#ifndef SANDBOX_PROFILE_H
#define SANDBOX_PROFILE_H

#include "sandbox/box.h"

/* Fill env, home binds and toolchains of the spec from the environment of the person who asked
 * (caller_env). home_host is the private home's folder (exists), or NULL for a home in memory; it
 * appears inside at the path of the person's own home, so that tools find their toolchains where
 * they expect them. */
bool profile_apply(struct box_spec *spec, const struct strv *caller_env, const char *person_home,
                   const char *home_host, struct err *err) WARN_UNUSED;
/* The names of variables that pass from a person's environment: exact names and prefixes ending in
 * '*'. NULL-terminated. */
extern const char *const profile_env_allowed[];
/* Copy only the allowed variables. */
void profile_env_filter(struct strv *out, const struct strv *env);

/* A path as a person writes it: absolute, below ~/, or, where there is a base, below that; as text,
 * without . and .. parts. Allocated; NULL with ERR_USAGE. */
char *profile_path(const char *word, const char *home, const char *base, struct err *err);
/* Show host paths at the paths that were named and, where links led elsewhere, where they are. With
 * BOX_BIND_OPTIONAL absent ones are passed over: a configuration serves several machines. */
bool profile_show(struct box_spec *spec, const struct strv *words, unsigned flags, const char *home,
                  struct err *err) WARN_UNUSED;
/* Cover paths in the box. base: of relative ones, NULL: refuse them. */
bool profile_cover(struct box_spec *spec, const struct strv *words, const char *home,
                   const char *base, struct err *err) WARN_UNUSED;
/* Add a variable: NAME takes its value from all, NAME=VALUE brings its own. */
bool profile_env_add(struct strv *env, const struct strv *all, const char *word,
                     struct err *err) WARN_UNUSED;
/* Cover what is known to be a secret in the root of a toolchain that spec shows. */
void profile_mask_root(struct box_spec *spec, const struct box_bind *root);
/* Cover every known secret of the person's home that a bind shows because it shows a folder above
 * it; what was named itself stays. Call when all binds are in the spec. Reads the host's folders.
 */
void profile_mask_secrets(struct box_spec *spec, const char *person_home);

/* Keep the settings of agents and editors in a folder of work as they are: what could switch the
 * gate off there, and what an editor of this host obeys. Instructions, skills, commands and
 * subagents stay writable. tree: where the work appears in the box; host: where it is on the host,
 * so that what is absent costs nothing (NULL: only the box can tell); subdir: where in it the
 * program starts (""), whose settings count as well as those on the way. What `lifted` names, as
 * paths inside, the person wants writable. */
void profile_keep_settings(struct box_spec *spec, const char *tree, const char *host,
                           const char *subdir, const struct strv *lifted);
/* The same, .git, and the .git of each submodule that .gitmodules names, for each folder that a
 * bind from `first` on shows writable at its own place: a host's git runs what the configuration in
 * them says. A submodule's folder without .git stays as it is. What another bind shows writable is
 * lifted. */
void profile_keep_shown(struct box_spec *spec, size_t first);
/* Append the paths of .git and of settings that are at the top of a folder of the host now and are
 * not among those that are known. Reads the host. */
void profile_list_made(struct strv *out, const char *folder, const struct strv *known);
/* A path in a folder of work, relative to it, that profile_keep_settings keeps, or a part of such,
 * or what holds it. */
bool profile_is_setting(const char *path);

#endif
