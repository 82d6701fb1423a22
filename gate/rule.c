#include "gate/rule.h"

#include <stdlib.h>
#include <string.h>

#include "gate/host.h"
#include "runner/base/mem.h"

static const char form[] = "a rule is EFFECT WHAT VALUE... [for AGENT] [in SCOPE], as in "
                           "'allow command git status'";

static const char *const effect_names[] = {
    [RULE_ALLOW] = "allow", [RULE_ASK] = "ask", [RULE_DENY] = "deny"};
static const char *const what_names[] = {
    [RULE_COMMAND] = "command", [RULE_EXACTLY] = "exactly", [RULE_PATH] = "path",
    [RULE_HOST] = "host",       [RULE_TOOL] = "tool",       [RULE_EXEC] = "exec"};
static const char *const scope_names[] = {
    [RULE_ALWAYS] = "always", [RULE_REPO] = "repo", [RULE_RUN] = "run", [RULE_ATTEMPT] = "attempt"};

/* Words of a rule's text. A quoted word is never one of the grammar's own. */
struct words {
    struct strv text;
    bool is_quoted[RULE_WORDS_MAX];
};

void rule_release(struct rule *r)
{
    strv_release(&r->value);
    free(r->agent);
    free(r->subagent);
    free(r->scope_value);
    *r = (struct rule)RULE_INIT;
}

const char *rule_effect_name(enum rule_effect effect)
{
    return effect_names[effect];
}

static bool find_name(size_t *ret, const char *const *names, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

static bool is_word(const struct words *w, size_t i, const char *word)
{
    return !w->is_quoted[i] && strcmp(w->text.v[i], word) == 0;
}

static bool add_word(struct words *w, const char *text, size_t len, bool is_quoted, struct err *err)
{
    if (w->text.n == RULE_WORDS_MAX)
        return err_set(err, ERR_USAGE, "a rule has at most %d words", RULE_WORDS_MAX);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return err_set(err, ERR_USAGE, "a rule holds no control characters");
    w->is_quoted[w->text.n] = is_quoted;
    strv_push_n(&w->text, text, len);
    return true;
}

/* Take one word at *at: bare characters, '...', "..." and \c. */
static bool take_word(struct words *w, const char **at, struct err *err)
{
    AUTO_BUF struct buf word = BUF_INIT;
    bool is_quoted = false;
    const char *p = *at;
    char quote = '\0';
    for (; *p && (quote || *p != ' '); p++) {
        bool is_escape = *p == '\\' && quote != '\'' && p[1];
        if (is_escape || *p == '\'' || *p == '"')
            is_quoted = true;
        if (is_escape)
            buf_addch(&word, *++p);
        else if (quote ? *p == quote : (*p == '\'' || *p == '"'))
            quote = quote ? '\0' : *p;
        else
            buf_addch(&word, *p);
    }
    *at = p;
    if (quote)
        return err_set(err, ERR_USAGE, "a quote in the rule has no end");
    return add_word(w, word.ptr, word.len, is_quoted, err);
}

static bool take_words(struct words *w, const char *text, struct err *err)
{
    if (strlen(text) > RULE_TEXT_BYTES)
        return err_set(err, ERR_USAGE, "a rule has at most %d bytes", RULE_TEXT_BYTES);
    for (const char *at = text; *at;) {
        if (*at == ' ')
            at++;
        else if (!take_word(w, &at, err))
            return false;
    }
    return true;
}

/* The number of words that a scope at the end takes, `in` included; 0: none. */
static size_t scope_length(const struct words *w, size_t end, enum rule_scope *ret)
{
    size_t scope;
    if (end >= 2 && is_word(w, end - 2, "in") && !w->is_quoted[end - 1] &&
        find_name(&scope, scope_names, ARRAY_LEN(scope_names), w->text.v[end - 1]) &&
        (scope == RULE_ALWAYS || scope == RULE_REPO)) {
        *ret = (enum rule_scope)scope;
        return 2;
    }
    if (end >= 3 && is_word(w, end - 3, "in") && !w->is_quoted[end - 2] &&
        find_name(&scope, scope_names, ARRAY_LEN(scope_names), w->text.v[end - 2]) &&
        scope != RULE_ALWAYS) {
        *ret = (enum rule_scope)scope;
        return 3;
    }
    return 0;
}

/* KIND, or KIND and the type of a subagent behind a slash; `*` is every kind. */
static bool take_agent(struct rule *r, const char *word, struct err *err)
{
    size_t len = strcspn(word, "/");
    if (len == 0 || (word[len] && !word[len + 1]))
        return err_set(err, ERR_USAGE, "the agent behind 'for' is empty");
    if (len != 1 || word[0] != '*')
        r->agent = xstrndup(word, len);
    if (word[len])
        r->subagent = xstrdup(word + len + 1);
    return true;
}

/* Take `for AGENT` and `in SCOPE` from the end; *end is where the value ends. */
static bool take_tail(struct rule *r, const struct words *w, size_t *end, struct err *err)
{
    size_t scope = scope_length(w, *end, &r->scope);
    if (scope == 3)
        r->scope_value = xstrdup(w->text.v[*end - 1]);
    *end -= scope;
    if (*end >= 2 && is_word(w, *end - 2, "for")) {
        *end -= 2;
        if (!take_agent(r, w->text.v[*end + 1], err))
            return false;
    }
    if (r->scope_value && !r->scope_value[0])
        return err_set(err, ERR_USAGE, "the scope behind 'in' is empty");
    return true;
}

static bool has_dotdot(const char *path)
{
    for (; *path; path += strcspn(path, "/"), path += *path == '/')
        if (strcspn(path, "/") == 2 && path[0] == '.' && path[1] == '.')
            return true;
    return false;
}

/* As the kernel tells where a file is: from the root, each part once. */
static bool is_whole_path(const char *path)
{
    for (const char *part = path; *part; part += strcspn(part, "/")) {
        if (*part != '/')
            return false;
        size_t len = strcspn(++part, "/");
        if (len == 0 || (part[0] == '.' && (len == 1 || (len == 2 && part[1] == '.'))))
            return false;
    }
    return true;
}

static bool check_value(const struct rule *r, struct err *err)
{
    if (r->value.n == 0)
        return err_set(err, ERR_USAGE, "there is no value behind '%s %s'; %s",
                       effect_names[r->effect], what_names[r->what], form);
    const char *first = r->value.v[0];
    if (!first[0])
        return err_set(err, ERR_USAGE, "the value behind '%s' is empty", what_names[r->what]);
    bool takes_words = r->what == RULE_COMMAND || r->what == RULE_EXACTLY;
    if (!takes_words && r->value.n > 1)
        return err_set(err, ERR_USAGE, "'%s' is one word too many behind '%s %s'; %s",
                       r->value.v[1], what_names[r->what], first, form);
    struct host_pattern pattern;
    if (r->what == RULE_HOST && !host_pattern_parse(&pattern, first, err)) {
        err->code = ERR_USAGE;
        return false;
    }
    if ((r->what == RULE_HOST || r->what == RULE_EXEC) && r->subagent)
        return err_set(
            err, ERR_USAGE,
            "'for %s/%s' cannot go with %s: neither a connection nor a program tells which "
            "subagent it is of",
            r->agent ? r->agent : "*", r->subagent, what_names[r->what]);
    if (r->what == RULE_HOST && strpbrk(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        return err_set(err, ERR_USAGE, "write the host '%s' in lower case", first);
    if (takes_words && r->effect == RULE_ALLOW && strchr(first, '/'))
        return err_set(
            err, ERR_USAGE,
            "'%s' names a program by its path, where an agent may put another one; allow "
            "its bare name",
            first);
    if (r->what == RULE_PATH && has_dotdot(first))
        return err_set(err, ERR_USAGE, "the path '%s' holds '..'; write it from the worktree's top",
                       first);
    return true;
}

static bool take_value(struct rule *r, const struct words *w, size_t end, struct err *err)
{
    for (size_t i = 2; i < end; i++) {
        if (is_word(w, i, "for") || is_word(w, i, "in"))
            return err_set(
                err, ERR_USAGE,
                "what follows '%s' is neither an agent nor one of run R, attempt R.N, repo, "
                "always; write \"'%s'\" if it is a word of the command",
                w->text.v[i], w->text.v[i]);
        strv_push(&r->value, w->text.v[i]);
    }
    return check_value(r, err);
}

static bool from_words(struct rule *ret, const struct words *w, struct err *err)
{
    AUTO_RULE struct rule r = RULE_INIT;
    size_t effect, what, end = w->text.n;
    if (end == 0)
        return err_set(err, ERR_USAGE, "the rule is empty; %s", form);
    if (!find_name(&effect, effect_names, ARRAY_LEN(effect_names), w->text.v[0]))
        return err_set(err, ERR_USAGE, "'%s' is none of allow, ask, deny; %s", w->text.v[0], form);
    if (end < 2 || !find_name(&what, what_names, ARRAY_LEN(what_names), w->text.v[1]))
        return err_set(err, ERR_USAGE,
                       "'%s' is none of command, exactly, path, host, tool, exec; %s",
                       end < 2 ? "" : w->text.v[1], form);
    r.effect = (enum rule_effect)effect;
    r.what = (enum rule_what)what;
    if (!take_tail(&r, w, &end, err) || !take_value(&r, w, end, err))
        return false;
    *ret = r;
    r = (struct rule)RULE_INIT;
    return true;
}

bool rule_can_meet(const struct rule *r, struct err *err)
{
    const char *first = r->value.v[0];
    if (r->what != RULE_EXEC || !strchr(first, '/') || is_whole_path(first))
        return true;
    return err_set(err, ERR_USAGE,
                   "no program has the path '%s'; write its whole path as the box sees it (from /, "
                   "without '.', '..' and links), or its name alone",
                   first);
}

bool rule_parse(struct rule *ret, const char *text, struct err *err)
{
    struct words w = {.text = STRV_INIT};
    bool ok = take_words(&w, text, err) && from_words(ret, &w, err);
    strv_release(&w.text);
    return ok;
}

bool rule_parse_words(struct rule *ret, char *const *words, size_t n, struct err *err)
{
    if (n == 1)
        return rule_parse(ret, words[0], err);
    struct words w = {.text = STRV_INIT};
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = add_word(&w, words[i], strlen(words[i]), false, err);
    ok = ok && from_words(ret, &w, err);
    strv_release(&w.text);
    return ok;
}

/* Bare when it reads back as one value word, else in single quotes. */
static void add_text_word(struct buf *out, const char *word)
{
    buf_addch(out, ' ');
    bool is_bare =
        word[0] && !strpbrk(word, " '\"\\") && strcmp(word, "for") != 0 && strcmp(word, "in") != 0;
    if (is_bare) {
        buf_adds(out, word);
        return;
    }
    buf_addch(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_adds(out, "'\\''");
        else
            buf_addch(out, *word);
    }
    buf_addch(out, '\'');
}

void rule_text(struct buf *out, const struct rule *r)
{
    buf_addf(out, "%s %s", effect_names[r->effect], what_names[r->what]);
    for (size_t i = 0; i < r->value.n; i++)
        add_text_word(out, r->value.v[i]);
    if (r->agent || r->subagent) {
        AUTO_FREE char *who = xasprintf("%s%s%s", r->agent ? r->agent : "*", r->subagent ? "/" : "",
                                        r->subagent ? r->subagent : "");
        buf_adds(out, " for");
        add_text_word(out, who);
    }
    if (r->scope == RULE_ALWAYS)
        return;
    buf_addf(out, " in %s", scope_names[r->scope]);
    if (r->scope_value)
        add_text_word(out, r->scope_value);
}
