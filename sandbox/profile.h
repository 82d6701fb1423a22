/*
 * profile: the built-in profile: what every agent's box holds so that ordinary work runs.
 *
 * System folders come with the plan. The profile adds: toolchain roots below the person's home
 * found from PATH through symlinks (nvm, pyenv, cargo, rustup, go, ~/.local/bin), read-only at the
 * same path; an allow-listed environment; HOME, TMPDIR, TERM and cache variables that point into
 * the private home.
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

#endif
