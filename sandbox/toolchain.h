/*
 * toolchain: where the programs of a person's PATH really live, so that they can be shown
 * read-only.
 *
 * Version managers put links into PATH (nvm, fnm, pyenv, rustup, pipx, uv, ~/.local/bin); a link
 * alone is of no use in a box. Each folder of PATH outside the system folders is followed through
 * its links to the root of what it belongs to: the parent of a `bin` or `shims` folder, or the
 * folder itself where the parent is too much (the home, ~/.local, ~/.cargo with its credentials,
 * ~/go with its cache).
 */
#ifndef SANDBOX_TOOLCHAIN_H
#define SANDBOX_TOOLCHAIN_H

#include "runner/base/strv.h"

enum { TOOLCHAIN_ROOTS_MAX = 128 };

struct toolchain_root {
    char *host;   /* real path */
    char *inside; /* where programs look for it; differs from host where a link led there */
};

struct toolchains {
    struct toolchain_root *root; /* sorted by inside: parents before children */
    size_t n;
};

/* Find the roots for env (PATH, RUSTUP_HOME, JAVA_HOME, GOROOT, PYENV_ROOT, VIRTUAL_ENV). Reads the
 * host's folders; what does not exist is passed over. */
void toolchains_find(struct toolchains *ret, const struct strv *env, const char *home);
void toolchains_release(struct toolchains *t);

#endif
