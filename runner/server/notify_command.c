#include "runner/server/notify_command.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/text.h"
#include "runner/server/notify.h"
#include "runner/store/attempt_row.h"

enum {
    RUNNING_MAX = 4,
    QUEUED_MAX = 256,
    BOUND_MS = 10 * 1000,
    WHAT_COLUMNS = 400,
    TEXT_COLUMNS = 200
};

/* A command that runs. */
struct teller {
    struct teller *next;
    struct server *server;
    uv_process_t process;
    uv_timer_t bound;
    int parts_open; /* handles that still refer to this */
};

/* What is to be told: a call, or news. */
struct item {
    int64_t call;
    char *attempt;
    json_t *news; /* NULL: of the call */
};

struct notify_queue {
    struct item items[QUEUED_MAX];
    size_t n, left_out;
    struct teller *running;
};

void notify_set_line(json_t *j, const char *key, const char *text, int columns)
{
    AUTO_FREE char *clean = text_clean(text ? text : "");
    AUTO_BUF struct buf line = BUF_INIT;
    text_add_brief(&line, clean, columns);
    jx_set_str(j, key, line.ptr);
}

/* The member that says what the call would do, else all of them. */
static void set_what(json_t *j, const struct call_request *r)
{
    static const char *const telling[] = {"command", "file_path", "path", "url", "host", "program"};
    AUTO_BUF struct buf all = BUF_INIT;
    const char *what = NULL;
    for (size_t i = 0; i < ARRAY_LEN(telling) && !what; i++)
        what = jx_str(r->args, telling[i], NULL);
    if (!what)
        jx_dump(&all, r->args);
    notify_set_line(j, "what", what ? what : all.ptr, WHAT_COLUMNS);
}

static bool summarise(json_t **ret, struct server *s, const struct ledger_call *call,
                      struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    int64_t waiting;
    if (!attempt_row_get(&row, s->db, call->attempt, err) ||
        !ledger_count_pending(&waiting, s->db, NULL, err))
        return false;
    AUTO_FREE char *id = xasprintf("c%" PRId64, call->id);
    json_t *j = json_object();
    jx_set_int(j, "v", 1);
    jx_set_str(j, "news", "call");
    jx_set_str(j, "call", id);
    jx_set_str(j, "attempt", call->attempt);
    jx_set_str(j, "agent", row.agent);
    notify_set_line(j, "subagent", call->request.sub_type, TEXT_COLUMNS);
    notify_set_line(j, "tool", call->request.tool, TEXT_COLUMNS);
    set_what(j, &call->request);
    jx_set_str(j, "why", call->ask_why);
    notify_set_line(j, "reason", call->ask_reason, WHAT_COLUMNS);
    notify_set_line(j, "task", row.title, TEXT_COLUMNS);
    notify_set_line(j, "repo", row.repo, WHAT_COLUMNS);
    jx_set_str(j, "rung", row.ladder);
    jx_set_int(j, "asked_ms", call->asked_ms);
    jx_set_int(j, "deadline_ms", call->deadline_ms);
    jx_set_int(j, "waiting", waiting);
    *ret = j;
    return true;
}

/* A file without a name that reads as the summary. */
static int open_summary(const json_t *summary, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT;
    jx_dump(&line, summary);
    buf_addch(&line, '\n');
    AUTO_FD int fd = memfd_create("news", MFD_CLOEXEC);
    if (fd < 0) {
        (void)err_sys(err, errno, "memfd_create");
        return -1;
    }
    if (!fs_write_fd(fd, line.ptr, line.len, err) || lseek(fd, 0, SEEK_SET) != 0)
        return -1;
    return steal_fd(&fd);
}

static void start_next(struct server *s);

static void on_closed(uv_handle_t *handle)
{
    struct teller *t = handle->data;
    if (--t->parts_open == 0)
        free(t);
}

static void leave(struct teller *t)
{
    struct teller **at = &t->server->notify_queue->running;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    uv_close((uv_handle_t *)&t->process, on_closed);
    uv_close((uv_handle_t *)&t->bound, on_closed);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal_number)
{
    struct teller *t = process->data;
    struct server *s = t->server;
    if (signal_number)
        server_log("gate.notifyCommand was ended by signal %d", signal_number);
    else if (status)
        server_log("gate.notifyCommand ended with status %" PRId64, status);
    leave(t);
    start_next(s);
}

/* It leads a session of its own, so that its children end with it. */
static void on_bound(uv_timer_t *timer)
{
    struct teller *t = timer->data;
    server_log("gate.notifyCommand takes longer than %d s: ended", BOUND_MS / 1000);
    kill(-t->process.pid, SIGKILL);
}

static bool spawn(struct server *s, int input, const struct strv *env, struct err *err)
{
    const char *command = config_str(s->config, "gate.notifycommand", "");
    const char *home = strv_env_get(env, "HOME");
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char *)(uintptr_t)command, NULL};
    uv_stdio_container_t streams[] = {
        {.flags = UV_INHERIT_FD, .data.fd = input}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
    struct teller *t = xcalloc(1, sizeof(*t));
    *t = (struct teller){.server = s, .parts_open = 2};
    t->process.data = t->bound.data = t;
    const uv_process_options_t options = {.exit_cb = on_exit_of,
                                          .file = argv[0],
                                          .args = argv,
                                          .env = (char **)(uintptr_t)strv_array(env),
                                          .cwd = home && home[0] == '/' ? home : "/",
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = ARRAY_LEN(streams),
                                          .stdio = streams};
    uv_timer_init(&s->loop, &t->bound);
    int failed = uv_spawn(&s->loop, &t->process, &options);
    t->next = s->notify_queue->running;
    s->notify_queue->running = t;
    if (failed) {
        leave(t);
        return err_sys(err, -failed, "gate.notifyCommand");
    }
    uv_timer_start(&t->bound, on_bound, BOUND_MS, 0);
    return true;
}

/* NULL without an error: it was decided meanwhile. */
static json_t *summary_of_call(struct server *s, int64_t id, struct err *err)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    json_t *summary = NULL;
    if (!ledger_get(&call, s->db, id, err) || call.state != CALL_PENDING ||
        !summarise(&summary, s, &call, err))
        return NULL;
    return summary;
}

/* False: it was not told, and why. */
static bool tell(struct server *s, const struct item *item, struct err *err)
{
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_JSON json_t *summary =
        item->news ? json_incref(item->news) : summary_of_call(s, item->call, err);
    if (!summary)
        return err->code == ERR_NONE;
    AUTO_FD int input = open_summary(summary, err);
    return input >= 0 && notify_env(&env, s, item->attempt, err) && spawn(s, input, &env, err);
}

static void item_release(struct item *item)
{
    free(item->attempt);
    json_decref(item->news);
}

static size_t count_running(const struct notify_queue *q)
{
    size_t n = 0;
    for (const struct teller *t = q->running; t; t = t->next)
        n++;
    return n;
}

static void start_next(struct server *s)
{
    struct notify_queue *q = s->notify_queue;
    while (!s->is_stopping && q->n > 0 && count_running(q) < RUNNING_MAX) {
        struct err err = ERR_INIT;
        struct item item = q->items[0];
        memmove(q->items, q->items + 1, --q->n * sizeof(*q->items));
        if (!tell(s, &item, &err))
            server_log("news of attempt %s was not told: %s", item.attempt, err.text);
        item_release(&item);
    }
}

static void enqueue(struct server *s, int64_t call, const char *attempt, json_t *news)
{
    if (s->is_stopping || !config_str(s->config, "gate.notifycommand", NULL))
        return;
    if (!s->notify_queue)
        s->notify_queue = xcalloc(1, sizeof(*s->notify_queue));
    struct notify_queue *q = s->notify_queue;
    if (q->n == QUEUED_MAX) {
        if (q->left_out++ == 0)
            server_log("more than %d wait to be told by gate.notifyCommand: some are left out",
                       QUEUED_MAX);
        return;
    }
    q->items[q->n++] =
        (struct item){.call = call, .attempt = xstrdup(attempt), .news = json_incref(news)};
    start_next(s);
}

void notify_command(struct server *s, const struct ledger_call *call)
{
    enqueue(s, call->id, call->attempt, NULL);
}

void notify_command_news(struct server *s, const char *attempt, json_t *message)
{
    enqueue(s, 0, attempt, message);
}

void notify_command_close(struct server *s)
{
    struct notify_queue *q = s->notify_queue;
    while (q && q->running) {
        kill(-q->running->process.pid, SIGKILL);
        leave(q->running);
    }
    for (size_t i = 0; q && i < q->n; i++)
        item_release(&q->items[i]);
    free(q);
    s->notify_queue = NULL;
}
