#include "worktree/reftx.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"

enum { ANSWER_BYTES = 256 };

static void *wait_for_git(void *arg)
{
    struct reftx *tx = arg;
    AUTO_STRV struct strv config = STRV_INIT;
    struct gitrun g = {
        .git_dir = tx->git_dir, .config = &config, .input_fd = tx->git_fd, .output_fd = tx->git_fd};
    strv_push(&config, "core.filesRefLockTimeout=2000"); /* others wait for what is held by then */
    tx->has_ended_well =
        gitrun(&tx->result, &g,
               GIT_ARGS("update-ref", "-m", tx->reason, "--no-deref", "--stdin", "-z"), &tx->err);
    close(tx->git_fd); /* now whoever waits for an answer learns that there is none */
    return NULL;
}

static bool start(struct reftx *tx, struct err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot create a pair of sockets");
    tx->fd = ends[0];
    tx->git_fd = ends[1];
    int why = pthread_create(&tx->thread, NULL, wait_for_git, tx);
    tx->is_running = why == 0;
    if (why == 0)
        return true;
    close(tx->git_fd);
    return err_sys(err, why, "cannot start a thread");
}

static void finish(struct reftx *tx)
{
    if (tx->fd >= 0)
        close(tx->fd);
    tx->fd = -1;
    if (tx->is_running)
        pthread_join(tx->thread, NULL);
    tx->is_running = false;
}

void reftx_release(struct reftx *tx)
{
    finish(tx);
    proc_result_release(&tx->result);
}

/* Why git ended without the answer that was expected. */
static bool ended(struct reftx *tx, struct err *err)
{
    finish(tx);
    if (!tx->has_ended_well) {
        *err = tx->err;
        return false;
    }
    gitrun_failed(&tx->result, GIT_ARGS("update-ref"), err);
    err->code = ERR_CONFLICT;
    return false;
}

/* git that has ended shows in the missing answer. */
static void say(const struct reftx *tx, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(tx->fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

/* One line, and whether it is this one. */
static bool hear(const struct reftx *tx, const char *expected)
{
    char line[ANSWER_BYTES];
    size_t len = 0;
    while (len < sizeof(line) - 1) {
        ssize_t n = recv(tx->fd, line + len, 1, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || line[len] == '\n')
            break;
        len++;
    }
    line[len] = '\0';
    return strcmp(line, expected) == 0;
}

bool reftx_prepare(struct reftx *tx, const char *git_dir, const struct buf *lines,
                   const char *reason, struct err *err)
{
    static const char begin[] = "start", end[] = "prepare"; /* each with its NUL */
    tx->git_dir = git_dir;
    tx->reason = reason;
    if (!start(tx, err))
        return false;
    say(tx, begin, sizeof(begin));
    say(tx, lines->ptr, lines->len);
    say(tx, end, sizeof(end));
    return (hear(tx, "start: ok") && hear(tx, "prepare: ok")) || ended(tx, err);
}

bool reftx_commit(struct reftx *tx, struct err *err)
{
    static const char commit[] = "commit";
    say(tx, commit, sizeof(commit));
    return hear(tx, "commit: ok") || ended(tx, err);
}
