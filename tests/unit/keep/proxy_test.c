/*
 * The proxy by itself, with a resolver that answers as the test wants: the address that was checked
 * is the one connected to, and no name is looked up twice for it.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/own_address.h"
#include "runner/keep/proxy.h"

enum { ANSWER_MS = 20000 };

struct rig {
    uv_loop_t loop;
    struct proxy proxy;
    uv_poll_t answer;
    uv_timer_t deadline;
    char dir[64];
    struct buf got;
    uint16_t port; /* of the proxy */
    pid_t client, server;
    int client_fd;
    const char *reachable; /* the only address that may be reached; NULL: all */
    bool keeps;
    bool loses_rule, loses_address; /* once the client has heard from the server */
    bool is_late;
    char why[256];
};

/* ---- the owner of the proxy ---- */

static enum proxy_verdict on_judge(void *arg, struct proxy_conn *conn,
                                   const struct net_target *target, struct buf *ret_reason)
{
    (void)arg;
    (void)conn;
    (void)target;
    (void)ret_reason;
    return PROXY_ALLOW;
}

static void on_gave_up(void *arg, struct proxy_conn *conn)
{
    (void)arg;
    (void)conn;
}

static bool on_may_reach(void *arg, const struct host_address *address, uint16_t port)
{
    const struct rig *r = arg;
    struct host host;
    (void)port;
    host_of_address(&host, address);
    return !r->reachable || strcmp(host.text, r->reachable) == 0;
}

static void on_refused(void *arg, const struct net_target *target, const char *why)
{
    struct rig *r = arg;
    (void)target;
    snprintf(r->why, sizeof r->why, "%s", why);
}

static void on_closed(void *arg, const struct net_target *target, uint64_t up, uint64_t down)
{
    (void)arg;
    (void)target;
    (void)up;
    (void)down;
}

static const struct proxy_ops ops = {.judge = on_judge,
                                     .gave_up = on_gave_up,
                                     .may_reach = on_may_reach,
                                     .refused = on_refused,
                                     .closed = on_closed};

/* ---- sockets ---- */

static int listen_at(const char *address, uint16_t *port, int backlog)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
    if (bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, backlog) != 0)
        fail_msg("cannot listen at %s", address);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static int connect_to(const char *address, uint16_t port, int flags)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    inet_pton(AF_INET, address, &at.sin_addr);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0 && !flags)
        _exit(1);
    return fd;
}

/* Says its address to whoever connects, and keeps the connection. */
static pid_t serve(int fd, const char *address)
{
    pid_t pid = fork();
    while (pid == 0) {
        int client = accept(fd, NULL, NULL);
        if (client < 0 || write(client, address, strlen(address)) < 0)
            _exit(1);
    }
    close(fd);
    return pid;
}

/* ---- the rig ---- */

static void write_script(const struct rig *r, const char *answers)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = xasprintf("%s/resolve", r->dir);
    AUTO_FREE char *text = xasprintf("#!/bin/sh\necho \"$2\" >>%s/asked\n%s\n", r->dir, answers);
    assert_true(fs_write_plain(AT_FDCWD, path, text, strlen(text), 0755, &err));
    assert_int_equal(chmod(path, 0755), 0);
}

static void rig_init(struct rig *r, const char *answers)
{
    struct err err = ERR_INIT;
    *r = (struct rig){.dir = "/tmp/headgate-proxy-test.XXXXXX", .got = BUF_INIT, .keeps = true};
    assert_non_null(mkdtemp(r->dir));
    write_script(r, answers);
    assert_int_equal(uv_loop_init(&r->loop), 0);
    AUTO_FREE char *resolver = xasprintf("%s/resolve", r->dir);
    proxy_init(&r->proxy, &r->loop, &ops, r, resolver);
    assert_true(proxy_listen(&r->proxy, listen_at("127.0.0.1", &r->port, 16), &err));
}

static bool keeps(void *arg, const struct net_target *target)
{
    const struct rig *r = arg;
    (void)target;
    return r->keeps;
}

static void on_answer(uv_poll_t *poll, int status, int events)
{
    struct rig *r = poll->data;
    char bytes[4096];
    (void)events;
    ssize_t n = status == 0 ? read(r->client_fd, bytes, sizeof bytes) : -1;
    if (n <= 0) {
        uv_stop(&r->loop);
        return;
    }
    buf_add(&r->got, bytes, (size_t)n);
    if (!strstr(r->got.ptr, "127.0.0.") || !(r->loses_rule || r->loses_address))
        return;
    if (r->loses_rule)
        r->keeps = false;
    if (r->loses_address)
        r->reachable = "127.0.0.9";
    proxy_recheck(&r->proxy, keeps);
}

static void on_late(uv_timer_t *timer)
{
    struct rig *r = timer->data;
    r->is_late = true;
    uv_stop(timer->loop);
}

static void on_closed_client(uv_handle_t *handle)
{
    (void)handle;
}

/* A client of the proxy sends this and reads to the end; what it read is in got. */
static void talk(struct rig *r, const char *bytes)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    r->client = fork();
    if (r->client == 0) {
        char chunk[4096];
        ssize_t n = 0;
        int fd = connect_to("127.0.0.1", r->port, 0);
        if (write(fd, bytes, strlen(bytes)) < 0)
            _exit(1);
        while ((n = read(fd, chunk, sizeof chunk)) > 0)
            if (write(fds[1], chunk, (size_t)n) < 0)
                break;
        _exit(0);
    }
    close(fds[1]);
    r->client_fd = fds[0];
    buf_clear(&r->got);
    uv_poll_init(&r->loop, &r->answer, fds[0]);
    uv_timer_init(&r->loop, &r->deadline);
    r->answer.data = r;
    r->deadline.data = r;
    uv_poll_start(&r->answer, UV_READABLE, on_answer);
    uv_timer_start(&r->deadline, on_late, ANSWER_MS, 0);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&r->answer, on_closed_client);
    uv_close((uv_handle_t *)&r->deadline, on_closed_client);
    kill(r->client, SIGKILL);
    waitpid(r->client, NULL, 0);
    uv_run(&r->loop, UV_RUN_NOWAIT);
    close(fds[0]);
}

static size_t times_asked(const struct rig *r)
{
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = xasprintf("%s/asked", r->dir);
    size_t n = 0;
    if (!fs_read_file(&text, AT_FDCWD, path, 4096, &ignored))
        return 0;
    for (const char *p = text.ptr; (p = strchr(p, '\n')); p++)
        n++;
    return n;
}

static void rig_done(struct rig *r)
{
    struct err ignored = ERR_INIT;
    proxy_close(&r->proxy);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&r->loop), 0);
    proxy_release(&r->proxy);
    buf_release(&r->got);
    if (r->server > 0) {
        kill(r->server, SIGKILL);
        waitpid(r->server, NULL, 0);
    }
    bool is_gone = fs_remove_tree(AT_FDCWD, r->dir, &ignored);
    assert_true(is_gone);
}

static char *connect_line(uint16_t port)
{
    return xasprintf("CONNECT listed.test:%u HTTP/1.1\r\n\r\n", port);
}

/* ---- tests ---- */

static void a_name_is_looked_up_once_and_pinned(void **state)
{
    (void)state;
    struct rig r;
    uint16_t port = 0;
    /* Another answer each time it is asked, as a server that rebinds a name would give. */
    rig_init(&r, "[ \"$(wc -l <\"${0%/*}/asked\")\" = 1 ] && echo 127.0.0.2 || echo 127.0.0.1");
    r.server = serve(listen_at("127.0.0.2", &port, 16), "127.0.0.2");
    r.reachable = "127.0.0.2";
    r.loses_rule = true; /* so that the connection ends once its answer came */
    AUTO_FREE char *request = connect_line(port);
    talk(&r, request);
    assert_non_null(strstr(r.got.ptr, " 200 "));
    assert_non_null(strstr(r.got.ptr, "127.0.0.2"));
    talk(&r, request);
    assert_non_null(strstr(r.got.ptr, "127.0.0.2"));
    assert_int_equal(times_asked(&r), 1);
    rig_done(&r);
}

static void a_name_that_leads_elsewhere_is_refused(void **state)
{
    (void)state;
    struct rig r;
    uint16_t port = 0;
    rig_init(&r, "echo 127.0.0.1; echo ::1; echo 169.254.169.254");
    r.server = serve(listen_at("127.0.0.1", &port, 16), "127.0.0.1");
    r.reachable = "127.0.0.9";
    AUTO_FREE char *request = connect_line(port);
    talk(&r, request);
    assert_non_null(strstr(r.got.ptr, "HTTP/1.1 403 "));
    assert_non_null(strstr(r.got.ptr, "leads to 127.0.0.1, a loopback address"));
    assert_non_null(strstr(r.why, "leads to 127.0.0.1"));
    assert_null(strstr(r.got.ptr, " 200 "));
    rig_done(&r);
}

static void a_name_without_an_address_is_told(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r, "echo not an address; exit 1");
    talk(&r, "CONNECT listed.test:9 HTTP/1.1\r\n\r\n");
    assert_non_null(strstr(r.got.ptr, "HTTP/1.1 502 "));
    assert_non_null(strstr(r.got.ptr, "the name listed.test has no address"));
    rig_done(&r);
}

/* A socket that takes no further connection: what is sent to it is not answered. */
static int fill(uint16_t *port, int ret_fds[8])
{
    int fd = listen_at("127.0.0.1", port, 0);
    for (int i = 0; i < 8; i++)
        ret_fds[i] = connect_to("127.0.0.1", *port, SOCK_NONBLOCK);
    return fd;
}

static void an_address_that_is_silent_makes_way_for_the_next(void **state)
{
    (void)state;
    struct rig r;
    uint16_t port = 0;
    int fds[8], silent = fill(&port, fds);
    rig_init(&r, "echo 127.0.0.1; echo 127.0.0.2");
    r.server = serve(listen_at("127.0.0.2", &port, 16), "127.0.0.2");
    r.loses_rule = true;
    AUTO_FREE char *request = connect_line(port);
    talk(&r, request);
    assert_non_null(strstr(r.got.ptr, "127.0.0.2"));
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    close(silent);
    rig_done(&r);
}

/* The server keeps its connections, so only the proxy can end one. */
static void what_is_no_longer_kept_is_closed(void **state)
{
    (void)state;
    for (int by_address = 0; by_address < 2; by_address++) {
        struct rig r;
        uint16_t port = 0;
        rig_init(&r, "echo 127.0.0.2");
        r.server = serve(listen_at("127.0.0.2", &port, 16), "127.0.0.2");
        r.loses_rule = !by_address;
        r.loses_address = by_address;
        AUTO_FREE char *request = connect_line(port);
        talk(&r, request);
        assert_non_null(strstr(r.got.ptr, "127.0.0.2"));
        assert_false(r.is_late);
        rig_done(&r);
    }
}

/* Clients that wait for an answer before they send a line: the first bytes of SOCKS4 and of TLS. */
static void another_protocol_is_refused_at_once(void **state)
{
    (void)state;
    static const char *const firsts[] = {"\4\1\1", "\x16\3\1", "\r\n"};
    struct rig r;
    rig_init(&r, "exit 1");
    for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
        talk(&r, firsts[i]);
        assert_false(r.is_late);
        assert_non_null(strstr(r.got.ptr, "HTTP/1.1 400 "));
        assert_non_null(strstr(r.got.ptr, "speaks HTTP and SOCKS5 alone"));
    }
    rig_done(&r);
}

static void addresses_of_this_machine_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_own;
    } rows[] = {
        {"127.0.0.1", true},    {"127.9.9.9", true},    {"::1", true},
        {"203.0.113.9", false}, {"2001:db8::9", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct host host;
        struct err err = ERR_INIT;
        assert_true(host_parse(&host, rows[i].text, strlen(rows[i].text), &err));
        if (own_address_is(&host.address) != rows[i].is_own)
            fail_msg("%s", rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_looked_up_once_and_pinned),
        cmocka_unit_test(a_name_that_leads_elsewhere_is_refused),
        cmocka_unit_test(a_name_without_an_address_is_told),
        cmocka_unit_test(an_address_that_is_silent_makes_way_for_the_next),
        cmocka_unit_test(what_is_no_longer_kept_is_closed),
        cmocka_unit_test(another_protocol_is_refused_at_once),
        cmocka_unit_test(addresses_of_this_machine_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
