/*
 * sync against a peer on the other end of a socket pair, or a forked one where both must act.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/wire/socket.h"
#include "runner/wire/sync.h"

static struct sync_conn pair(int *ret_peer)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct sync_conn c = {.fd = fds[0], .next_id = 1};
    frame_init(&c.frame, LIMIT_LINE_BYTES);
    *ret_peer = fds[1];
    return c;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void recv_gives_messages_then_times_out_then_the_end(void **state)
{
    (void)state;
    int peer;
    struct sync_conn c = pair(&peer);
    struct err err = ERR_INIT;
    say(peer, "{\"n\":1}\n{\"n\":2}\n{\"n\"");
    for (int i = 1; i <= 2; i++) {
        AUTO_JSON json_t *msg = NULL;
        assert_true(sync_recv(&msg, &c, -1, &err));
        assert_int_equal(jx_int(msg, "n", 0), i);
    }
    json_t *none = NULL;
    assert_true(sync_recv(&none, &c, 0, &err));
    assert_null(none);
    assert_true(sync_recv(&none, &c, 10, &err));
    assert_null(none);
    close(peer);
    assert_false(sync_recv(&none, &c, -1, &err));
    assert_int_equal(err.code, ERR_SYS);
    assert_int_equal(err.sys_errno, ECONNRESET);
    sync_close(&c);
    sync_close(&c);
    assert_int_equal(c.fd, -1);
}

static void nonsense_is_a_format_error(void **state)
{
    (void)state;
    int peer;
    struct sync_conn c = pair(&peer);
    struct err err = ERR_INIT;
    json_t *msg = NULL;
    say(peer, "{\"a\":1,\"a\":2}\n");
    assert_false(sync_recv(&msg, &c, -1, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    sync_close(&c);
    close(peer);
}

static void a_line_over_the_limit_is_refused(void **state)
{
    (void)state;
    int peer;
    struct sync_conn c = pair(&peer);
    frame_release(&c.frame);
    frame_init(&c.frame, 10);
    struct err err = ERR_INIT;
    json_t *msg = NULL;
    say(peer, "{\"n\":1234567890}");
    assert_false(sync_recv(&msg, &c, -1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    sync_close(&c);
    close(peer);
}

static void sending_to_a_peer_that_left_is_an_error_and_no_signal(void **state)
{
    (void)state;
    int peer;
    struct sync_conn c = pair(&peer);
    struct err err = ERR_INIT;
    close(peer);
    AUTO_JSON json_t *msg = json_object();
    assert_false(sync_send(&c, msg, &err));
    assert_int_equal(err.sys_errno, EPIPE);
    sync_close(&c);
}

static void a_call_skips_events_and_gives_its_own_result(void **state)
{
    (void)state;
    int peer;
    struct sync_conn c = pair(&peer);
    struct err err = ERR_INIT;
    say(peer, "{\"id\":1,\"event\":{\"e\":\"gone\"}}\n{\"id\":99,\"ok\":true,\"result\":0}\n"
              "{\"id\":1,\"ok\":true,\"result\":{\"x\":5}}\n"
              "{\"id\":2,\"ok\":true}\n"
              "{\"id\":3,\"ok\":false,\"error\":{\"code\":\"conflict\",\"message\":\"decided by "
              "Ann\"}}\n");
    AUTO_JSON json_t *request = json_pack("{s:s}", "run", "3");
    AUTO_JSON json_t *result = NULL, *nothing = NULL, *failed = NULL;
    assert_true(sync_call(&result, &c, "attempt.list", request, &err));
    assert_int_equal(jx_int(result, "x", 0), 5);
    assert_true(sync_call(&nothing, &c, "server.info", NULL, &err));
    assert_true(json_is_null(nothing));
    assert_false(sync_call(&failed, &c, "call.decide", NULL, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_string_equal(err.text, "decided by Ann");

    char sent[512] = {0};
    assert_true(read(peer, sent, sizeof sent - 1) > 0);
    assert_non_null(strstr(sent, "\"run\":\"3\""));
    assert_non_null(strstr(sent, "\"id\":1"));
    assert_non_null(strstr(sent, "\"op\":\"attempt.list\""));
    sync_close(&c);
    close(peer);
}

static void large_messages_cross_a_real_socket(void **state)
{
    (void)state;
    char dir[] = "/tmp/sync_test.XXXXXX";
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *path = xasprintf("%s/s", dir);
    struct err err = ERR_INIT;
    AUTO_FD int listening = socket_listen(path, 0600, &err);
    assert_true(listening >= 0);
    pid_t child = fork();
    if (child == 0) {
        /* Sends three megabytes in one message and expects them back. */
        struct sync_conn c;
        json_t *msg = NULL, *back = NULL;
        char *big = xmalloc(3 * 1024 * 1024 + 1);
        memset(big, 'b', 3 * 1024 * 1024);
        big[3 * 1024 * 1024] = '\0';
        msg = json_pack("{s:s}", "big", big);
        bool ok = sync_open(&c, path, &err) && sync_send(&c, msg, &err) &&
                  sync_recv(&back, &c, -1, &err) && json_equal(msg, back);
        _exit(ok ? 0 : 1);
    }
    int fd;
    do
        fd = accept(listening, NULL, NULL);
    while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    struct sync_conn server = {.fd = fd, .next_id = 1};
    frame_init(&server.frame, LIMIT_LINE_BYTES);
    AUTO_JSON json_t *msg = NULL;
    assert_true(sync_recv(&msg, &server, -1, &err));
    assert_true(sync_send(&server, msg, &err));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    sync_close(&server);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recv_gives_messages_then_times_out_then_the_end),
        cmocka_unit_test(nonsense_is_a_format_error),
        cmocka_unit_test(a_line_over_the_limit_is_refused),
        cmocka_unit_test(sending_to_a_peer_that_left_is_an_error_and_no_signal),
        cmocka_unit_test(a_call_skips_events_and_gives_its_own_result),
        cmocka_unit_test(large_messages_cross_a_real_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
