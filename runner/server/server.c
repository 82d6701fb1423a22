#include "runner/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/server/clash.h"
#include "runner/server/control.h"
#include "runner/server/discard.h"
#include "runner/server/epoch.h"
#include "runner/server/events.h"
#include "runner/server/executor.h"
#include "runner/server/gather.h"
#include "runner/server/idle.h"
#include "runner/server/link.h"
#include "runner/server/notify.h"
#include "runner/server/notify_news.h"
#include "runner/server/recover.h"
#include "runner/server/renewal.h"
#include "runner/server/sched.h"
#include "runner/server/settings.h"
#include "runner/server/target_watch.h"
#include "runner/server/watch.h"
#include "runner/store/run_row.h"
#include "runner/store/store.h"
#include "runner/wire/conn.h"
#include "runner/wire/sync.h"

enum {
    LINGER_MS = 2000,  /* for clients that do not read their last answers */
    TAKE_TURN_MS = 20, /* between looks at another server that starts or ends */
    TAKE_TURNS = 1000, /* 20 s */
    ANSWER_MS = 5000,  /* for one that runs and is busy */
    LOG_BYTES_MAX = 1024 * 1024,
};

void server_log(const char *fmt, ...)
{
    AUTO_BUF struct buf line = BUF_INIT;
    char *text;
    va_list args;
    clock_add_local(&line, clock_unix_ms());
    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        return;
    buf_addf(&line, " %s\n", text);
    free(text);
    fputs(line.ptr, stderr);
}

static void on_linger(uv_timer_t *timer)
{
    const struct server *s = timer->data;
    for (struct client *c = s->clients; c; c = c->next)
        conn_close(c->conn);
}

static void close_timer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

void server_stop(struct server *s)
{
    if (s->is_stopping)
        return;
    s->is_stopping = true;
    gather_close(s);
    discard_close(s);
    epoch_close(s);
    control_close(s);
    notify_close(s);
    notify_news_close(s);
    target_watch_close(s);
    struct live *next;
    for (struct live *live = s->lives; live; live = next) {
        next = live->next;
        live->wanted = 0;
        watch_close(live);
        if (live->link)
            link_drop(live);
        else
            live_settle(live);
    }
    close_timer(&s->sched_timer);
    close_timer(&s->output_timer);
    close_timer(&s->idle_timer);
    close_timer(&s->retry_timer);
    uv_close((uv_handle_t *)&s->on_term, NULL);
    uv_close((uv_handle_t *)&s->on_int, NULL);
    uv_timer_start(&s->linger_timer, on_linger, LINGER_MS, 0);
    uv_unref((uv_handle_t *)&s->linger_timer);
}

static void on_signal(uv_signal_t *signal_handle, int number)
{
    server_log("ending on signal %d", number);
    server_stop(signal_handle->data);
}

static void init_loop(struct server *s)
{
    uv_loop_init(&s->loop);
    uv_timer_init(&s->loop, &s->linger_timer);
    uv_signal_init(&s->loop, &s->on_term);
    uv_signal_init(&s->loop, &s->on_int);
    s->linger_timer.data = s->on_term.data = s->on_int.data = s;
    uv_signal_start(&s->on_term, on_signal, SIGTERM);
    uv_signal_start(&s->on_int, on_signal, SIGINT);
    events_init(s);
    executor_init(s);
    idle_init(s);
    sched_init(s);
    notify_news_init(s);
}

static char *own_name(void)
{
    struct passwd entry, *found = NULL;
    char text[4096];
    if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) == 0 && found)
        return xstrdup(found->pw_name);
    return xasprintf("uid %u", (unsigned)geteuid());
}

static bool open_all(struct server *s, struct err *err)
{
    s->user = own_name();
    s->started_ms = clock_unix_ms();
    return settings_open(s, err) && store_open(&s->db, s->paths.db, err) &&
           idle_configure(s, err) && epoch_init(s, err) &&
           run_row_last_id(&s->last_run, s->db, err) && control_listen(s, err) &&
           recover_all(s, err) && clash_touch_all(s, err);
}

/* Serve until server_stop; work that was under way then is waited for, and its results are
 * committed. ready is called once the socket listens. */
static bool serve(struct server *s, void (*ready)(void *arg), void *arg, struct err *err)
{
    init_loop(s);
    bool ok = open_all(s, err);
    if (ok) {
        ready(arg);
        idle_touch(s);
    } else {
        server_stop(s);
    }
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&s->linger_timer, NULL);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    live_free_all(s);
    clash_free(s);
    renewal_release(s);
    if (uv_loop_close(&s->loop) != 0)
        server_log("handles were left open at the end");
    db_close(s->db);
    settings_close(s);
    keyring_release(&s->keyring);
    keyring_release(&s->secrets);
    keyring_release(&s->logins);
    free(s->user);
    return ok;
}

static int lock(const struct paths *paths, struct err *err)
{
    AUTO_FD int fd = open(paths->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s", paths->lock), -1;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return err_set(err, ERR_CONFLICT, "another server of %s runs", paths->state), -1;
        return err_sys(err, errno, "cannot lock %s", paths->lock), -1;
    }
    return steal_fd(&fd);
}

/* That it can be connected to is not enough: what a killed server was about to start holds its
 * listener and its lock until it is another program. */
static bool answers(const struct paths *paths)
{
    struct err ignored = ERR_INIT;
    AUTO_SYNC struct sync_conn conn = {.fd = -1};
    AUTO_JSON json_t *hello =
        json_pack("{s:i, s:s, s:i, s:s}", "id", 1, "op", "hello", "v", 1, "client", "server");
    json_t *answer = NULL;
    bool ok = sync_open(&conn, paths->control, &ignored) && sync_send(&conn, hello, &ignored) &&
              sync_recv(&answer, &conn, ANSWER_MS, &ignored) && answer;
    json_decref(answer);
    return ok;
}

/* Become the server or find one that listens; one that is just ending or starting is waited for. */
static int lock_or_find(const struct paths *paths, struct err *err)
{
    const struct timespec pause = {.tv_nsec = TAKE_TURN_MS * 1000000L};
    for (int i = 0; i < TAKE_TURNS; i++) {
        int fd = lock(paths, err);
        if (fd >= 0 || err->code != ERR_CONFLICT || answers(paths))
            return fd;
        nanosleep(&pause, NULL);
    }
    err_set(err, ERR_FAILED, "another server of %s runs, but does not answer", paths->state);
    return -1;
}

/* Standard streams of a detached server: nothing to read, and a log that does not grow for ever. */
static bool detach_streams(const struct paths *paths, struct err *err)
{
    AUTO_FREE char *path = fs_join(paths->state, "server.log");
    AUTO_FREE char *old = fs_join(paths->state, "server.log.1");
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size > LOG_BYTES_MAX && rename(path, old) != 0)
        return err_sys(err, errno, "cannot rename %s", path);
    AUTO_FD int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (log < 0 || null < 0)
        return err_sys(err, errno, "cannot open %s", path);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0)
        return err_sys(err, errno, "cannot redirect the standard streams");
    return chdir("/") == 0 || err_sys(err, errno, "cannot enter /");
}

static void say_nothing(void *arg)
{
    (void)arg;
}

/* The parent waits for one byte: the socket listens. */
static void say_ready(void *arg)
{
    int *fd = arg;
    struct err ignored = ERR_INIT;
    if (!fs_write_fd(*fd, "", 1, &ignored))
        server_log("whoever started the server is gone");
    close(*fd);
    *fd = -1;
}

static int fail(const struct err *err)
{
    fprintf(stderr, "headgate: %s\n", err->text);
    return SERVER_EXIT_FAILED;
}

static int run(struct server *s, void (*ready)(void *arg), void *arg, struct err *err)
{
    setenv("UV_THREADPOOL_SIZE", "8", 1); /* more than the executor's jobs */
    mallopt(M_ARENA_MAX, 2);              /* or each worker's heap stays with us for good */
    signal(SIGPIPE, SIG_IGN);             /* a peer that is gone is an error of the write */
    signal(SIGHUP, SIG_IGN);
    return serve(s, ready, arg, err) ? SERVER_EXIT_OK : SERVER_EXIT_FAILED;
}

/* The child's side of the pipe: a NUL byte when it listens, else the sentence that says why not. */
static int run_detached(struct server *s, int pipe_fd)
{
    struct err err = ERR_INIT;
    struct err ignored = ERR_INIT;
    setsid();
    int code = SERVER_EXIT_FAILED;
    if (detach_streams(&s->paths, &err))
        code = run(s, say_ready, &pipe_fd, &err);
    if (pipe_fd >= 0 && !fs_write_fd(pipe_fd, err.text, strlen(err.text), &ignored))
        server_log("%s", err.text);
    return code;
}

static int await_child(int pipe_fd)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    if (!fs_read_fd(&text, pipe_fd, sizeof(err.text), &err))
        return fail(&err);
    if (text.len > 0 && text.ptr[0] == '\0')
        return SERVER_EXIT_OK;
    err_set(&err, ERR_INTERNAL, "%s", text.len ? text.ptr : "the server ended while it started");
    return fail(&err);
}

static int start_detached(struct server *s, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        err_sys(err, errno, "cannot create a pipe");
        return fail(err);
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        exit(run_detached(s, ends[1]));
    }
    close(ends[1]);
    AUTO_FD int read_end = ends[0];
    if (pid < 0) {
        err_sys(err, errno, "cannot start the server");
        return fail(err);
    }
    return await_child(read_end);
}

int server_main(const struct server_options *options)
{
    struct server s = {0};
    struct err err = ERR_INIT;
    if (!paths_init(&s.paths, &err))
        return fail(&err);
    AUTO_FD int lock_fd = options->foreground ? lock(&s.paths, &err) : lock_or_find(&s.paths, &err);
    int code = options->foreground ? SERVER_EXIT_RUNNING : SERVER_EXIT_OK;
    if (lock_fd < 0 && err.code != ERR_CONFLICT)
        code = fail(&err);
    else if (lock_fd >= 0 && !options->foreground)
        code = start_detached(&s, &err);
    else if (lock_fd >= 0 && (code = run(&s, say_nothing, NULL, &err)) != SERVER_EXIT_OK)
        code = fail(&err);
    paths_done(&s.paths);
    return code;
}
