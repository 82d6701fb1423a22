#include "gate/broker.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gate/broker_table.h"
#include "gate/shellscan.h"
#include "gate/shellwords.h"
#include "runner/base/mem.h"

enum { REF_BYTES = 200, WORDS_MAX = 64, WORDS_BYTES = 128 * 1024 };

static const char why_person[] =
    "would publish a package with a person's credentials, which no box has: Headgate does not "
    "carry "
    "that out; tell the person what to publish, and that it is done outside of the box";

/* Commands that publish packages, by their words. */
static const char *const publishing[][3] = {
    {"npm", "publish"},          {"pnpm", "publish"},
    {"yarn", "publish"},         {"yarn", "npm", "publish"},
    {"bun", "publish"},          {"jsr", "publish"},
    {"cargo", "publish"},        {"gem", "push"},
    {"twine", "upload"},         {"poetry", "publish"},
    {"flit", "publish"},         {"hatch", "publish"},
    {"pdm", "publish"},          {"uv", "publish"},
    {"mvn", "deploy"},           {"gradle", "publish"},
    {"dotnet", "nuget", "push"}, {"helm", "push"},
};

void broker_act_release(struct broker_act *act)
{
    strv_release(&act->options);
    strv_release(&act->operands);
    free(act->words);
    free(act->dir);
    free(act->remote);
    free(act->src);
    free(act->dst);
    free(act->repo);
    *act = (struct broker_act)BROKER_ACT_INIT;
}

const char *broker_publishes(char *const *argv, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(publishing); i++) {
        const char *const *words = publishing[i];
        /* The words of a table are only read. */
        if (shellscan_starts(argv, n, (char *const *)(uintptr_t)words, words[2] ? 3 : 2))
            return why_person;
    }
    return NULL;
}

bool broker_is_branch(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > REF_BYTES || strchr("-/.", name[0]) || strchr("/.", name[len - 1]) ||
        strcmp(name, "@") == 0 || strcmp(name, "HEAD") == 0 || strstr(name, "..") ||
        strstr(name, "//") || strstr(name, "/.") || strstr(name, "@{") || strstr(name, ".lock/") ||
        (len >= 5 && strcmp(name + len - 5, ".lock") == 0))
        return false;
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 127 || strchr("~^:?*[\\", *p))
            return false;
    return !shellwords_unreadable(name, len);
}

/* ---- words ---- */

struct reader {
    const struct broker_command *c;
    struct broker_act *act;
    char *const *argv;
    size_t n, at;
    struct strv operands;
};

static bool refuse_option(const struct reader *r, const char *name, size_t len, struct err *err)
{
    return err_set(err, ERR_REFUSED, "%.*s is not carried out with %s: %s",
                   (int)(len < 80 ? len : 80), name, r->act->words,
                   broker_option_advice(r->c, name, len));
}

static bool take_lease(struct reader *r, const char *value, struct err *err)
{
    const char *colon = strchr(value, ':');
    AUTO_FREE char *branch = xstrndup(value, colon ? (size_t)(colon - value) : 0);
    size_t digits = colon ? strspn(colon + 1, "0123456789abcdef") : 0;
    if (!colon || !broker_is_branch(branch) || (digits != 40 && digits != 64) || colon[1 + digits])
        return err_set(err, ERR_REFUSED,
                       "a forced push names the branch and the whole name of the commit that it "
                       "replaces: --force-with-lease=BRANCH:COMMIT");
    strv_pushf(&r->act->options, "--force-with-lease=%s", value);
    return true;
}

static bool take_repo(struct reader *r, const char *value, struct err *err)
{
    if (r->act->repo)
        return err_set(err, ERR_USAGE, "--repo is given twice");
    r->act->repo = xstrdup(value);
    return true;
}

/* The filter of gh reads its environment (env, $ENV), and there the login is. A jq program can name
 * these only as they stand. */
static bool check_filter(const char *value, struct err *err)
{
    return (!strstr(value, "env") && !strstr(value, "ENV")) ||
           err_set(
               err, ERR_REFUSED,
               "a --jq filter with 'env' in it is not carried out, since it could print the login; "
               "use --json alone and filter here");
}

/* name is "--limit" or "-L". */
static bool take_value(struct reader *r, const char *name, size_t len, const char *value,
                       struct err *err)
{
    bool is_git = strcmp(r->c->words[0], "git") == 0;
    if (!is_git && broker_lists("--repo -R", name, len))
        return take_repo(r, value, err);
    if (broker_lists("--force-with-lease", name, len))
        return take_lease(r, value, err);
    if (!is_git && broker_lists("--jq -q", name, len) && !check_filter(value, err))
        return false;
    if (len > 2) {
        strv_pushf(&r->act->options, "%.*s=%s", (int)len, name, value);
        return true;
    }
    strv_push_n(&r->act->options, name, len);
    strv_push(&r->act->options, value);
    return true;
}

static bool takes_value(const struct reader *r, const char *name, size_t len)
{
    return broker_lists(r->c->values, name, len) ||
           (strcmp(r->c->words[0], "git") != 0 && broker_lists("--repo -R", name, len));
}

static void take_flag(struct reader *r, const char *name, size_t len)
{
    bool is_push = r->c->kind == BROKER_PUSH;
    if (is_push && broker_lists("-u --set-upstream", name, len))
        r->act->sets_upstream = true; /* done in the box: the person's branches are their own */
    else
        strv_push_n(&r->act->options, name, len);
    if (is_push && broker_lists("-n --dry-run", name, len))
        r->act->is_dry = true;
}

/* The value of an option that is the last word, or of the next. */
static bool next_value(struct reader *r, const char *name, size_t len, struct err *err)
{
    if (r->at + 1 >= r->n)
        return err_set(err, ERR_USAGE, "%.*s needs a value", (int)len, name);
    return take_value(r, name, len, r->argv[++r->at], err);
}

static bool read_long(struct reader *r, const char *word, struct err *err)
{
    size_t len = strcspn(word, "=");
    const char *value = word[len] ? word + len + 1 : NULL;
    bool may_stand_alone =
        broker_lists(r->c->flags, word, len) || broker_lists(r->c->maybes, word, len);
    if (!value && may_stand_alone) {
        take_flag(r, word, len);
        return true;
    }
    if (value && broker_lists(r->c->maybes, word, len))
        return take_value(r, word, len, value, err);
    if (!takes_value(r, word, len))
        return refuse_option(r, word, len, err);
    /* Of this one git takes no next word. */
    if (!value && broker_lists("--force-with-lease", word, len))
        return take_lease(r, "", err);
    return value ? take_value(r, word, len, value, err) : next_value(r, word, len, err);
}

/* -qv, -ofoo, -L 30. */
static bool read_short(struct reader *r, const char *word, struct err *err)
{
    for (const char *p = word + 1; *p; p++) {
        const char name[] = {'-', *p, '\0'};
        if (takes_value(r, name, 2))
            return p[1] ? take_value(r, name, 2, p + 1 + (p[1] == '='), err)
                        : next_value(r, name, 2, err);
        if (!broker_lists(r->c->flags, name, 2))
            return refuse_option(r, name, 2, err);
        take_flag(r, name, 2);
    }
    return true;
}

static bool read_words(struct reader *r, struct err *err)
{
    bool is_over = false; /* behind -- */
    for (; r->at < r->n; r->at++) {
        const char *word = r->argv[r->at];
        bool is_option = !is_over && word[0] == '-' && word[1];
        if (is_option && strcmp(word, "--") == 0)
            is_over = true;
        else if (!is_option)
            strv_push(&r->operands, word);
        else if (!(word[1] == '-' ? read_long(r, word, err) : read_short(r, word, err)))
            return false;
    }
    return true;
}

/* ---- what the operands mean ---- */

static bool read_refspec(struct broker_act *act, const char *text, struct err *err)
{
    static const char heads[] = "refs/heads/";
    const char *colon = strchr(text, ':');
    AUTO_FREE char *src = xstrndup(text, colon ? (size_t)(colon - text) : strlen(text));
    const char *dst = colon ? colon + 1 : NULL;
    if (text[0] == '+')
        return err_set(err, ERR_REFUSED,
                       "a forced push names the branch and the commit that it replaces: "
                       "--force-with-lease=BRANCH:COMMIT");
    if (!src[0])
        return err_set(err, ERR_REFUSED, "branches are deleted by a person");
    const char *name = strncmp(src, heads, sizeof(heads) - 1) == 0 ? src + sizeof(heads) - 1 : src;
    bool is_head = strcmp(src, "HEAD") == 0 || strcmp(src, "@") == 0;
    if (!is_head && (!broker_is_branch(name) || (name == src && strncmp(src, "refs/", 5) == 0)))
        return err_set(err, ERR_REFUSED,
                       "what is pushed is HEAD or a branch of this attempt, by its name; tags and "
                       "other refs are pushed by a person");
    act->src = xstrdup(is_head ? "HEAD" : name);
    if (!dst)
        dst = is_head ? NULL : name;
    if (!dst)
        return true;
    const char *branch =
        strncmp(dst, heads, sizeof(heads) - 1) == 0 ? dst + sizeof(heads) - 1 : dst;
    if (!broker_is_branch(branch) || (branch == dst && strncmp(dst, "refs/", 5) == 0))
        return err_set(err, ERR_REFUSED, "a push goes to a branch, by its name");
    act->dst = xasprintf("%s%s", heads, branch);
    return true;
}

static bool is_remote_name(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > REF_BYTES || name[0] == '-' || strstr(name, ".."))
        return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               len &&
           name[0] != '.';
}

static bool read_git(struct reader *r, struct err *err)
{
    struct broker_act *act = r->act;
    for (size_t i = 1; i < r->operands.n; i++)
        strv_push(&act->operands, r->operands.v[i]);
    if (r->operands.n > 0) {
        if (!is_remote_name(r->operands.v[0]))
            return err_set(err, ERR_REFUSED, "a remote is named by its name, as 'origin'");
        act->remote = xstrdup(r->operands.v[0]);
    }
    if (act->operands.n > r->c->max_operands)
        return err_set(err, ERR_REFUSED,
                       act->kind == BROKER_PUSH ? "a push is of one branch; push them one by one"
                                                : "there are too many words");
    for (size_t i = 0; i < act->operands.n; i++)
        if (shellwords_unreadable(act->operands.v[i], strlen(act->operands.v[i])) ||
            act->operands.v[i][0] == '-')
            return err_set(err, ERR_REFUSED, "a word behind the remote holds odd characters");
    if (act->kind != BROKER_PUSH)
        return true;
    if (act->operands.n == 0) {
        act->src = xstrdup("HEAD");
        return true;
    }
    return read_refspec(act, act->operands.v[0], err);
}

/* An operand of gh and glab is a number or a branch; an address would name a repository of its own.
 */
static bool read_other(struct reader *r, struct err *err)
{
    struct broker_act *act = r->act;
    if (r->operands.n > r->c->max_operands)
        return err_set(err, ERR_USAGE, "'%.80s' is one word too many",
                       r->operands.v[r->c->max_operands]);
    for (size_t i = 0; i < r->operands.n; i++) {
        const char *word = r->operands.v[i];
        const char *name = word[0] == '#' || word[0] == '!' ? word + 1 : word;
        if (!broker_is_branch(name) || strstr(name, "://"))
            return err_set(err, ERR_REFUSED, "name it by its number or branch");
        strv_push(&act->operands, word);
    }
    return true;
}

/* ---- the whole ---- */

static bool is_bounded(char *const *argv, size_t n, struct err *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(argv[i]) + 1;
    return (n <= WORDS_MAX && bytes <= WORDS_BYTES) ||
           err_set(err, ERR_LIMIT, "the command is longer than %d words or %d bytes", WORDS_MAX,
                   WORDS_BYTES);
}

static bool refuse_command(char *const *argv, size_t n, struct err *err)
{
    AUTO_BUF struct buf name = BUF_INIT;
    for (size_t i = 0; i < n && i < 3 && (i == 0 || argv[i][0] != '-'); i++)
        buf_addf(&name, "%s%.40s", i ? " " : "", argv[i]);
    return err_set(err, ERR_REFUSED, "%s is not carried out for an agent: %s", name.ptr,
                   broker_command_advice(argv, n));
}

/* Only -C and what means nothing stand before git's subcommand. */
static bool read_globals(struct broker_act *act, char *const *argv, size_t n, struct err *err)
{
    const char *odd, *dir;
    if (strcmp(argv[0], "git") != 0)
        return true;
    broker_git_subcommand(&odd, &dir, argv, n);
    if (odd)
        return err_set(
            err, ERR_REFUSED,
            "git %.80s is not carried out: neither settings nor programs of the box have "
            "an effect on what is done with a person's credentials; leave it out",
            odd);
    act->dir = dir ? xstrdup(dir) : NULL;
    return true;
}

bool broker_read(struct broker_act *ret, char *const *argv, size_t n, struct err *err)
{
    AUTO_BROKER_ACT struct broker_act act = BROKER_ACT_INIT;
    struct reader r = {.act = &act, .argv = argv, .n = n, .operands = STRV_INIT};
    if (n == 0)
        return err_set(err, ERR_USAGE, "no command is named");
    if (broker_publishes(argv, n))
        return err_set(err, ERR_REFUSED, "%.40s %.40s %s", argv[0], argv[1],
                       broker_publishes(argv, n));
    if (!is_bounded(argv, n, err))
        return false;
    r.c = broker_find(&r.at, argv, n);
    if (!r.c)
        return refuse_command(argv, n, err);
    act.kind = r.c->kind;
    act.program = r.c->words[0];
    act.words = xasprintf("%s%s%s", r.c->words[1], r.c->words[2] ? " " : "",
                          r.c->words[2] ? r.c->words[2] : "");
    bool ok = read_globals(&act, argv, n, err) && read_words(&r, err) &&
              (strcmp(act.program, "git") == 0 ? read_git(&r, err) : read_other(&r, err));
    strv_release(&r.operands);
    if (!ok)
        return false;
    *ret = act;
    act = (struct broker_act)BROKER_ACT_INIT;
    return true;
}

/* The first operand, as far as the options are known. NULL: none. */
static const char *first_operand(const struct broker_command *c, char *const *argv, size_t n,
                                 size_t at)
{
    for (; at < n; at++) {
        const char *word = argv[at];
        if (strcmp(word, "--") == 0)
            return at + 1 < n ? argv[at + 1] : NULL;
        if (word[0] != '-')
            return word;
        at +=
            broker_lists(c->values, word, strlen(word)) && strcmp(word, "--force-with-lease") != 0;
    }
    return NULL;
}

bool broker_is_for(char *const *argv, size_t n)
{
    size_t at;
    const struct broker_command *c = broker_find(&at, argv, n);
    if (n == 0)
        return false;
    if (strcmp(argv[0], "gh") == 0 || strcmp(argv[0], "glab") == 0)
        return c || (n > 1 && !broker_lists("--version --help -h help version completion", argv[1],
                                            strlen(argv[1])));
    if (!c)
        return false;
    const char *remote = first_operand(c, argv, n, at);
    for (size_t i = at; i < n; i++)
        if (strcmp(argv[i], "--help") == 0)
            return false;
    return !remote || !(strpbrk(remote, ":/") || remote[0] == '.');
}

bool broker_needs_person(const struct broker_act *act)
{
    return act->kind == BROKER_PUSH || act->kind == BROKER_WRITE;
}

char *broker_tool(const struct broker_act *act)
{
    return xasprintf("%s %s", act->program, act->words);
}
