#include "runner/login/renew.h"

#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/digest.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/login/credfile.h"
#include "runner/login/lock.h"
#include "runner/login/post.h"

enum {
    LOCK_MS = 30 * 1000,
    POST_MS = 20 * 1000, /* to connect, and to answer: less than the locks live */
    WRITE_MS = 10 * 1000,
    STILL_GOOD_MS = 5000, /* what a request needs at least */
};

void login_token_release(struct login_token *t)
{
    credentials_release(&t->credentials);
}

static bool has_digest(const char *text, const char *hex)
{
    char own[DIGEST_HEX_SIZE];
    if (!text || !hex)
        return false;
    digest_bytes(own, text, strlen(text));
    return strcmp(own, hex) == 0;
}

static bool lives_for(const struct credentials *c, const struct login_want *want, int64_t ms)
{
    return !has_digest(c->access, want->refused) &&
           (!c->expires_ms || c->expires_ms - clock_unix_ms() > ms);
}

static bool read_now(struct credentials *ret, json_t **ret_file, struct credfile *f,
                     const struct login_want *want, struct err *err)
{
    AUTO_JSON json_t *file = NULL;
    AUTO_CREDENTIALS struct credentials c = CREDENTIALS_INIT;
    if (!credfile_read(&file, f, err))
        return false;
    if (!credentials_read(&c, want->form, file, err))
        return err_prefix(err, "%s", f->path);
    credentials_release(ret);
    *ret = c;
    c = (struct credentials)CREDENTIALS_INIT;
    if (ret_file)
        *ret_file = steal_json(&file);
    return true;
}

static bool log_in_again(struct err *err, const struct login_want *want, const char *why)
{
    return err_set(err, ERR_REFUSED,
                   "the login of %s in %s cannot be renewed (%s): log in again with `%s`",
                   want->form->title, want->file, why, want->form->again);
}

/* Somebody else wrote the file since: theirs counts. */
static bool is_another(struct credfile *f, const struct login_want *want,
                       const struct credentials *old, struct credentials *ret)
{
    struct err err = ERR_INIT;
    AUTO_CREDENTIALS struct credentials now = CREDENTIALS_INIT;
    if (!read_now(&now, NULL, f, want, &err) || !now.refresh ||
        strcmp(now.refresh, old->refresh) == 0)
        return false;
    credentials_release(ret);
    *ret = now;
    now = (struct credentials)CREDENTIALS_INIT;
    return true;
}

static bool refused(struct login_token *ret, const struct login_want *want, struct credfile *f,
                    int status, const json_t *answer, struct err *err)
{
    AUTO_CREDENTIALS struct credentials theirs = CREDENTIALS_INIT;
    if (is_another(f, want, &ret->credentials, &theirs) &&
        lives_for(&theirs, want, STILL_GOOD_MS)) {
        credentials_release(&ret->credentials);
        ret->credentials = theirs;
        theirs = (struct credentials)CREDENTIALS_INIT;
        return true;
    }
    if (!credentials_is_spent(want->form, status, answer))
        return err_set(err, ERR_FAILED, "the issuer of %s's login answered with HTTP %d",
                       want->form->title, status);
    digest_bytes(ret->spent, ret->credentials.refresh, strlen(ret->credentials.refresh));
    return log_in_again(err, want, "the issuer does not take its refresh token any more");
}

static bool save(struct login_token *ret, const struct login_want *want, struct credfile *f,
                 struct login_lock *lock, json_t *file, const json_t *answer, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_CREDENTIALS struct credentials renewed = CREDENTIALS_INIT, theirs = CREDENTIALS_INIT;
    if (!credentials_renew(&renewed, file, want->form, &ret->credentials, answer, clock_unix_ms(),
                           err))
        return false;
    /* The lock to write is waited for in vain at most: what was renewed must be kept. */
    struct err ignored = ERR_INIT;
    bool has_lock = login_lock_write(lock, want->form, f, clock_mono_ms() + WRITE_MS, &ignored);
    (void)has_lock;
    credentials_dump(&text, want->form, file);
    bool ok = is_another(f, want, &ret->credentials, &theirs) || credfile_commit(f, &text, err);
    explicit_bzero(text.ptr, text.len);
    credentials_release(&ret->credentials);
    ret->credentials = renewed;
    renewed = (struct credentials)CREDENTIALS_INIT;
    ret->is_renewed = true;
    return ok;
}

static bool ask_issuer(struct login_token *ret, const struct login_want *want, struct credfile *f,
                       struct login_lock *lock, json_t *file, struct err *err)
{
    int status = 0;
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf body = BUF_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_JSON json_t *answer = NULL;
    credentials_ask(&body, want->form, &ret->credentials);
    bool ok = post_json(&status, &text, want->issuer ? want->issuer : want->form->issuer, want->ca,
                        &body, POST_MS, err);
    explicit_bzero(body.ptr, body.len);
    if (!ok)
        return err_prefix(err, "the login of %s cannot be renewed now", want->form->title);
    bool is_json = jx_parse(&answer, text.ptr, text.len, &ignored);
    explicit_bzero(text.ptr, text.len);
    if (status == 200 && !is_json)
        return err_set(err, ERR_FORMAT, "the issuer of %s's login does not answer in JSON",
                       want->form->title);
    return status == 200 ? save(ret, want, f, lock, file, answer, err)
                         : refused(ret, want, f, status, answer, err);
}

static bool renew_locked(struct login_token *ret, const struct login_want *want, struct credfile *f,
                         struct err *err)
{
    AUTO_JSON json_t *file = NULL;
    AUTO_LOGIN_LOCK struct login_lock lock = LOGIN_LOCK_INIT;
    if (!login_lock_renew(&lock, want->form, f, clock_mono_ms() + LOCK_MS, err) ||
        !read_now(&ret->credentials, &file, f, want, err))
        return false;
    if (lives_for(&ret->credentials, want, want->margin_ms))
        return true;
    if (!ret->credentials.refresh)
        return log_in_again(err, want, "it has no refresh token");
    if (has_digest(ret->credentials.refresh, want->spent))
        return memcpy(ret->spent, want->spent, DIGEST_HEX_SIZE),
               log_in_again(err, want, "the issuer does not take its refresh token any more");
    if (!credfile_begin(f, 2 * CREDENTIALS_TOKEN_BYTES + CREDENTIALS_BYTES, err))
        return false;
    if (!login_lock_is_held(&lock))
        return err_set(err, ERR_CONFLICT, "another program took the lock of %s", want->file);
    return ask_issuer(ret, want, f, &lock, file, err);
}

bool login_renew(struct login_token *ret, const struct login_want *want, struct err *err)
{
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    *ret = (struct login_token)LOGIN_TOKEN_INIT;
    if (!credfile_open(&f, want->file, err) || !read_now(&ret->credentials, NULL, &f, want, err))
        return false;
    if (lives_for(&ret->credentials, want, want->margin_ms))
        return true;
    if (has_digest(ret->credentials.access, want->fresh) &&
        has_digest(ret->credentials.access, want->refused))
        return err_set(err, ERR_FAILED,
                       "the provider refuses a token of %s's login that was renewed a moment ago: "
                       "its own words are with the agent",
                       want->form->title);
    if (renew_locked(ret, want, &f, &ret->trouble))
        return true;
    if (ret->credentials.access && lives_for(&ret->credentials, want, STILL_GOOD_MS))
        return true; /* for as long as it lasts */
    *err = ret->trouble;
    return false;
}
