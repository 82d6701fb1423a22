#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/ui/rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/wire/conn.h"

/* Turn a failure of ours into one of the test. */
static void must(bool is_ok, const struct err *err)
{
    if (!is_ok)
        fail_msg("%s", err->text);
}

static void drop(void *arg, const char *bytes, size_t len)
{
    (void)arg;
    (void)bytes;
    (void)len;
}

/* ---- start and end ---- */

void rig_peer_up(struct rig *r)
{
    struct err err = ERR_INIT;
    r->listen_fd = conn_listen(r->socket, 0600, &err);
    must(r->listen_fd >= 0, &err);
}

void rig_peer_down(struct rig *r)
{
    if (r->listen_fd >= 0)
        close(r->listen_fd);
    if (r->peer_fd >= 0)
        close(r->peer_fd);
    r->listen_fd = r->peer_fd = -1;
    unlink(r->socket);
}

static _Noreturn void run_driver(const struct rig *r, const char *mode)
{
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, getpgrp());
    signal(SIGTTOU, SIG_DFL);
    setenv("TERM", "xterm-256color", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    execl(UI_DRIVER, UI_DRIVER, mode, r->socket, NULL);
    _exit(127);
}

/* The shell's part: owns the session, starts the program in a group of its own and tells what
 * becomes of it. */
static _Noreturn void lead(const struct rig *r, const char *mode, int news_fd)
{
    int status;
    close(r->listen_fd); /* else a connection that nobody takes would outlive the peer */
    login_tty(r->slave);
    pid_t pid = fork();
    if (pid == 0)
        run_driver(r, mode);
    bool is_ok = write(news_fd, &pid, sizeof(pid)) == sizeof(pid);
    while (is_ok && waitpid(pid, &status, WUNTRACED) == pid) {
        is_ok = write(news_fd, &status, sizeof(status)) == sizeof(status);
        if (!WIFSTOPPED(status))
            break;
    }
    pause(); /* its end would hang up the terminal, which is still to be looked at */
    _exit(0);
}

void rig_start(struct rig *r, const char *mode, json_t *snapshot, int rows, int cols)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    *r = (struct rig){.peer_fd = -1,
                      .listen_fd = -1,
                      .snapshot = snapshot,
                      .rows = rows,
                      .cols = cols,
                      .raw = BUF_INIT};
    memcpy(r->dir, "/tmp/hg-ui-XXXXXX", sizeof("/tmp/hg-ui-XXXXXX"));
    assert_non_null(mkdtemp(r->dir));
    AUTO_FREE char *socket_path = fs_join(r->dir, "k3.2");
    memcpy(r->socket, socket_path, strlen(socket_path) + 1);
    r->inbox = json_array();
    frame_init(&r->frame, LIMIT_LINE_BYTES);
    rig_peer_up(r);
    assert_int_equal(openpty(&r->master, &r->slave, NULL, NULL, &size), 0);
    fcntl(r->master, F_SETFD, FD_CLOEXEC);
    assert_int_equal(tcgetattr(r->slave, &r->before), 0);
    r->vt = vt_new(rows, cols, false, drop, NULL);
    int news[2];
    assert_int_equal(pipe2(news, O_CLOEXEC), 0);
    r->leader = fork();
    assert_true(r->leader >= 0);
    if (r->leader == 0)
        lead(r, mode, news[1]);
    close(news[1]);
    r->news_fd = news[0];
    assert_int_equal(read(r->news_fd, &r->pid, sizeof(r->pid)), sizeof(r->pid));
}

void rig_stop(struct rig *r)
{
    kill(r->leader, SIGKILL); /* and with it the session: the program gets SIGHUP and SIGCONT */
    waitpid(r->leader, NULL, 0);
    close(r->news_fd);
    rig_peer_down(r);
    rmdir(r->dir);
    close(r->master);
    close(r->slave);
    vt_free(r->vt);
    frame_release(&r->frame);
    buf_release(&r->raw);
    json_decref(r->inbox);
    json_decref(r->snapshot);
}

/* ---- the peer ---- */

static void send_line(struct rig *r, const json_t *message)
{
    AUTO_BUF struct buf line = BUF_INIT;
    struct err err = ERR_INIT;
    jx_dump(&line, message);
    buf_addch(&line, '\n');
    if (r->peer_fd >= 0)
        must(fs_write_fd(r->peer_fd, line.ptr, line.len, &err), &err);
}

void rig_send(struct rig *r, json_t *message)
{
    AUTO_JSON json_t *owned = message;
    send_line(r, owned);
}

/* A server's own part: hello, subscribe and the details of an attempt are answered at once; the
 * rest waits for the test. */
static bool answer_alone(struct rig *r, const json_t *request)
{
    const char *op = jx_str(request, "op", "");
    if (strcmp(op, "hello") != 0 && strcmp(op, "subscribe") != 0 && strcmp(op, "attempt.show") != 0)
        return false;
    json_t *answer = json_pack("{s:I, s:b, s:{}}", "id", (json_int_t)jx_int(request, "id", -1),
                               "ok", 1, "result");
    if (strcmp(op, "subscribe") == 0)
        jx_set(answer, "result", json_incref(r->snapshot));
    rig_send(r, answer);
    return true;
}

static void read_peer(struct rig *r)
{
    char bytes[4096];
    struct err err = ERR_INIT;
    ssize_t n = read(r->peer_fd, bytes, sizeof(bytes));
    if (n <= 0) {
        close(r->peer_fd);
        r->peer_fd = -1;
        return;
    }
    frame_feed(&r->frame, bytes, (size_t)n);
    for (;;) {
        AUTO_BUF struct buf line = BUF_INIT;
        json_t *message;
        bool have;
        must(frame_next(&r->frame, &line, &have, &err), &err);
        if (!have)
            return;
        must(jx_parse(&message, line.ptr, line.len, &err), &err);
        if (!r->snapshot || !answer_alone(r, message))
            json_array_append(r->inbox, message);
        json_decref(message);
    }
}

static void accept_peer(struct rig *r)
{
    int fd = accept4(r->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (r->peer_fd >= 0)
        close(r->peer_fd);
    r->peer_fd = fd;
    frame_release(&r->frame);
    frame_init(&r->frame, LIMIT_LINE_BYTES);
}

/* ---- waiting ---- */

static void read_terminal(struct rig *r)
{
    char bytes[16384];
    ssize_t n = read(r->master, bytes, sizeof(bytes));
    if (n <= 0)
        return;
    buf_add(&r->raw, bytes, (size_t)n);
    vt_feed(r->vt, bytes, (size_t)n);
}

/* Wait for one thing to happen, or until the time is over. */
static bool step(struct rig *r, int64_t deadline_ms)
{
    struct pollfd fds[] = {{.fd = r->master, .events = POLLIN},
                           {.fd = r->listen_fd, .events = POLLIN},
                           {.fd = r->peer_fd, .events = POLLIN},
                           {.fd = r->has_status ? -1 : r->news_fd, .events = POLLIN}};
    int64_t left = deadline_ms - clock_mono_ms();
    if (left <= 0)
        return false;
    poll(fds, ARRAY_LEN(fds), (int)left);
    if (fds[3].revents)
        r->has_status = read(r->news_fd, &r->status, sizeof(r->status)) == sizeof(r->status);
    if (fds[0].revents & POLLIN)
        read_terminal(r);
    if (fds[1].revents & POLLIN)
        accept_peer(r);
    if (fds[2].revents)
        read_peer(r);
    return true;
}

const char *rig_screen(struct rig *r)
{
    static struct buf screen = BUF_INIT;
    AUTO_CANVAS struct canvas cv = CANVAS_INIT;
    canvas_reset(&cv, r->rows, r->cols);
    vt_draw(r->vt, &cv, 0, 0, r->rows, r->cols, 0);
    buf_release(&screen);
    canvas_dump(&screen, &cv);
    return screen.ptr;
}

static void wait_text(struct rig *r, const char *text, bool is_there)
{
    int64_t deadline = clock_mono_ms() + RIG_PATIENCE_MS;
    while ((strstr(rig_screen(r), text) != NULL) != is_there)
        if (!step(r, deadline))
            fail_msg("waited for %s\"%s\" on:\n%s", is_there ? "" : "the end of ", text,
                     rig_screen(r));
}

void rig_wait_text(struct rig *r, const char *text)
{
    wait_text(r, text, true);
}

void rig_wait_no_text(struct rig *r, const char *text)
{
    wait_text(r, text, false);
}

static json_t *take(struct rig *r, const char *key, const char *value)
{
    size_t i;
    json_t *message;
    json_array_foreach(r->inbox, i, message)
    {
        if (strcmp(jx_str(message, key, ""), value) == 0) {
            json_incref(message);
            json_array_remove(r->inbox, i);
            return message;
        }
    }
    return NULL;
}

json_t *rig_wait_message(struct rig *r, const char *key, const char *value)
{
    int64_t deadline = clock_mono_ms() + RIG_PATIENCE_MS;
    json_t *message;
    while (!(message = take(r, key, value)))
        if (!step(r, deadline))
            fail_msg("waited for a message with %s %s; the screen is:\n%s", key, value,
                     rig_screen(r));
    return message;
}

static int wait_status(struct rig *r)
{
    int64_t deadline = clock_mono_ms() + RIG_PATIENCE_MS;
    while (!r->has_status)
        if (!step(r, deadline))
            fail_msg("it neither ends nor stops; the screen is:\n%s", rig_screen(r));
    r->has_status = false;
    struct pollfd left = {.fd = r->master, .events = POLLIN};
    while (poll(&left, 1, 0) > 0 &&
           left.revents & POLLIN) /* what it wrote last is in the pty already */
        read_terminal(r);
    return r->status;
}

int rig_wait_end(struct rig *r)
{
    int status = wait_status(r);
    assert_false(WIFSTOPPED(status));
    return status;
}

void rig_wait_stop(struct rig *r)
{
    assert_true(WIFSTOPPED(wait_status(r)));
}

/* ---- the terminal ---- */

void rig_type(struct rig *r, const char *keys)
{
    struct err err = ERR_INIT;
    must(fs_write_fd(r->master, keys, strlen(keys), &err), &err);
}

void rig_resize(struct rig *r, int rows, int cols)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
    r->rows = rows;
    r->cols = cols;
    vt_resize(r->vt, rows, cols);
    assert_int_equal(ioctl(r->master, TIOCSWINSZ, &size), 0);
}

void rig_check_restored(struct rig *r)
{
    struct termios now;
    assert_int_equal(tcgetattr(r->slave, &now), 0);
    assert_int_equal(now.c_iflag, r->before.c_iflag);
    assert_int_equal(now.c_oflag, r->before.c_oflag);
    assert_int_equal(now.c_cflag, r->before.c_cflag);
    assert_int_equal(now.c_lflag, r->before.c_lflag);
    assert_memory_equal(now.c_cc, r->before.c_cc, sizeof(now.c_cc));
    /* The main screen, the cursor and the paste mode are given back too, after everything else. */
    const char *last = r->raw.ptr + (r->raw.len > 400 ? r->raw.len - 400 : 0);
    assert_non_null(strstr(last, "\x1b[?1049l"));
    assert_non_null(strstr(last, "\x1b[?2004l"));
    assert_null(strstr(strstr(last, "\x1b[?1049l"), "\x1b[?1049h"));
}

bool rig_is_raw(const struct rig *r)
{
    struct termios now;
    assert_int_equal(tcgetattr(r->slave, &now), 0);
    return !(now.c_lflag & ISIG);
}
