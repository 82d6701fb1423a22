#include "runner/server/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/config.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

#define FILE_NAME ".headgate"

void setup_release(struct setup *s)
{
    free(s->command);
    free(s->teardown);
    free(s->ladder);
    strv_release(&s->notes);
    strv_release(&s->rules);
    *s = (struct setup)SETUP_INIT;
}

static void visit(const char *key, const char *value, void *arg)
{
    struct setup *s = arg;
    char **member = strcmp(key, "worktree.setup") == 0      ? &s->command
                    : strcmp(key, "worktree.teardown") == 0 ? &s->teardown
                    : strcmp(key, "gate.ladder") == 0       ? &s->ladder
                                                            : NULL;
    if (strcmp(key, "gate.rule") == 0) {
        strv_push(&s->rules, value);
        return;
    }
    if (!member) {
        strv_pushf(&s->notes,
                   FILE_NAME " of the repository sets %s, which a repository may not set: ignored",
                   key);
        return;
    }
    free(*member);
    *member = xstrdup(value);
}

/* A symlink is not followed: the file is the repository's own or it is none. */
static bool read_bytes(struct buf *out, bool *ret_exists, const char *toplevel, struct err *err)
{
    AUTO_FD int dirfd = fs_open_dir(AT_FDCWD, toplevel, err);
    if (dirfd < 0)
        return false;
    struct err why = ERR_INIT;
    AUTO_FD int fd = fs_open_beneath(dirfd, FILE_NAME, O_RDONLY | O_NONBLOCK, 0, &why);
    *ret_exists = fd >= 0;
    if (fd < 0 && why.sys_errno == ELOOP)
        return err_set(err, ERR_USAGE,
                       FILE_NAME
                       " of the repository is a link, which is not followed; put the file "
                       "itself there, or go without it: --consent none");
    if (fd < 0 && why.sys_errno != ENOENT) {
        *err = why;
        return false;
    }
    return fd < 0 || fs_read_fd(out, fd, LIMIT_CONFIG_BYTES, err) ||
           err_prefix(err, FILE_NAME " of the repository");
}

/* A repository may deny and ask, for the runs that start from it; nothing else. */
static bool check_rule(struct strv *out, const char *text, struct err *err)
{
    AUTO_RULE struct rule rule = RULE_INIT;
    AUTO_BUF struct buf canonical = BUF_INIT;
    if (!rule_parse(&rule, text, err))
        return err_prefix(err, FILE_NAME " of the repository: gate.rule");
    if (rule.effect == RULE_ALLOW || rule.scope != RULE_ALWAYS)
        return err_set(err, ERR_USAGE,
                       FILE_NAME
                       " of the repository: gate.rule = %.200s: a repository's rule denies or "
                       "asks, and names no scope",
                       text);
    rule_text(&canonical, &rule);
    strv_push(out, canonical.ptr);
    return true;
}

static bool check_rules(struct setup *s, struct err *err)
{
    AUTO_STRV struct strv canonical = STRV_INIT;
    for (size_t i = 0; i < s->rules.n; i++)
        if (!check_rule(&canonical, s->rules.v[i], err))
            return false;
    strv_release(&s->rules);
    s->rules = canonical;
    canonical = (struct strv)STRV_INIT;
    return true;
}

bool setup_read(struct setup *ret, const char *toplevel, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT;
    AUTO_CONFIG struct config *config = NULL;
    bool exists;
    if (!read_bytes(&bytes, &exists, toplevel, err))
        return false;
    if (!exists)
        return true;
    if (!config_parse(&config, bytes.ptr, bytes.len, FILE_NAME " of the repository", err))
        return false;
    digest_bytes(ret->digest, bytes.ptr, bytes.len);
    config_each(config, visit, ret);
    return check_rules(ret, err);
}

bool setup_asks(const struct setup *s)
{
    return s->command || s->teardown || s->ladder || s->rules.n > 0;
}

static void describe_command(struct buf *out, const char *command, const char *when)
{
    enum { COMMAND_COLUMNS = 200 };
    AUTO_FREE char *clean = command ? text_clean(command) : NULL;
    if (!clean)
        return;
    if (out->len > 0)
        buf_adds(out, ", and for ");
    buf_addf(out, "a command that runs in each box %s: ", when);
    text_add_brief(out, clean, COMMAND_COLUMNS);
}

static void describe_rules(struct buf *out, const struct strv *list)
{
    enum { RULES_COLUMNS = 300 };
    AUTO_BUF struct buf rules = BUF_INIT;
    for (size_t i = 0; i < list->n; i++)
        buf_addf(&rules, "%s%s", i ? "; " : "", list->v[i]);
    if (list->n == 0)
        return;
    AUTO_FREE char *clean = text_clean(rules.ptr);
    if (out->len > 0)
        buf_adds(out, ", and for ");
    buf_adds(out, list->n == 1 ? "the rule '" : "the rules '");
    text_add_brief(out, clean, RULES_COLUMNS);
    buf_adds(out, "'");
}

void setup_describe(struct buf *out, const struct setup *s)
{
    if (s->ladder)
        buf_addf(out, "the rung '%.16s'", s->ladder);
    describe_rules(out, &s->rules);
    describe_command(out, s->command, "first");
    describe_command(out, s->teardown, "last");
}

bool setup_tighten(enum ladder *ladder, struct buf *why, const struct setup *s, struct err *err)
{
    enum ladder wanted;
    if (!ladder_parse(&wanted, s->ladder, err))
        return err_prefix(err, FILE_NAME " of the repository: gate.ladder");
    if (wanted >= *ladder) /* confirm, edits, auto: later is looser */
        return true;
    *ladder = wanted;
    buf_clear(why);
    buf_adds(why, FILE_NAME " of the repository asks for it");
    return true;
}
