/*
 * The egress proxy of a real keeper on a real box, spoken to by the real curl inside: what is
 * listed passes, what is not is asked or denied in the protocol's own words, and sums are recorded.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

enum { PROXY_PORT = 17117 };

/* An HTTP server on the host's loopback, in a process of its own: whatever the request, `hello`. */
static pid_t start_server(uint16_t *ret_port)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    pid_t pid = fork();
    while (pid == 0) {
        char bytes[4096];
        int client = accept(fd, NULL, NULL);
        ssize_t n = read(client, bytes, sizeof bytes);
        if (n > 0 && write(client, answer, sizeof answer - 1) < 0)
            break;
        close(client);
    }
    close(fd);
    return pid;
}

static void end_server(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A box with the proxy, a deadline for questions, and these hosts listed (NULL: none). */
static void start(struct world *w, const char *script, const char *listed, int deadline_ms)
{
    static const char get[] =
        "get() { curl -s -m 20 -o /dev/stdout -w ' %{http_connect} %{http_code}\\n' \"$@\"; }; ";
    json_t *net = json_array();
    AUTO_FREE char *whole = xasprintf("%s%s", get, script);
    world_init(w, whole);
    strv_pushf(&w->spec.listen_ports, "%d", PROXY_PORT);
    if (listed)
        json_array_append_new(net, json_string(listed));
    json_object_set_new(
        w->config, "proxy",
        json_pack("{s:i s:o s:i}", "port", PROXY_PORT, "net", net, "deadline_ms", deadline_ms));
    world_start(w);
}

#define CURL "get "
#define PROXY "-x http://127.0.0.1:17117 "

static void a_listed_address_is_reached_in_three_protocols_and_counted(void **state)
{
    (void)state;
    struct world w;
    uint16_t port;
    pid_t server = start_server(&port);
    AUTO_FREE char *listed = xasprintf("127.0.0.1:%u", port);
    AUTO_FREE char *script = xasprintf(
        CURL PROXY
        "http://%s/a; " CURL "-p " PROXY "http://%s/b; " CURL
        "-x socks5h://[::1]:17117 http://%s/c; curl -s -m 5 --noproxy '*' http://%s/; echo $?",
        listed, listed, listed, listed);
    start(&w, script, listed, 0);
    AUTO_JSON json_t *decided = world_record(&w, "decided");
    assert_string_equal(jx_str(decided, "verdict", ""), "allow");
    assert_string_equal(jx_str(jx_obj(decided, "request"), "source", ""), "net");
    AUTO_JSON json_t *net = world_record(&w, "net");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "hello\n 000 200\nhello\n 200 200\nhello\n 000 200\n7\n");
    assert_int_equal(jx_int(net, "port", 0), port);
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "decided"), 1);
    world_done(&w);
    end_server(server);
}

static void a_private_address_that_no_rule_lists_is_denied_at_once(void **state)
{
    (void)state;
    struct world w;
    uint16_t port;
    pid_t server = start_server(&port);
    AUTO_FREE char *script = xasprintf(
        CURL PROXY "http://127.0.0.1:%u/; " CURL "-p " PROXY "http://127.0.0.1:%u/; " CURL
                   "-x socks5h://127.0.0.1:17117 http://127.0.0.1:%u/; echo $?; " CURL PROXY
                   "http://169.254.169.254/latest/",
        port, port, port);
    start(&w, script, "127.0.0.1:1", 0);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "127.0.0.1 is a loopback address");
    world_expect_in_log(&w, " 403 000\n");
    world_expect_in_log(&w, " 000 000\n97\n");
    world_expect_in_log(&w, "169.254.169.254 is a cloud metadata address");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "asked"), 0);
    world_done(&w);
    end_server(server);
}

static void decide(struct world *w, const json_t *asked, const char *decision, const char *reason)
{
    world_send(w, json_pack("{s:s s:I s:s s:s s:s s:s}", "t", "decide", "call",
                            (json_int_t)jx_int(asked, "call", 0), "name", "c7", "decision",
                            decision, "reason", reason, "digest", jx_str(asked, "digest", "")));
}

static void an_unlisted_host_is_asked_once_and_a_denial_holds(void **state)
{
    (void)state;
    struct world w;
    start(&w,
          "for i in 1 2 3; do curl -s -m 20 " PROXY "http://unlisted.example/ & done; wait; " CURL
          "-p " PROXY "http://unlisted.example/ || true",
          NULL, 20000);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    const json_t *args = jx_obj(jx_obj(asked, "request"), "args");
    assert_string_equal(jx_str(args, "host", ""), "unlisted.example");
    assert_int_equal(jx_int(args, "port", 0), 80);
    decide(&w, asked, "deny", "ask for the mirror");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "unlisted.example:80 is denied (call c7): ask for the mirror\n");
    world_expect_in_log(&w, " 403 000\n");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "asked"), 1);
    world_done(&w);
}

static void an_approval_lets_the_held_connection_go_on(void **state)
{
    (void)state;
    struct world w;
    start(&w, CURL PROXY "http://localhost:9/; " CURL PROXY "http://localhost:9/", NULL, 20000);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    decide(&w, asked, "allow", "");
    AUTO_JSON json_t *consumed = world_record(&w, "consumed");
    world_expect_exit(&w, 0, "exit");
    /* The name was approved, and where it leads is still not reached. */
    world_expect_in_log(&w, "localhost leads to ");
    world_expect_in_log(&w, "a loopback address");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "asked"), 1);
    world_done(&w);
}

static void a_rule_that_denies_ends_the_wait(void **state)
{
    (void)state;
    struct world w;
    start(&w, CURL PROXY "http://unlisted.example/", NULL, 20000);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    world_send(&w, json_pack("{s:s s:i s:s s:[{s:i s:s}]}", "t", "policy", "epoch", 4, "ladder",
                             "auto", "rules", "id", 9, "text", "deny host *.example"));
    AUTO_JSON json_t *orphaned = world_record(&w, "orphaned");
    decide(&w, asked, "allow", ""); /* comes too late */
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "the rule 'deny host *.example' holds here");
    world_expect_in_log(&w, " 000 403\n");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "consumed"), 0);
    world_done(&w);
}

static void a_deadline_is_told_as_one(void **state)
{
    (void)state;
    struct world w;
    start(&w, CURL PROXY "http://unlisted.example/", NULL, 300);
    AUTO_JSON json_t *expired = world_record(&w, "expired");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "retry after it was approved");
    world_expect_in_log(&w, "000 403\n");
    world_done(&w);
}

/* Hosts by the hundred are neither recorded by the hundred nor reached. On a machine so busy that
 * requests come no faster than they may, more of them are tried. */
static void records_follow_no_flood_of_hosts(void **state)
{
    enum { AT_ONCE = 256, A_SECOND = 10 };
    (void)state;
    struct world w;
    start(&w,
          "n=0; until curl -sZ " PROXY
          "\"http://10.$n.[0-3].[1-150]/\" 2>/dev/null | grep -m1 'too many'; do "
          "n=$((n+1)); done; "
          "until curl -s " PROXY "http://10.255.9.9/ | grep private; do sleep 0.1; done",
          NULL, 0);
    int64_t began_ms = clock_mono_ms();
    world_expect_exit(&w, 0, "exit");
    int64_t may = AT_ONCE + A_SECOND * ((clock_mono_ms() - began_ms) / 1000 + 2);
    world_expect_in_log(&w, "too many different hosts; wait and try again");
    world_expect_in_log(&w, "10.255.9.9 is a private address"); /* it goes on a little later */
    AUTO_JSON json_t *records = world_spool(&w);
    size_t i, n_over = 0;
    json_t *record;
    json_array_foreach(records, i, record)
    {
        if (strcmp(jx_str(record, "host", ""), "*") == 0)
            n_over += (size_t)jx_int(record, "denied", 0);
    }
    assert_in_range(world_count(records, "decided"), AT_ONCE - 50, (uintmax_t)may);
    assert_true(n_over > 0);
    world_done(&w);
}

static void a_list_that_cannot_be_read_starts_nothing(void **state)
{
    (void)state;
    struct world w;
    AUTO_BUF struct buf text = BUF_INIT;
    world_init(&w, "true");
    json_object_set_new(w.config, "proxy",
                        json_pack("{s:i s:[s]}", "port", PROXY_PORT, "net", "no such host!"));
    assert_int_not_equal(world_try_start(&w, &text), 0);
    assert_non_null(strstr(text.ptr, "no such host!"));
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_listed_address_is_reached_in_three_protocols_and_counted),
        world_test(a_private_address_that_no_rule_lists_is_denied_at_once),
        world_test(an_unlisted_host_is_asked_once_and_a_denial_holds),
        world_test(an_approval_lets_the_held_connection_go_on),
        world_test(a_rule_that_denies_ends_the_wait),
        world_test(a_deadline_is_told_as_one),
        world_test(records_follow_no_flood_of_hosts),
        world_test(a_list_that_cannot_be_read_starts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
