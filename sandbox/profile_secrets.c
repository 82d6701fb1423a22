/*
 * profile_secrets: what must not be seen of the folders of a person's home that a box shows: the
 * tokens, keys and sessions whose places are known.
 */
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/profile.h"

/* In the root of a toolchain, wherever it lies. */
static const char *const in_root[] = {
    ".env",        ".netrc",           ".npmrc",           ".pypirc",   "auth.json",
    "credentials", "credentials.json", "credentials.toml", "etc/npmrc", "pip.conf",
};

/* Below the home: files and whole folders. */
/* clang-format off */
static const char *const in_home[] = {
    ".ICEauthority", ".Xauthority", ".aws", ".azure", ".bash_history", ".boto", ".cache/huggingface/token",
    ".cargo/credentials", ".cargo/credentials.toml", ".claude.json", ".claude/.credentials.json",
    ".cloudflared", ".codex/auth.json", ".composer/auth.json", ".config/NuGet", ".config/chromium",
    ".config/composer/auth.json", ".config/configstore", ".config/containers/auth.json", ".config/doctl",
    ".config/gcloud", ".config/gh", ".config/git/credentials", ".config/github-copilot",
    ".config/glab-cli", ".config/google-chrome", ".config/heroku", ".config/hub", ".config/keybase",
    ".config/ngrok", ".config/op", ".config/pip", ".config/rclone", ".config/sops", ".config/stripe",
    ".config/yarn", ".databrickscfg", ".docker", ".fly", ".gem/credentials", ".gemini/oauth_creds.json",
    ".git-credentials", ".gnupg", ".gradle/gradle.properties", ".huggingface/token", ".kaggle", ".kube",
    ".local/share/gem/credentials", ".local/share/keyrings", ".local/share/opencode/auth.json",
    ".m2/settings-security.xml", ".m2/settings.xml", ".mozilla", ".my.cnf",
    ".mylogin.cnf", ".netlify", ".netrc", ".ngrok2", ".node_repl_history", ".npmrc",
    ".nuget/NuGet/NuGet.Config", ".password-store", ".pgpass", ".pip/pip.conf", ".psql_history",
    ".pulumi/credentials.json", ".pypirc", ".python_history", ".s3cfg", ".snowflake", ".ssh", ".supabase",
    ".terraform.d/credentials.tfrc.json", ".terraformrc", ".thunderbird", ".vault-token", ".vercel",
    ".yarnrc.yml", ".zsh_history",
};
/* clang-format on */

/* A secret of the host, by its real path, is covered where a bind shows it; not when it was named
 * itself. */
static void mask(struct box_spec *spec, const char *folder, const char *name,
                 const struct box_bind *binds, size_t n)
{
    struct err ignored = ERR_INIT;
    AUTO_FREE char *path = fs_join(folder, name);
    AUTO_FREE char *real = fs_realpath(path, &ignored);
    for (size_t i = 0; real && i < n; i++) {
        size_t len = strlen(binds[i].host);
        if (strncmp(real, binds[i].host, len) == 0 && real[len] == '/')
            strv_pushf(&spec->masks, "%s%s", binds[i].inside, real + len);
    }
}

void profile_mask_root(struct box_spec *spec, const struct box_bind *root)
{
    for (size_t i = 0; i < ARRAY_LEN(in_root); i++)
        mask(spec, root->host, in_root[i], root, 1);
}

void profile_mask_secrets(struct box_spec *spec, const char *person_home)
{
    for (size_t i = 0; spec->n_binds > 0 && i < ARRAY_LEN(in_home); i++)
        mask(spec, person_home, in_home[i], spec->binds, spec->n_binds);
}
