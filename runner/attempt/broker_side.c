#include "runner/attempt/broker_side.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "gate/broker_url.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

#define INSIDE_SHIMS "/run/headgate/shims"

char *broker_side_inbox(const struct wt_attempt *tree)
{
    return fs_join(tree->dir, "inbox");
}

/* "" for what is not carried out: such an address is not even told. */
static char *without_secrets(const char *address)
{
    AUTO_BROKER_URL struct broker_url url = BROKER_URL_INIT;
    struct err ignored = ERR_INIT;
    return broker_url_parse(&url, address, &ignored) ? broker_url_text(&url) : xstrdup("");
}

bool broker_side_remotes(json_t **ret, const char *common_dir, struct wt_source *source,
                         struct err *err)
{
    AUTO_WT_REMOTES struct wt_remotes remotes = WT_REMOTES_INIT;
    if (!(source ? wt_source_remotes(&remotes, source, err)
                 : wt_remotes(&remotes, common_dir, err)))
        return false;
    json_t *list = json_array();
    for (size_t i = 0; i < remotes.n; i++) {
        AUTO_FREE char *url = without_secrets(remotes.v[i].url);
        AUTO_FREE char *push = without_secrets(remotes.v[i].push);
        json_t *remote = json_object();
        jx_set_str(remote, "name", remotes.v[i].name);
        jx_set_str(remote, "url", url);
        jx_set_str(remote, "push", push);
        json_array_append_new(list, remote);
    }
    *ret = list;
    return true;
}

static bool is_installed(const struct strv *env, const char *program)
{
    AUTO_STRV struct strv dirs = STRV_INIT;
    const char *path = strv_env_get(env, "PATH");
    strv_split(&dirs, path ? path : "/usr/bin:/bin", ':', false);
    for (size_t i = 0; i < dirs.n; i++) {
        AUTO_FREE char *candidate = fs_join(dirs.v[i], program);
        if (access(candidate, X_OK) == 0)
            return true;
    }
    return false;
}

/* A remote that cannot be carried out is left to the real git, which says what is wrong. */
static void tell_remotes(struct box_spec *spec, const json_t *remotes)
{
    AUTO_BUF struct buf names = BUF_INIT;
    size_t i;
    const json_t *remote;
    json_array_foreach(remotes, i, remote)
    {
        buf_addf(&names, "%s%s", i ? " " : "", jx_str(remote, "name", ""));
    }
    strv_env_set(&spec->env, "HEADGATE_REMOTES", names.ptr);
}

/* An agent ends a command that takes long, as Claude Code does after two minutes; a script of the
 * person's waits for as long as a person takes. */
static void tell_patience(struct box_spec *spec, const struct boxes *b)
{
    if (strcmp(b->spec->agent, "command") != 0)
        strv_env_set(&spec->env, "HEADGATE_PATIENCE", "100");
}

bool broker_side_show(struct box_spec *spec, const struct boxes *b, const char *hook,
                      struct err *err)
{
    static const char *const programs[] = {"git", "gh", "glab"};
    AUTO_FREE char *inbox = broker_side_inbox(b->tree);
    if (!fs_mkdirs(inbox, 0755, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        AUTO_FREE char *inside = fs_join(INSIDE_SHIMS, programs[i]);
        if (is_installed(&b->spec->env, programs[i]))
            box_spec_bind(spec, hook, inside, 0);
    }
    box_spec_bind(spec, inbox, BROKER_INSIDE_INBOX, 0);
    const char *path = strv_env_get(&spec->env, "PATH");
    AUTO_FREE char *with_shims = xasprintf(INSIDE_SHIMS ":%s", path ? path : "/usr/bin:/bin");
    strv_env_set(&spec->env, "PATH", with_shims);
    tell_remotes(spec, b->remotes);
    tell_patience(spec, b);
    return true;
}

const char broker_side_profile_text[] =
    "PATH=" INSIDE_SHIMS ":$PATH:/run/headgate/bin\nexport PATH\n";

bool broker_side_profile(const char *home, struct err *err)
{
    static const char *const names[] = {".profile", ".zprofile"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *path = fs_join(home, names[i]);
        if (!fs_write_plain(AT_FDCWD, path, broker_side_profile_text,
                            sizeof(broker_side_profile_text) - 1, 0644, err))
            return false;
    }
    return true;
}
