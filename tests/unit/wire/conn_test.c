/*
 * conn and listener on a real loop: one end is the conn, the other a plain socket or a second conn.
 * Every test ends with a loop that closes, so no handle and no conn is left.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/buf.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/wire/conn.h"
#include "runner/wire/listener.h"
#include "runner/wire/socket.h"

struct seen {
    struct conn *conn;
    struct buf text; /* numbers "n" of the messages, or raw lines */
    int broken, closed;
    struct err err;
    bool close_in_callback, echo, finish_in_callback;
};

static void on_message(struct conn *c, json_t *msg, void *arg)
{
    struct seen *s = arg;
    buf_addf(&s->text, "%lld ", (long long)jx_int(msg, "n", -1));
    if (s->echo)
        conn_send(c, msg);
    if (s->close_in_callback) {
        conn_close(c);
        conn_close(c);
        conn_send(c, msg);
    }
    if (s->finish_in_callback)
        conn_finish(c);
}

static void on_line(struct conn *c, const char *line, size_t len, void *arg)
{
    struct seen *s = arg;
    (void)c;
    buf_addf(&s->text, "[%.*s]", (int)len, line);
}

static void on_broken(struct conn *c, const struct err *err, void *arg)
{
    struct seen *s = arg;
    (void)err;
    s->broken++;
    conn_send_raw(c, "last\n", 5);
}

static void on_closed(struct conn *c, const struct err *err, void *arg)
{
    struct seen *s = arg;
    assert_ptr_equal(c, s->conn);
    s->closed++;
    s->err = *err;
}

static const struct conn_ops plain_ops = {.message = on_message,
                                          .closed = on_closed,
                                          .max_line_bytes = 1024,
                                          .max_queue_bytes = 64 * 1024};

struct world {
    uv_loop_t loop;
    int peer; /* -1: closed */
    struct seen seen;
};

static void world_open(struct world *w, const struct conn_ops *ops)
{
    int fds[2];
    *w = (struct world){.seen = {.text = BUF_INIT}};
    assert_int_equal(uv_loop_init(&w->loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    w->peer = fds[1];
    w->seen.conn = conn_open(&w->loop, fds[0], ops, &w->seen);
}

static void world_hang_up(struct world *w)
{
    close(w->peer);
    w->peer = -1;
}

static void world_done(struct world *w)
{
    if (w->peer >= 0)
        close(w->peer);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(w->seen.closed, 1);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    buf_release(&w->seen.text);
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void read_all(int fd, struct buf *out)
{
    char data[4096];
    for (ssize_t n; (n = read(fd, data, sizeof data)) > 0;)
        buf_add(out, data, (size_t)n);
}

static void messages_arrive_whole_in_order_until_the_peer_closes(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &plain_ops);
    say(w.peer, "{\"n\":1}\n{\"n\":2}\n{\"n\"");
    uv_run(&w.loop, UV_RUN_NOWAIT);
    assert_string_equal(w.seen.text.ptr, "1 2 ");
    say(w.peer, ":3}\n");
    world_hang_up(&w);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_string_equal(w.seen.text.ptr, "1 2 3 ");
    assert_int_equal(w.seen.err.code, ERR_NONE);
    world_done(&w);
}

static void half_a_message_is_an_error(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &plain_ops);
    say(w.peer, "{\"n\":1}\n{\"n\":");
    world_hang_up(&w);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_string_equal(w.seen.text.ptr, "1 ");
    assert_int_equal(w.seen.err.code, ERR_FORMAT);
    world_done(&w);
}

static void what_is_no_json_breaks_the_stream(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &plain_ops);
    say(w.peer, "{\"n\":1}\nnonsense\n{\"n\":2}\n");
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_string_equal(w.seen.text.ptr, "1 ");
    assert_int_equal(w.seen.err.code, ERR_FORMAT);
    world_done(&w);
}

static void a_long_line_is_answered_and_closed(void **state)
{
    (void)state;
    struct conn_ops ops = plain_ops;
    ops.broken = on_broken;
    struct world w;
    world_open(&w, &ops);
    AUTO_BUF struct buf text = BUF_INIT;
    while (text.len < 1500)
        buf_addch(&text, 'x');
    say(w.peer, text.ptr);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_int_equal(w.seen.broken, 1);
    assert_int_equal(w.seen.err.code, ERR_LIMIT);
    AUTO_BUF struct buf got = BUF_INIT;
    read_all(w.peer, &got);
    assert_string_equal(got.ptr, "last\n");
    world_done(&w);
}

static void lines_come_raw_when_asked_for(void **state)
{
    (void)state;
    struct conn_ops ops = plain_ops;
    ops.message = NULL;
    ops.line = on_line;
    struct world w;
    world_open(&w, &ops);
    say(w.peer, "not json\n\n{}\n");
    world_hang_up(&w);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_string_equal(w.seen.text.ptr, "[not json][][{}]");
    world_done(&w);
}

static void closing_inside_a_callback_ends_delivery(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &plain_ops);
    w.seen.close_in_callback = true;
    say(w.peer, "{\"n\":1}\n{\"n\":2}\n");
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_string_equal(w.seen.text.ptr, "1 ");
    AUTO_BUF struct buf got = BUF_INIT;
    read_all(w.peer, &got);
    assert_int_equal(got.len, 0);
    world_done(&w);
}

static void a_peer_that_does_not_read_is_dropped(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &plain_ops);
    AUTO_BUF struct buf line = BUF_INIT;
    while (line.len < 4000)
        buf_addch(&line, 'y');
    buf_addch(&line, '\n');
    for (int i = 0; i < 1000; i++) {
        conn_send_raw(w.seen.conn, line.ptr, line.len);
        assert_true(conn_queued_bytes(w.seen.conn) <= plain_ops.max_queue_bytes);
    }
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_int_equal(w.seen.err.code, ERR_LIMIT);
    world_done(&w);
}

static void on_read_all(uv_poll_t *poll, int status, int events)
{
    struct buf *got = poll->data;
    char data[4096];
    uv_os_fd_t fd;
    (void)status;
    (void)events;
    assert_int_equal(uv_fileno((uv_handle_t *)poll, &fd), 0);
    ssize_t n = read(fd, data, sizeof data);
    if (n > 0)
        buf_add(got, data, (size_t)n);
    else if (n == 0)
        uv_close((uv_handle_t *)poll, NULL);
}

static void finish_writes_what_is_queued_and_closes(void **state)
{
    (void)state;
    struct conn_ops ops = plain_ops;
    ops.max_queue_bytes = 16 * 1024 * 1024;
    struct world w;
    world_open(&w, &ops);
    AUTO_BUF struct buf line = BUF_INIT;
    while (line.len < 1024 * 1024)
        buf_addch(&line, 'z');
    buf_addch(&line, '\n');
    conn_send_raw(w.seen.conn, line.ptr, line.len);
    assert_true(conn_queued_bytes(w.seen.conn) > 0);
    conn_finish(w.seen.conn);
    conn_send_raw(w.seen.conn, "late\n", 5);
    AUTO_BUF struct buf got = BUF_INIT;
    uv_poll_t poll = {.data = &got};
    assert_int_equal(uv_poll_init(&w.loop, &poll, w.peer), 0);
    uv_poll_start(&poll, UV_READABLE, on_read_all);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_int_equal(got.len, line.len);
    world_done(&w);
}

static void what_was_sent_before_the_peer_left_is_read(void **state)
{
    (void)state;
    struct world w;
    world_open(&w, &plain_ops);
    say(w.peer, "{\"n\":1}\n{\"n\":2}\n");
    world_hang_up(&w);
    /* The write fails with EPIPE; the two messages are still in the socket. */
    conn_send_raw(w.seen.conn, "x\n", 2);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_string_equal(w.seen.text.ptr, "1 2 ");
    assert_int_equal(w.seen.err.code, ERR_NONE);
    world_done(&w);
}

static void unfinished_lines_share_a_bounded_pool(void **state)
{
    (void)state;
    struct conn_pool pool = {.max_bytes = 1000};
    struct conn_ops ops = plain_ops;
    ops.pool = &pool;
    struct world w;
    world_open(&w, &ops);
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct seen other = {.text = BUF_INIT};
    other.conn = conn_open(&w.loop, fds[0], &ops, &other);
    AUTO_BUF struct buf text = BUF_INIT;
    while (text.len < 600)
        buf_addch(&text, 'x');
    say(w.peer, text.ptr);
    uv_run(&w.loop, UV_RUN_NOWAIT);
    assert_int_equal(pool.bytes, 600);
    say(fds[1], text.ptr);
    uv_run(&w.loop, UV_RUN_NOWAIT);
    uv_run(&w.loop, UV_RUN_NOWAIT);
    assert_int_equal(other.closed, 1);
    assert_int_equal(other.err.code, ERR_LIMIT);
    assert_int_equal(w.seen.closed, 0);
    assert_int_equal(pool.bytes, 600);
    close(fds[1]);
    world_done(&w);
    assert_int_equal(pool.bytes, 0);
    buf_release(&other.text);
}

static void a_bad_descriptor_closes_with_an_error(void **state)
{
    (void)state;
    uv_loop_t loop;
    struct seen seen = {.text = BUF_INIT};
    assert_int_equal(uv_loop_init(&loop), 0);
    seen.conn = conn_open(&loop, 9999, &plain_ops, &seen);
    assert_int_equal(seen.closed, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(seen.closed, 1);
    assert_int_equal(seen.err.code, ERR_SYS);
    assert_int_equal(uv_loop_close(&loop), 0);
}

struct accepting {
    uv_loop_t *loop;
    struct listener *listener;
    struct seen seen;
    struct conn_ops ops;
};

static void on_accepted(void *arg, int fd)
{
    struct accepting *a = arg;
    assert_true(socket_peer_is_trusted(fd));
    a->seen.conn = conn_open(a->loop, fd, &a->ops, &a->seen);
    listener_close(a->listener);
}

static void a_listener_replaces_a_dead_one_but_not_a_living(void **state)
{
    (void)state;
    char dir[] = "/tmp/conn_test.XXXXXX";
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *path = xasprintf("%s/s", dir);
    struct err err = ERR_INIT;
    assert_int_equal(conn_connect(path, &err), -1);
    assert_int_equal(err.sys_errno, ENOENT);
    int first = conn_listen(path, 0600, &err);
    assert_true(first >= 0);
    assert_int_equal(conn_listen(path, 0600, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    close(first);
    assert_int_equal(conn_connect(path, &err), -1);
    assert_int_equal(err.sys_errno, ECONNREFUSED);

    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    int second = conn_listen(path, 0600, &err);
    assert_true(second >= 0);
    struct accepting a = {.loop = &loop, .seen = {.text = BUF_INIT}, .ops = plain_ops};
    a.seen.finish_in_callback = true;
    a.listener = listener_open(&loop, second, on_accepted, &a, &err);
    assert_non_null(a.listener);
    int client = conn_connect(path, &err);
    assert_true(client >= 0);
    say(client, "{\"n\":7}\n{\"n\":8}\n");
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_string_equal(a.seen.text.ptr, "7 ");
    assert_int_equal(a.seen.closed, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
    buf_release(&a.seen.text);
    close(client);
    unlink(path);
    rmdir(dir);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char path[200];
    struct err err = ERR_INIT;
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(conn_listen(path, 0600, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_whole_in_order_until_the_peer_closes),
        cmocka_unit_test(half_a_message_is_an_error),
        cmocka_unit_test(what_is_no_json_breaks_the_stream),
        cmocka_unit_test(a_long_line_is_answered_and_closed),
        cmocka_unit_test(lines_come_raw_when_asked_for),
        cmocka_unit_test(closing_inside_a_callback_ends_delivery),
        cmocka_unit_test(a_peer_that_does_not_read_is_dropped),
        cmocka_unit_test(finish_writes_what_is_queued_and_closes),
        cmocka_unit_test(what_was_sent_before_the_peer_left_is_read),
        cmocka_unit_test(unfinished_lines_share_a_bounded_pool),
        cmocka_unit_test(a_bad_descriptor_closes_with_an_error),
        cmocka_unit_test(a_listener_replaces_a_dead_one_but_not_a_living),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
