#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "runner/agents/agent.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/log_text.h"
#include "runner/cmd/out.h"

enum { CHUNK_BYTES = 64 * 1024 };

struct follow {
    const char *path;
    int fd;   /* the log; -1 while there is none */
    bool raw; /* bytes as they are */
    struct log_text text;
};

static void follow_release(struct follow *f)
{
    auto_fd_(&f->fd);
    log_text_release(&f->text);
}

/* Print what the file holds beyond what was printed. */
static bool print_more(struct follow *f, struct err *err)
{
    char data[CHUNK_BYTES];
    if (f->fd < 0)
        f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (f->fd < 0 && errno == ENOENT)
        return true;
    if (f->fd < 0)
        return err_sys(err, errno, "cannot open the log %s", f->path);
    for (;;) {
        ssize_t n = read(f->fd, data, sizeof(data));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "cannot read the log %s", f->path);
        if (n == 0)
            return true;
        AUTO_BUF struct buf text = BUF_INIT;
        if (f->raw)
            buf_add(&text, data, (size_t)n);
        else
            log_text_feed(&text, &f->text, data, (size_t)n);
        if (!out_buf(&text, err))
            return false;
    }
}

static bool print_rest(struct follow *f, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    log_text_end(&text, &f->text);
    return out_buf(&text, err);
}

/* Take in what the server tells; *done once the attempt has ended. */
static bool take_events(struct client *c, const char *id, bool *done, struct err *err)
{
    for (;;) {
        AUTO_JSON json_t *msg = NULL;
        if (!sync_recv(&msg, &c->conn, 0, err))
            return false;
        if (!msg)
            return true;
        const json_t *event = jx_obj(msg, "event");
        const json_t *attempt = jx_obj(event, "attempt");
        if (strcmp(jx_str(event, "e", ""), "gone") == 0 &&
            strcmp(jx_str(event, "attempt", ""), id) == 0)
            *done = true;
        if (strcmp(jx_str(attempt, "id", ""), id) == 0 &&
            strcmp(jx_str(attempt, "state", ""), "done") == 0)
            *done = true;
    }
}

static void drop_notes(int notify)
{
    char data[4096];
    while (read(notify, data, sizeof(data)) > 0) {
    }
}

/* Sleep until the log grows or the server tells something. */
static bool wait_for_news(int notify, const struct client *c, struct err *err)
{
    struct pollfd fds[] = {{.fd = notify, .events = POLLIN}, {.fd = c->conn.fd, .events = POLLIN}};
    while (poll(fds, ARRAY_LEN(fds), -1) < 0)
        if (errno != EINTR)
            return err_sys(err, errno, "cannot wait for output");
    if (fds[0].revents)
        drop_notes(notify);
    return true;
}

static bool snapshot_done(const json_t *snapshot, const char *id)
{
    size_t i;
    const json_t *a;
    json_array_foreach(jx_arr(snapshot, "attempts"), i, a)
    {
        if (strcmp(jx_str(a, "id", ""), id) == 0)
            return strcmp(jx_str(a, "state", ""), "done") == 0;
    }
    return true; /* discarded meanwhile */
}

/* One connection's worth. */
static bool follow_while_served(struct follow *f, struct client *c, const json_t *attempt,
                                int notify, struct err *err)
{
    const char *id = jx_str(attempt, "id", ""), *dir = jx_str(attempt, "dir", "");
    AUTO_JSON json_t *snapshot = NULL;
    json_t *request = json_object();
    json_object_set(request, "run", json_object_get(attempt, "run"));
    if (!client_call(&snapshot, c, "subscribe", request, err))
        return false;
    bool done = snapshot_done(snapshot, id);
    for (;;) {
        /* Again each time: the folder comes to be when the attempt is prepared. */
        (void)inotify_add_watch(notify, dir, IN_MODIFY | IN_CREATE);
        if (!take_events(c, id, &done, err) || !print_more(f, err))
            return false;
        if (done)
            return true;
        if (!wait_for_news(notify, c, err))
            return false;
    }
}

/* A server that was killed is started again; what the log got meanwhile is still in the file. */
static bool follow_log(struct follow *f, struct client *c, const json_t *attempt, struct err *err)
{
    AUTO_FD int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (notify < 0)
        return err_sys(err, errno, "cannot watch the log");
    while (!follow_while_served(f, c, attempt, notify, err))
        if (!client_reopen(c, err))
            return false;
    return true;
}

static bool logs(char **argv, struct err *err)
{
    bool is_following = false, raw = false;
    const struct opt table[] = {
        {'f', "follow", OPT_FLAG, &is_following, NULL, "go on until the attempt ends", 0, 0},
        {0, "raw", OPT_FLAG, &raw, NULL, "the bytes as the agent wrote them (not to a terminal)", 0,
         0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempt = NULL;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, 1, err))
        return false;
    if (raw && isatty(STDOUT_FILENO))
        return err_set(err, ERR_REFUSED,
                       "raw output of an agent can take over a terminal; send it "
                       "to a file or a pipe");
    if (!client_open(&c, err) || !client_attempt(&attempt, &c, args.operands.v[0], err))
        return false;
    const struct agent *agent = agent_find(jx_str(attempt, "agent", ""));
    __attribute__((cleanup(follow_release))) struct follow f = {
        .path = jx_str(attempt, "log", ""), .fd = -1, .raw = raw};
    log_text_init(&f.text, agent ? agent->output : "lines");
    bool ok = is_following ? follow_log(&f, &c, attempt, err) : print_more(&f, err);
    return ok && print_rest(&f, err);
}

int cmd_logs(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(logs(argv, &err), &err);
}
