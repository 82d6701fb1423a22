#include "runner/model/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "runner/base/clock.h"
#include "runner/base/digest.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

enum {
    WAIT_S = 120,
    MARGIN_MS = 10 * 60 * 1000, /* before the programs themselves would renew, who take five */
    ASKS_MAX = 3,               /* one that is under way may be about another token than ours */
};

void token_release(struct token *t)
{
    free_secret(&t->text);
    free_secret(&t->account);
}

void tokens_init(struct tokens *t, size_t model, int fd)
{
    pthread_condattr_t attr;
    *t = (struct tokens){.model = model, .fd = fd};
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->answered, &attr);
    pthread_condattr_destroy(&attr);
}

static bool is_good(const struct tokens *t, const char *refused)
{
    return t->now.text && !t->is_bad && (!refused || strcmp(t->now.text, refused) != 0) &&
           (!t->expires_ms || t->expires_ms - clock_unix_ms() > t->margin_ms);
}

static bool ask(struct tokens *t, const char *refused, struct err *err)
{
    char hex[DIGEST_HEX_SIZE] = "";
    AUTO_BUF struct buf line = BUF_INIT;
    AUTO_JSON json_t *message = json_object();
    if (refused)
        digest_bytes(hex, refused, strlen(refused));
    jx_set_int(message, "model", (int64_t)t->model);
    jx_set_str(message, "refused", refused ? hex : NULL);
    jx_dump(&line, message);
    buf_addch(&line, '\n');
    ssize_t n;
    do
        n = send(t->fd, line.ptr, line.len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    t->is_asked = n == (ssize_t)line.len; /* small, into a buffer that is read all the time */
    return t->is_asked ||
           err_set(err, ERR_FAILED, "the keeper does not listen to who needs a token");
}

/* The next answer; false: there is none for so long. */
static bool await(struct tokens *t, const struct timespec *end)
{
    uint64_t before = t->n_answers;
    int why = 0;
    while (t->n_answers == before && why == 0)
        why = pthread_cond_timedwait(&t->answered, &t->lock, end);
    return t->n_answers != before;
}

static bool get_locked(struct tokens *t, const char *refused, struct err *err)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += WAIT_S;
    for (int i = 0; i < ASKS_MAX; i++) {
        if (is_good(t, refused))
            return true;
        if (!t->is_asked && !ask(t, refused ? refused : t->is_bad ? t->now.text : NULL, err))
            return false;
        if (!await(t, &end)) {
            t->is_asked = false;
            return err_set(
                err, ERR_FAILED,
                "no server of Headgate's renews the login now: any command of headgate starts one");
        }
        if (t->failure.code != ERR_NONE) {
            *err = t->failure;
            return false;
        }
    }
    return is_good(t, refused) ||
           err_set(err, ERR_FAILED, "the provider does not take the tokens of the login");
}

bool tokens_get(struct token *ret, struct tokens *t, const char *refused, struct err *err)
{
    pthread_mutex_lock(&t->lock);
    bool ok = get_locked(t, refused, err);
    if (ok)
        *ret = (struct token){.text = xstrdup(t->now.text),
                              .account = t->now.account ? xstrdup(t->now.account) : NULL};
    pthread_mutex_unlock(&t->lock);
    return ok;
}

void tokens_drop(struct tokens *t, const char *refused)
{
    pthread_mutex_lock(&t->lock);
    t->is_bad = t->is_bad || (t->now.text && strcmp(t->now.text, refused) == 0);
    pthread_mutex_unlock(&t->lock);
}

static void take(struct tokens *t, const json_t *answer, const char *text)
{
    const char *account = jx_str(answer, "account", NULL);
    int64_t now_ms = clock_unix_ms(), left_ms;
    token_release(&t->now);
    t->is_bad = false;
    t->now = (struct token){.text = xstrdup(text), .account = account ? xstrdup(account) : NULL};
    t->expires_ms = jx_int(answer, "expires_ms", 0);
    left_ms = t->expires_ms - now_ms;
    /* One that was given with less life left serves nevertheless, or each request would ask. */
    t->margin_ms = left_ms > 2 * MARGIN_MS ? MARGIN_MS : left_ms > 0 ? left_ms / 2 : INT64_MIN / 2;
}

void tokens_answer(struct tokens *t, const json_t *answer)
{
    const char *text = jx_str(answer, "token", NULL);
    pthread_mutex_lock(&t->lock);
    t->failure = (struct err)ERR_INIT;
    if (text)
        take(t, answer, text);
    else
        err_set(&t->failure, jx_bool(answer, "again", false) ? ERR_REFUSED : ERR_FAILED, "%s",
                jx_str(answer, "failed", "the login cannot be renewed"));
    t->is_asked = false;
    t->n_answers++;
    pthread_cond_broadcast(&t->answered);
    pthread_mutex_unlock(&t->lock);
}
