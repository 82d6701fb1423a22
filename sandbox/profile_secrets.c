/*
 * profile_secrets: what must not be seen of the folders of a person's home that a box shows: the
 * tokens, keys and sessions whose places are known.
 */
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/present.h"
#include "sandbox/profile.h"

/* In the root of a toolchain, wherever it lies. */
static const char *const in_root[] = {
    ".env",        ".netrc",           ".npmrc",           ".pypirc",   "auth.json",
    "credentials", "credentials.json", "credentials.toml", "etc/npmrc", "pip.conf",
};

/* Below the home: files and whole folders. */
/* clang-format off */
static const char *const in_home[] = {
    ".ICEauthority", ".Xauthority", ".age", ".aider.conf.yml", ".aliyun", ".argocd", ".aws", ".azure",
    ".bash_history", ".bash_sessions", ".bluemix", ".boto", ".bundle/config",
    ".cache/huggingface/token", ".cargo/credentials", ".cargo/credentials.toml", ".circleci",
    ".claude.json", ".claude/.credentials.json", ".cloudflared", ".codeium", ".codex/auth.json",
    ".colima", ".composer/auth.json", ".conda", ".condarc", ".config/1Password", ".config/Bitwarden",
    ".config/BraveSoftware", ".config/Code/User/globalStorage", ".config/NuGet", ".config/Signal",
    ".config/Slack", ".config/age", ".config/amp", ".config/argocd", ".config/atlassian",
    ".config/chromium", ".config/composer/auth.json", ".config/configstore",
    ".config/containers/auth.json", ".config/cursor/auth.json", ".config/discord", ".config/doctl",
    ".config/evolution", ".config/filezilla", ".config/fish/fish_variables", ".config/fly",
    ".config/gcloud", ".config/gh", ".config/git/credentials", ".config/github-copilot",
    ".config/gitlab", ".config/glab-cli", ".config/goa-1.0", ".config/google-chrome",
    ".config/goose/secrets.yaml", ".config/hcloud", ".config/heroku", ".config/hex", ".config/hub",
    ".config/ibus/bus", ".config/jira", ".config/keybase", ".config/kwalletrc", ".config/lftp",
    ".config/libvirt", ".config/linode-cli", ".config/lxc", ".config/microsoft-edge", ".config/mutt",
    ".config/netlify", ".config/ngrok", ".config/op", ".config/opera", ".config/pip", ".config/podman",
    ".config/pulse/cookie", ".config/pypoetry/auth.toml", ".config/railway", ".config/rclone",
    ".config/s3cmd", ".config/scw", ".config/sops", ".config/stripe", ".config/tea", ".config/turso",
    ".config/vivaldi", ".config/wrangler", ".config/yarn", ".continue", ".cvspass", ".databrickscfg",
    ".dbus", ".docker", ".fetchmailrc", ".fly", ".gem/credentials", ".gemini/oauth_creds.json",
    ".git-credentials", ".gitlab", ".gnupg", ".gradle/gradle.properties", ".hex", ".hgrc",
    ".huggingface/token", ".ibmcloud", ".irb_history", ".ivy2/.credentials", ".java/.userPrefs",
    ".kaggle", ".kube", ".lesshst", ".lftprc", ".lima", ".local/share/amp/secrets.json",
    ".local/share/atuin", ".local/share/com.vercel.cli", ".local/share/containers",
    ".local/share/crush", ".local/share/evolution", ".local/share/fish/fish_history",
    ".local/share/gem/credentials", ".local/share/jupyter/runtime", ".local/share/keyrings",
    ".local/share/kwalletd", ".local/share/opencode/auth.json", ".local/share/uv/credentials",
    ".m2/settings-security.xml", ".m2/settings.xml", ".minikube", ".mozilla", ".msmtprc", ".mutt",
    ".muttrc", ".my.cnf", ".mylogin.cnf", ".mysql_history", ".netlify", ".netrc", ".ngrok2",
    ".node_repl_history", ".npmrc", ".nuget/NuGet/NuGet.Config", ".oci", ".orbstack", ".password-store",
    ".pgpass", ".pip/pip.conf", ".pki", ".psql_history", ".pulumi/credentials.json", ".purple",
    ".pypirc", ".python_history", ".qwen/oauth_creds.json", ".railway", ".rd", ".rediscli_history",
    ".s3cfg", ".s3cmd", ".sbt/.credentials", ".smbcredentials", ".snowflake", ".sqlite_history", ".ssh",
    ".subversion/auth", ".supabase", ".terraform.d/credentials.tfrc.json", ".terraformrc",
    ".thunderbird", ".vault-token", ".vault_pass", ".vercel", ".viminfo", ".wrangler", ".yarnrc.yml",
    ".zsh_history", ".zsh_sessions",
};
/* clang-format on */

struct cover {
    struct box_spec *spec;
    const char *folder;
    const struct box_bind *binds;
    size_t n;
};

/* A secret of the host, by its real path, is covered where a bind shows it; not when it was named
 * itself. */
static void mask(const char *name, void *arg)
{
    const struct cover *c = arg;
    struct err ignored = ERR_INIT;
    AUTO_FREE char *path = fs_join(c->folder, name);
    AUTO_FREE char *real = fs_realpath(path, &ignored);
    for (size_t i = 0; real && i < c->n; i++) {
        size_t len = strlen(c->binds[i].host);
        if (strncmp(real, c->binds[i].host, len) == 0 && real[len] == '/')
            strv_pushf(&c->spec->masks, "%s%s", c->binds[i].inside, real + len);
    }
}

void profile_mask_root(struct box_spec *spec, const struct box_bind *root)
{
    struct cover c = {spec, root->host, root, 1};
    present_each(root->host, in_root, ARRAY_LEN(in_root), mask, &c);
}

void profile_mask_secrets(struct box_spec *spec, const char *person_home)
{
    struct cover c = {spec, person_home, spec->binds, spec->n_binds};
    if (spec->n_binds > 0)
        present_each(person_home, in_home, ARRAY_LEN(in_home), mask, &c);
}
