#include "worktree/secrets.h"

#include <fnmatch.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

static const char *const names[] = {
    ".env",
    ".env.*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".yarnrc*",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    "credentials*",
    ".credentials*",
    "*credentials.json",
    "service-account*.json",
    "secret*",
    ".secret*",
    "*.tfstate",
    "*.tfvars",
    "kubeconfig*",
};

/* What is there to be shown. */
static const char *const samples[] = {"*.example", "*.sample", "*.template", "*.dist", "*.pub"};

static const char *const packages[] = {"node_modules", ".venv", "venv", "vendor", "target",
                                       "build",        "dist",  ".tox", ".cache", "__pycache__",
                                       ".gradle",      ".next", "Pods"};

static bool matches_any(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fnmatch(list[i], name, FNM_CASEFOLD) == 0)
            return true;
    return false;
}

static bool is_in_packages(const char *path)
{
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        AUTO_FREE char *folder = xstrndup(path, (size_t)(slash - path));
        if (matches_any(folder, packages, ARRAY_LEN(packages)))
            return true;
    }
    return false;
}

static bool is_secret_name(const char *name)
{
    return matches_any(name, names, ARRAY_LEN(names)) &&
           !matches_any(name, samples, ARRAY_LEN(samples));
}

bool secrets_looks_like(const char *path)
{
    return is_secret_name(fs_basename(path)) && !is_in_packages(path);
}

/* The last part without its wildcards is what somebody wrote out. */
bool secrets_is_meant(const char *pattern)
{
    AUTO_FREE char *last = xstrdup(fs_basename(pattern));
    size_t kept = 0;
    if (*pattern == '!') /* it only takes away */
        return true;
    for (size_t i = 0; last[i]; i++)
        if (!strchr("*?\\", last[i]))
            last[kept++] = last[i];
    last[kept] = '\0';
    return is_secret_name(last);
}
