/*
 * headgate-login: gives the server an access token of a login of the person's, and renews it where
 * that is due (renew.h). It alone reads refresh tokens, and lives for one answer.
 *
 * Standard input: {"agent", "file", "issuer", "ca", "refused", "spent", "fresh", "margin_ms"}.
 * Standard output: {"token", "expires_ms", "account", "renewed", "trouble", "spent"}, or {"failed",
 * "again", "spent"}; again: only the person can help. A session of its own and no death signal: a
 * renewal that was begun is finished, or the login would be lost.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/login/renew.h"

enum { INPUT_BYTES = 64 * 1024, MARGIN_MS = 10 * 60 * 1000 };

static void keep_memory_private(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static bool read_want(struct login_want *ret, json_t **ret_input, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (!fs_read_fd(&text, STDIN_FILENO, INPUT_BYTES, err) ||
        !jx_parse(ret_input, text.ptr, text.len, err))
        return false;
    const json_t *in = *ret_input;
    *ret = (struct login_want){.form = login_form(jx_str(in, "agent", "")),
                               .file = jx_str(in, "file", ""),
                               .issuer = jx_str(in, "issuer", NULL),
                               .ca = jx_str(in, "ca", NULL),
                               .refused = jx_str(in, "refused", NULL),
                               .spent = jx_str(in, "spent", NULL),
                               .fresh = jx_str(in, "fresh", NULL),
                               .margin_ms = jx_int(in, "margin_ms", MARGIN_MS)};
    return ret->form || err_set(err, ERR_USAGE, "logins of the agent '%s' are not known",
                                jx_str(in, "agent", ""));
}

static json_t *answer_of(const struct login_token *token, bool ok, const struct err *err)
{
    json_t *answer = json_object();
    if (token->spent[0])
        jx_set_str(answer, "spent", token->spent);
    if (ok) {
        jx_set_str(answer, "token", token->credentials.access);
        jx_set_int(answer, "expires_ms", token->credentials.expires_ms);
        jx_set_str(answer, "account", token->credentials.account);
        jx_set_bool(answer, "renewed", token->is_renewed);
    } else {
        jx_set_bool(answer, "again", err->code == ERR_REFUSED || err->code == ERR_FORMAT);
    }
    if (!ok || token->trouble.code != ERR_NONE)
        jx_set_str(answer, ok ? "trouble" : "failed", ok ? token->trouble.text : err->text);
    return answer;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct login_want want;
    struct login_token token = LOGIN_TOKEN_INIT;
    AUTO_JSON json_t *input = NULL;
    (void)argv;
    if (argc != 1 || isatty(STDIN_FILENO)) {
        fputs("headgate-login is started by the server\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    umask(077);
    keep_memory_private();
    if (!read_want(&want, &input, &err)) {
        fprintf(stderr, "headgate-login: %s\n", err.text);
        return err_exit_code(&err);
    }
    bool ok = login_renew(&token, &want, &err);
    AUTO_JSON json_t *answer = answer_of(&token, ok, &err);
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, answer);
    buf_addch(&text, '\n');
    bool is_told = fs_write_fd(STDOUT_FILENO, text.ptr, text.len, &err);
    explicit_bzero(text.ptr, text.len);
    login_token_release(&token);
    return is_told ? 0 : 1;
}
