#include "runner/login/credentials.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runner/base/b64.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

void credentials_release(struct credentials *c)
{
    free_secret(&c->access);
    free_secret(&c->refresh);
    free(c->account);
    free(c->client);
    free(c->scope);
    *c = (struct credentials)CREDENTIALS_INIT;
}

/* What a header can carry without changing its meaning. */
static bool is_token(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return len > 0 && len <= CREDENTIALS_TOKEN_BYTES;
}

static char *dup_token(const char *text)
{
    return is_token(text) ? xstrdup(text) : NULL;
}

/* ---- Claude Code: {"claudeAiOauth":{accessToken, refreshToken, expiresAt, scopes, ...}} ---- */

#define CLAUDE_CLIENT "9d1c250a-e61b-44d9-88ed-5944d1962f5e"

static char *join_words(const json_t *words)
{
    AUTO_BUF struct buf out = BUF_INIT;
    size_t i;
    const json_t *word;
    json_array_foreach(words, i, word)
    {
        if (json_is_string(word))
            buf_addf(&out, "%s%s", out.len ? " " : "", json_string_value(word));
    }
    return out.len ? buf_steal(&out) : NULL;
}

static json_t *split_words(const char *text)
{
    json_t *words = json_array();
    while (*text) {
        size_t len = strcspn(text, " ");
        if (len)
            json_array_append_new(words, json_stringn(text, len));
        text += len + strspn(text + len, " ");
    }
    return words;
}

static bool claude_read(struct credentials *ret, const json_t *file, struct err *err)
{
    const json_t *login = jx_obj(file, "claudeAiOauth");
    if (!login)
        return err_set(err, ERR_FORMAT, "it holds no login of Claude Code");
    *ret = (struct credentials){.access = dup_token(jx_str(login, "accessToken", NULL)),
                                .refresh = dup_token(jx_str(login, "refreshToken", NULL)),
                                .client = xstrdup(jx_str(login, "clientId", CLAUDE_CLIENT)),
                                .scope = join_words(jx_arr(login, "scopes")),
                                .expires_ms = jx_int(login, "expiresAt", 0)};
    return true;
}

static void claude_ask(json_t *body, const struct credentials *c)
{
    if (c->scope)
        jx_set_str(body, "scope", c->scope);
}

static void claude_rewrite(json_t *file, const struct credentials *renewed, const json_t *answer,
                           int64_t now_ms)
{
    json_t *login = jx_obj(file, "claudeAiOauth");
    int64_t refresh_s = jx_int(answer, "refresh_token_expires_in", 0);
    jx_set_str(login, "accessToken", renewed->access);
    jx_set_str(login, "refreshToken", renewed->refresh);
    jx_set_int(login, "expiresAt", renewed->expires_ms);
    if (refresh_s > 0 && refresh_s < INT32_MAX)
        jx_set_int(login, "refreshTokenExpiresAt", now_ms + refresh_s * 1000);
    if (jx_str(answer, "scope", NULL))
        jx_set(login, "scopes", split_words(jx_str(answer, "scope", "")));
}

/* ---- Codex: {"tokens":{id_token, access_token, refresh_token, account_id}, "last_refresh"} ----
 */

#define CODEX_CLIENT "app_EMoamEEZ73f0CkXaXp7hrann"

/* `exp` of a JSON web token, ms; 0: it is none, or says nothing. Not verified: it is the person's
 * own. */
static int64_t jwt_expires_ms(const char *token)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_BUF struct buf payload = BUF_INIT;
    AUTO_JSON json_t *claims = NULL;
    const char *dot = token ? strchr(token, '.') : NULL;
    if (!dot)
        return 0;
    for (const char *p = dot + 1; *p && *p != '.'; p++)
        buf_addch(&text, *p == '-' ? '+' : *p == '_' ? '/' : *p);
    while (text.len % 4)
        buf_addch(&text, '=');
    if (!b64_decode(&payload, text.ptr, text.len, &err) ||
        !jx_parse(&claims, payload.ptr, payload.len, &err))
        return 0;
    int64_t exp = jx_int(claims, "exp", 0);
    return exp > 0 && exp < INT64_MAX / 1000 ? exp * 1000 : 0;
}

static bool codex_read(struct credentials *ret, const json_t *file, struct err *err)
{
    const json_t *tokens = jx_obj(file, "tokens");
    if (!tokens)
        return err_set(err, ERR_FORMAT, "it holds no login of ChatGPT");
    const char *access = jx_str(tokens, "access_token", NULL);
    *ret = (struct credentials){.access = dup_token(access),
                                .refresh = dup_token(jx_str(tokens, "refresh_token", NULL)),
                                .account = dup_token(jx_str(tokens, "account_id", NULL)),
                                .client = xstrdup(CODEX_CLIENT),
                                .expires_ms = jwt_expires_ms(access)};
    return true;
}

static void codex_rewrite(json_t *file, const struct credentials *renewed, const json_t *answer,
                          int64_t now_ms)
{
    json_t *tokens = jx_obj(file, "tokens");
    time_t now = (time_t)(now_ms / 1000);
    struct tm tm;
    char text[40];
    jx_set_str(tokens, "access_token", renewed->access);
    jx_set_str(tokens, "refresh_token", renewed->refresh);
    if (is_token(jx_str(answer, "id_token", NULL)))
        jx_set_str(tokens, "id_token", jx_str(answer, "id_token", NULL));
    if (gmtime_r(&now, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0)
        jx_set_str(file, "last_refresh", text);
}

/* ---- all ---- */

static const char *const claude_spent[] = {"invalid_grant", NULL};
static const char *const codex_spent[] = {"refresh_token_expired", "refresh_token_reused",
                                          "refresh_token_invalidated", "invalid_grant", NULL};

static const struct login_form forms[] = {
    {.agent = "claude",
     .title = "Claude Code",
     .again = "claude auth login",
     .issuer = "https://platform.claude.com/v1/oauth/token",
     .home_env = "CLAUDE_CONFIG_DIR",
     .home = ".claude",
     .file = ".credentials.json",
     .has_folder_locks = true,
     .spent = claude_spent,
     .read = claude_read,
     .ask = claude_ask,
     .rewrite = claude_rewrite},
    {.agent = "codex",
     .title = "Codex",
     .again = "codex login",
     .issuer = "https://auth.openai.com/oauth/token",
     .home_env = "CODEX_HOME",
     .home = ".codex",
     .file = "auth.json",
     .indent = 2,
     .spent = codex_spent,
     .read = codex_read,
     .rewrite = codex_rewrite},
};

const struct login_form *login_form(const char *agent)
{
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (strcmp(forms[i].agent, agent) == 0)
            return &forms[i];
    return NULL;
}

char *login_default_file(const struct login_form *form, const char *home,
                         const char *(*env_get)(const void *arg, const char *name), const void *arg)
{
    const char *folder = env_get(arg, form->home_env);
    AUTO_FREE char *own = fs_join(home, form->home);
    return fs_join(folder && folder[0] ? folder : own, form->file);
}

bool credentials_read(struct credentials *ret, const struct login_form *form, const json_t *file,
                      struct err *err)
{
    AUTO_CREDENTIALS struct credentials c = CREDENTIALS_INIT;
    if (!form->read(&c, file, err))
        return err_prefix(err, "log in with `%s` first", form->again);
    if (!c.access)
        return err_set(err, ERR_FORMAT, "log in with `%s` first: it holds no access token",
                       form->again);
    if (c.expires_ms < 0)
        c.expires_ms = 0;
    *ret = c;
    c = (struct credentials)CREDENTIALS_INIT;
    return true;
}

void credentials_ask(struct buf *out, const struct login_form *form, const struct credentials *c)
{
    AUTO_JSON json_t *body = json_object();
    jx_set_str(body, "grant_type", "refresh_token");
    jx_set_str(body, "refresh_token", c->refresh);
    jx_set_str(body, "client_id", c->client);
    if (form->ask)
        form->ask(body, c);
    jx_dump(out, body);
}

bool credentials_renew(struct credentials *ret, json_t *file, const struct login_form *form,
                       const struct credentials *old, const json_t *answer, int64_t now_ms,
                       struct err *err)
{
    const char *access = jx_str(answer, "access_token", NULL),
               *refresh = jx_str(answer, "refresh_token", old->refresh);
    int64_t lives_s = jx_int(answer, "expires_in", 0);
    if (!is_token(access) || !is_token(refresh))
        return err_set(err, ERR_FORMAT, "the issuer's answer holds no token");
    const struct credentials renewed = {
        .access = (char *)(uintptr_t)access,
        .refresh = (char *)(uintptr_t)refresh,
        .expires_ms = lives_s > 0 && lives_s < INT32_MAX ? now_ms + lives_s * 1000 : 0};
    form->rewrite(file, &renewed, answer, now_ms);
    return credentials_read(ret, form, file, err);
}

/* {"error":"word"}, {"error":{"code":"word"}}, {"error":{"type":"word"}} */
static const char *error_word(const json_t *answer)
{
    const json_t *error = jx_obj(answer, "error");
    return error ? jx_str(error, "code", jx_str(error, "type", ""))
                 : jx_str(answer, "error", jx_str(answer, "code", ""));
}

bool credentials_is_spent(const struct login_form *form, int status, const json_t *answer)
{
    if (status != 400 && status != 401)
        return false;
    for (size_t i = 0; form->spent[i]; i++)
        if (strcmp(error_word(answer), form->spent[i]) == 0)
            return true;
    return false;
}

void credentials_dump(struct buf *out, const struct login_form *form, const json_t *file)
{
    size_t flags = form->indent ? JSON_INDENT(form->indent) : JSON_COMPACT;
    char *text = json_dumps(file, flags);
    buf_adds(out, text);
    explicit_bzero(text, strlen(text));
    free(text);
}
