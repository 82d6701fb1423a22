#include "runner/cmd/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "runner/server/server.h"

enum {
    START_TIMEOUT_MS = 30 * 1000,
    GREET_TRIES = 3,
    REOPENS_MAX = 5, /* of connections that did not last */
    LASTING_MS = 60 * 1000,
};

static bool nobody_listens(const struct err *err)
{
    return err->sys_errno == ENOENT || err->sys_errno == ECONNREFUSED;
}

static bool is_gone(const struct err *err)
{
    return err->sys_errno == ECONNRESET || err->sys_errno == EPIPE;
}

static bool connect_once(struct client *c, bool *ret_connected, struct err *err)
{
    struct err why = ERR_INIT;
    *ret_connected = sync_open(&c->conn, c->paths.control, &why);
    if (*ret_connected || nobody_listens(&why))
        return true;
    *err = why;
    return false;
}

/* `headgate serve` returns when a server listens, its own or another's. */
static bool run_starter(struct err *err)
{
    AUTO_FREE char *program = paths_program("headgate", err);
    if (!program)
        return false;
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    strv_push(&argv, program);
    strv_push(&argv, "serve");
    const struct proc_cmd cmd = {
        .argv = &argv, .cwd = "/", .timeout_ms = START_TIMEOUT_MS, .new_session = true};
    if (!proc_run(&result, &cmd, err))
        return err_prefix(err, "cannot start the server");
    if (result.status == SERVER_EXIT_OK || result.status == SERVER_EXIT_RUNNING)
        return true;
    buf_rtrim(&result.errout);
    const char *text = result.errout.ptr, *own = "headgate: ";
    if (strncmp(text, own, strlen(own)) == 0)
        text += strlen(own);
    return err_set(err, result.status == 1 ? ERR_FAILED : ERR_INTERNAL,
                   "the server did not start: %s", *text ? text : "it gave no reason");
}

static bool start(struct client *c, struct err *err)
{
    AUTO_FREE char *path = fs_join(c->paths.runtime, "starting");
    AUTO_FD int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0)
        return err_sys(err, errno, "cannot open %s", path);
    while (flock(lock, LOCK_EX) != 0)
        if (errno != EINTR)
            return err_sys(err, errno, "cannot lock %s", path);
    bool is_connected;
    if (!connect_once(c, &is_connected, err))
        return false;
    if (is_connected)
        return true;
    return run_starter(err) && (sync_open(&c->conn, c->paths.control, err) ||
                                err_prefix(err, "the server is not reachable after its start"));
}

static bool hello(struct client *c, int64_t *ret_v, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    json_t *request = json_object();
    jx_set_int(request, "v", CLIENT_PROTOCOL);
    jx_set_str(request, "client", "shell");
    jx_set_str(request, "ssh", getenv("SSH_CONNECTION")); /* a label for the log, and no proof */
    if (!client_call(&result, c, "hello", request, err))
        return err_prefix(err, "the server does not answer");
    *ret_v = jx_int(result, "v", 0);
    return true;
}

/* *ret_usable false: it was older and has been asked to stop. */
static bool check_version(struct client *c, bool *ret_usable, struct err *err)
{
    int64_t v;
    if (!hello(c, &v, err))
        return false;
    *ret_usable = v == CLIENT_PROTOCOL;
    if (v > CLIENT_PROTOCOL)
        return err_set(err, ERR_REFUSED,
                       "the running server is of a newer Headgate; use that "
                       "one, or end it with its headgate serve --stop");
    if (*ret_usable)
        return true;
    AUTO_JSON json_t *result = NULL;
    bool ok = client_call(&result, c, "server.stop", NULL, err);
    sync_close(&c->conn);
    return ok;
}

/* A server that is just dying still takes connections and then drops them: that is no server. */
static bool greet(struct client *c, bool *ret_usable, struct err *err)
{
    struct err why = ERR_INIT;
    if (check_version(c, ret_usable, &why))
        return true;
    if (is_gone(&why)) {
        sync_close(&c->conn);
        *ret_usable = false;
        return true;
    }
    *err = why;
    return false;
}

static bool open_greeted(struct client *c, struct err *err)
{
    for (int i = 0; i < GREET_TRIES; i++) {
        bool is_connected, is_usable;
        if (!connect_once(c, &is_connected, err))
            return false;
        if (!is_connected && !start(c, err))
            return false;
        if (!greet(c, &is_usable, err))
            return false;
        if (is_usable)
            return true;
    }
    return err_set(err, ERR_INTERNAL,
                   "the server ends again and again, or is of an older Headgate and does not end; "
                   "headgate serve --foreground shows what it says");
}

bool client_open(struct client *ret, struct err *err)
{
    struct client c = CLIENT_INIT;
    if (!paths_init(&c.paths, err))
        return false;
    if (!open_greeted(&c, err)) {
        client_close(&c);
        return false;
    }
    c.opened_ms = clock_mono_ms();
    *ret = c;
    return true;
}

bool client_reopen(struct client *c, struct err *err)
{
    bool lasted = clock_mono_ms() - c->opened_ms > LASTING_MS;
    int reopened = lasted ? 0 : c->reopened + 1;
    if (!is_gone(err) || reopened > REOPENS_MAX)
        return false;
    client_close(c);
    if (!client_open(c, err))
        return false;
    c->reopened = reopened;
    *err = (struct err)ERR_INIT;
    return true;
}

bool client_open_running(struct client *ret, bool *ret_running, struct err *err)
{
    struct client c = CLIENT_INIT;
    int64_t v;
    bool is_connected = false;
    if (!paths_init(&c.paths, err))
        return false;
    bool ok = connect_once(&c, &is_connected, err) && (!is_connected || hello(&c, &v, err));
    if (!ok || !is_connected) {
        client_close(&c);
        if (!ok)
            return false;
    } else {
        *ret = c;
    }
    *ret_running = is_connected;
    return true;
}

void client_close(struct client *c)
{
    if (c->conn.fd >= 0)
        sync_close(&c->conn);
    c->conn.fd = -1;
    paths_done(&c->paths);
}

bool client_call(json_t **ret_result, struct client *c, const char *op, json_t *request,
                 struct err *err)
{
    AUTO_JSON json_t *owned = request;
    return sync_call(ret_result, &c->conn, op, owned, err);
}

bool client_ask(json_t **ret_result, const char *op, json_t *request, struct err *err)
{
    AUTO_JSON json_t *owned = request;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    return client_open(&c, err) && sync_call(ret_result, &c.conn, op, owned, err);
}

json_t *client_ids(const struct strv *words)
{
    json_t *request = json_object();
    jx_set(request, "ids", jx_from_strv(words));
    return request;
}

bool client_attempts(json_t **ret, struct client *c, const struct strv *words, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    if (!client_call(&result, c, "attempt.show", client_ids(words), err))
        return false;
    json_t *attempts = jx_arr(result, "attempts");
    if (json_array_size(attempts) == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no such attempt; headgate ls lists them");
    *ret = json_incref(attempts);
    return true;
}

bool client_attempt(json_t **ret, struct client *c, const char *word, struct err *err)
{
    AUTO_STRV struct strv words = STRV_INIT;
    AUTO_JSON json_t *attempts = NULL;
    strv_push(&words, word);
    if (!client_attempts(&attempts, c, &words, err))
        return false;
    if (json_array_size(attempts) > 1)
        return err_set(err, ERR_USAGE, "%s means %zu attempts, this command takes one, like %s",
                       word, json_array_size(attempts),
                       jx_str(json_array_get(attempts, 0), "id", "?"));
    *ret = json_incref(json_array_get(attempts, 0));
    return true;
}

bool client_in_force(const json_t *result, struct err *err)
{
    AUTO_BUF struct buf names = BUF_INIT;
    size_t i;
    const json_t *id;
    json_array_foreach(jx_arr(result, "unacknowledged"), i, id)
    {
        buf_addf(&names, "%s%s", i ? ", " : "", json_string_value(id));
    }
    return i == 0 ||
           err_set(err, ERR_FAILED,
                   "the change is stored, but the keepers of %s did not acknowledge it in "
                   "time; they get it when they answer again",
                   names.ptr);
}
