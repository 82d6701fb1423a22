#include "runner/cmd/login_file.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/login/credfile.h"

static const char *variable(const void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

static const char *setting(const struct agent *agent, const struct config *config)
{
    AUTO_FREE char *key = xasprintf("agent.%s.login", agent->name);
    const char *value = config_str(config, key, NULL);
    return value && strcmp(value, "false") != 0 ? value : NULL;
}

bool login_is_configured(const struct agent *agent, const struct config *config)
{
    return setting(agent, config) != NULL;
}

static char *path_of(const struct login_form *form, const char *value)
{
    const char *home = getenv("HOME");
    if (!value || strcmp(value, "true") == 0)
        return login_default_file(form, home ? home : "/", variable, NULL);
    return strncmp(value, "~/", 2) == 0 ? fs_join(home ? home : "/", value + 2) : xstrdup(value);
}

bool login_file(char **ret, const struct agent *agent, bool asked, const struct config *config,
                struct err *err)
{
    const char *value = setting(agent, config);
    const struct login_form *form = login_form(agent->name);
    *ret = NULL;
    if (!value && !asked)
        return true;
    if (!form || !agent->login)
        return err_set(err, ERR_USAGE,
                       "how %s keeps a subscription's login is not known; it can work with a key",
                       agent->title);
    AUTO_FREE char *path = path_of(form, value);
    if (path[0] != '/')
        return err_set(err, ERR_USAGE,
                       "agent.%s.login must be an absolute path, or true: where %s keeps it",
                       agent->name, form->title);
    if (!fs_exists(path))
        return err_set(err, ERR_NOT_FOUND, "%s is not logged in: there is no %s (log in with `%s`)",
                       form->title, path, form->again);
    *ret = steal_ptr(&path);
    return true;
}

static void add_end(struct buf *out, const struct credentials *c)
{
    int64_t left_ms = c->expires_ms - clock_unix_ms();
    if (!c->expires_ms)
        return;
    buf_adds(out, left_ms > 0 ? ", its token good for " : ", its token to be renewed");
    if (left_ms > 0)
        clock_add_duration(out, left_ms);
}

bool login_describe(struct buf *out, const struct agent *agent, const struct config *config,
                    struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    AUTO_JSON json_t *file = NULL;
    AUTO_CREDENTIALS struct credentials c = CREDENTIALS_INIT;
    const struct login_form *form = login_form(agent->name);
    if (!login_file(&path, agent, false, config, err) || !credfile_open(&f, path, err) ||
        !credfile_read(&file, &f, err) || !credentials_read(&c, form, file, err))
        return false;
    buf_addf(out, "%s stays outside of the box; %s", path,
             c.refresh ? "Headgate renews it under the program's own lock"
                       : "it cannot be renewed");
    add_end(out, &c);
    return true;
}
