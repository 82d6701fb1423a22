#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/cmd/box_proxy.h"
#include "runner/cmd/escape_world.h"
#include "sandbox/escape/live.h"

/*
 * What a client tries with the egress proxy. Beyond it is a server of the host that tells how many
 * requests reached it. The control is a proxy as plain as can be, which carries whatever comes to
 * that server: there each attempt comes through.
 */

#define PROXY_PORT "17117"
enum {
    PORT = 17117,
    LISTENERS = 2,
    HEAD_BYTES = 128 * 1024,
    LINE_TIMEOUT_MS = 10000,
    RECORD_HANDSHAKE = 22
};

/* ---- the server beyond ---- */

static size_t count(const struct buf *bytes, const char *text)
{
    size_t n = 0;
    for (const char *at = bytes->ptr; (at = strstr(at, text)); at += strlen(text))
        n++;
    return n;
}

/* How many requests came, or hellos of TLS, each with the random that try_net.c gives it. */
static size_t count_asked(const struct buf *all)
{
    static const char random[] = "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr";
    if (all->ptr[0] == RECORD_HANDSHAKE)
        return count(all, random);
    if (all->ptr[0] != 'G' && all->ptr[0] != 'P')
        return 1;
    return strstr(all->ptr, "\r\n\r\n") ? count(all, "HTTP/1.1\r\n") : 0;
}

/* To a first hello, that another one is wanted (RFC 8446, 4.1.4). */
static void ask_again(int fd)
{
    static const unsigned char retry[] = {RECORD_HANDSHAKE,
                                          3,
                                          3,
                                          0,
                                          42,
                                          2,
                                          0,
                                          0,
                                          38,
                                          3,
                                          3, /* the random, then no session, a cipher */
                                          0xcf,
                                          0x21,
                                          0xad,
                                          0x74,
                                          0xe5,
                                          0x9a,
                                          0x61,
                                          0x11,
                                          0xbe,
                                          0x1d,
                                          0x8c,
                                          0x02,
                                          0x1e,
                                          0x65,
                                          0xb8,
                                          0x91,
                                          0xc2,
                                          0xa2,
                                          0x11,
                                          0x16,
                                          0x7a,
                                          0xbb,
                                          0x8c,
                                          0x5e,
                                          0x07,
                                          0x9e,
                                          0x09,
                                          0xe2,
                                          0xc8,
                                          0xa8,
                                          0x33,
                                          0x9c,
                                          0,
                                          0x13,
                                          1,
                                          0};
    send(fd, retry, sizeof(retry), MSG_NOSIGNAL);
}

/* One connection: "served-N" for the Nth request. */
static void serve_client(int fd)
{
    AUTO_BUF struct buf all = BUF_INIT;
    char chunk[4096];
    size_t told = 0;
    for (;;) {
        ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
        if (n <= 0)
            return;
        for (ssize_t i = 0; i < n; i++)
            buf_addch(&all, chunk[i] ? chunk[i] : ' ');
        size_t seen = count_asked(&all);
        if (seen == told)
            continue;
        if (told == 0 && all.ptr[0] == RECORD_HANDSHAKE)
            ask_again(fd);
        told = seen;
        AUTO_FREE char *text =
            xasprintf("served-%zu%s\n", seen, count(&all, "\r\nUpgrade:") ? "-upgraded" : "");
        AUTO_FREE char *answer =
            xasprintf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(text), text);
        send(fd, answer, strlen(answer), MSG_NOSIGNAL);
    }
}

static void serve(int listener)
{
    for (;;) {
        AUTO_FD int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return;
        serve_client(fd);
    }
}

/* ---- the control: a proxy that trusts its client ---- */

static int dial(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return -1;
    return steal_fd(&fd);
}

static void carry(int a, int b)
{
    char chunk[4096];
    struct pollfd fds[] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    while (poll(fds, ARRAY_LEN(fds), -1) > 0)
        for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
            ssize_t n = fds[i].revents ? recv(fds[i].fd, chunk, sizeof(chunk), 0) : 1;
            if (n <= 0)
                return;
            if (fds[i].revents)
                send(fds[1 - i].fd, chunk, (size_t)n, MSG_NOSIGNAL);
        }
}

static void trust_client(int client, uint16_t port)
{
    static const char through[] = "HTTP/1.1 200 OK\r\n\r\n";
    AUTO_BUF struct buf head = BUF_INIT;
    AUTO_FD int server = dial(port);
    char c;
    while (head.len < HEAD_BYTES && !strstr(head.ptr, "\r\n\r\n")) {
        if (recv(client, &c, 1, 0) != 1)
            return;
        buf_addch(&head, c);
    }
    if (strncmp(head.ptr, "CONNECT ", 8) == 0)
        send(client, through, sizeof(through) - 1, MSG_NOSIGNAL);
    else
        send(server, head.ptr, head.len, MSG_NOSIGNAL);
    carry(client, server);
}

static void trust(const int listeners[LISTENERS], uint16_t port)
{
    struct pollfd fds[LISTENERS];
    for (int i = 0; i < LISTENERS; i++)
        fds[i] = (struct pollfd){.fd = listeners[i], .events = POLLIN};
    while (poll(fds, LISTENERS, -1) > 0)
        for (int i = 0; i < LISTENERS; i++) {
            AUTO_FD int client =
                fds[i].revents ? accept4(listeners[i], NULL, NULL, SOCK_CLOEXEC) : -1;
            if (client >= 0)
                trust_client(client, port);
        }
}

/* ---- the proxy itself ---- */

static void judge(const int listeners[LISTENERS], const struct strv *hosts)
{
    struct box_proxy *proxy = NULL;
    struct err err = ERR_INIT;
    if (!box_proxy_new(&proxy, hosts, PORT, &err))
        return;
    for (int i = 0; i < LISTENERS; i++)
        if (listeners[i] >= 0 && !box_proxy_listen(proxy, listeners[i], &err))
            return;
    for (;;) {
        int timeout_ms;
        struct pollfd p = box_proxy_poll(proxy, &timeout_ms);
        if (poll(&p, 1, timeout_ms) < 0 && errno != EINTR)
            return;
        box_proxy_step(proxy);
    }
}

/* ---- the stage ---- */

struct stage {
    struct escape_live live;
    int server_fd;
    int listeners[LISTENERS]; /* of the box */
    uint16_t port;            /* of the server */
    pid_t server, proxy;
};

static void end_child(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void stage_end(struct stage *s)
{
    end_child(s->proxy);
    end_child(s->server);
    auto_fd_(&s->server_fd);
    for (int i = 0; i < LISTENERS; i++)
        auto_fd_(&s->listeners[i]);
    escape_live_end(&s->live);
}

static bool start_server(struct stage *s, struct escape_scene *scene, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    s->server_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->server_fd < 0 || bind(s->server_fd, (struct sockaddr *)&address, len) != 0 ||
        listen(s->server_fd, 16) != 0 ||
        getsockname(s->server_fd, (struct sockaddr *)&address, &len) != 0)
        return err_sys(err, errno, "cannot make a server");
    s->port = ntohs(address.sin_port);
    AUTO_FREE char *port = xasprintf("%u", s->port);
    escape_scene_value(scene, "web", port);
    s->server = fork();
    if (s->server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(s->server_fd);
        _exit(0);
    }
    return s->server > 0 || err_sys(err, errno, "cannot fork");
}

static bool take_listeners(struct stage *s, struct err *err)
{
    for (int i = 0; i < LISTENERS;) {
        struct box_msg msg;
        if (!box_recv(&msg, s->live.child.ctl_fd, err))
            return false;
        if (msg.kind == BOX_MSG_LISTENER)
            s->listeners[i++] = msg.fd;
        else if (msg.kind == BOX_MSG_NONE || msg.kind == BOX_MSG_CLOSED)
            return i > 0 || err_set(err, ERR_FAILED, "the box gave no listening socket");
    }
    return true;
}

/* Which hosts are listed: of most the server by its address, and whatever is below a name. */
static void list_hosts(struct strv *hosts, const struct stage *s, const char *id)
{
    if (strcmp(id, "W10a") == 0)
        return;
    if (strcmp(id, "W07") == 0) {
        strv_pushf(hosts, "localhost:%u", s->port);
        return;
    }
    strv_pushf(hosts, "127.0.0.1:%u", s->port);
    strv_pushf(hosts, "*.listed.example:%u", s->port);
}

static bool start_proxy(struct stage *s, const struct escape_try *t, struct err *err)
{
    AUTO_STRV struct strv hosts = STRV_INIT;
    AUTO_FREE char *resolver = paths_program("headgate-keep", err);
    if (!resolver) /* the proxy cannot be without it */
        return false;
    list_hosts(&hosts, s, t->row->id);
    s->proxy = fork();
    if (s->proxy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (t->is_control)
            trust(s->listeners, s->port);
        else
            judge(s->listeners, &hosts);
        _exit(0);
    }
    if (s->proxy < 0)
        return err_sys(err, errno, "cannot fork");
    for (int i = 0; i < LISTENERS; i++) {
        auto_fd_(&s->listeners[i]);
        s->listeners[i] = -1;
    }
    if (strcmp(t->row->id, "W10b") == 0 && !t->is_control) {
        end_child(s->proxy);
        s->proxy = 0;
    }
    return true;
}

static char *read_line(int fd)
{
    AUTO_BUF struct buf line = BUF_INIT;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char c = 0;
    while (poll(&p, 1, LINE_TIMEOUT_MS) == 1 && read(fd, &c, 1) == 1 && c != '\n')
        buf_addch(&line, c);
    return buf_steal(&line);
}

static bool stage_proxy(struct escape_try *t, char **ret_outcome, struct err *err)
{
    __attribute__((cleanup(stage_end))) struct stage s = {
        .live = ESCAPE_LIVE_INIT, .server_fd = -1, .listeners = {-1, -1}};
    AUTO_BOX_SPEC struct box_spec spec;
    if (!start_server(&s, t->scene, err) || !escape_spec(&spec, t, err))
        return false;
    AUTO_FREE char *word = escape_fill(t->scene, t->row->word);
    strv_push(&spec.listen_ports, PROXY_PORT);
    if (!escape_live_start(&s.live, t, &spec, word, err) || !take_listeners(&s, err) ||
        !start_proxy(&s, t, err))
        return false;
    if (write(s.live.in_fd, "\n", 1) != 1)
        return err_sys(err, errno, "the box has ended");
    *ret_outcome = read_line(s.live.out_fd);
    return true;
}

#define TALK "talk:" PROXY_PORT " "
#define GET "GET http://127.0.0.1:{web}/ HTTP/1.1~Host: 127.0.0.1:{web}~"
#define THROUGH(host) "CONNECT " host ":{web} HTTP/1.1~~"
#define BY_PROXY .wall = "egress proxy", .control = ESCAPE_WITHOUT, .stage = stage_proxy

static const struct escape_row rows[] = {
    {.id = "W03a",
     .what = "another name in TLS than the proxy was asked for",
     .word = TALK THROUGH("127.0.0.1") "|@evil.example@",
     .held = "closed",
     BY_PROXY},
    {.id = "W03b",
     .what = "another name in TLS, sent before the proxy has answered",
     .word = TALK THROUGH("127.0.0.1") "@listed.example.evil.example@",
     .held = "closed",
     BY_PROXY},
    {.id = "W03c",
     .what = "another name in the second hello of TLS",
     .word = TALK THROUGH("127.0.0.1") "|@@|@evil.example@",
     .held = "served-1 closed",
     BY_PROXY},
    {.id = "W03d",
     .what = "the same, sent ahead of the server's wish",
     .word = TALK THROUGH("127.0.0.1") "|@@@evil.example@",
     .held = "served-1 closed",
     BY_PROXY},
    {.id = "W04a",
     .what = "another Host than the URL's",
     .word = TALK "GET http://127.0.0.1:{web}/ HTTP/1.1~Host: evil.example~~",
     .held = "421",
     BY_PROXY},
    {.id = "W04b",
     .what = "a second request behind an honest one",
     .word = TALK GET "~GET / HTTP/1.1~Host: evil.example~~",
     .held = "served-1",
     BY_PROXY},
    {.id = "W04c",
     .what = "a request in a body of two lengths",
     .word = TALK "POST http://127.0.0.1:{web}/ HTTP/1.1~Host: 127.0.0.1:{web}~Content-Length: 5~"
                  "Transfer-Encoding: chunked~~0~~GET / HTTP/1.1~Host: evil.example~~",
     .held = "400",
     BY_PROXY},
    {.id = "W04d",
     .what = "two Hosts in one request",
     .word = TALK GET "Host: evil.example~~",
     .held = "400",
     BY_PROXY},
    {.id = "W06a",
     .what = "a name that ends like a listed one",
     .word = TALK THROUGH("evillisted.example") "|x",
     .held = "403",
     BY_PROXY},
    {.id = "W06b",
     .what = "a name that begins like a listed one",
     .word = TALK THROUGH("a.listed.example.evil.example") "|x",
     .held = "403",
     BY_PROXY},
    {.id = "W06c",
     .what = "a listed address in another form",
     .word = TALK THROUGH("2130706433") "|x",
     .held = "400",
     BY_PROXY},
    {.id = "W07",
     .what = "a listed name that leads to the loopback",
     .word = TALK THROUGH("localhost") "|x",
     .held = "403",
     BY_PROXY},
    {.id = "W10a",
     .what = "an empty list of hosts",
     .word = TALK THROUGH("127.0.0.1") "|x",
     .held = "403",
     BY_PROXY},
    {.id = "W10b",
     .what = "a proxy that was killed",
     .word = TALK THROUGH("127.0.0.1") "|x",
     .held = "ECONNREFUSED",
     BY_PROXY},
    {.id = "W11a",
     .what = "a head without end",
     .word = TALK GET "A: ^~~",
     .held = "400",
     BY_PROXY},
    {.id = "W11b",
     .what = "a change of protocol within a request",
     .word = TALK GET "Connection: Upgrade~Upgrade: websocket~~",
     .held = "served-1",
     BY_PROXY},
    {.id = "W11c",
     .what = "another port of a listed host",
     .word = TALK "CONNECT 127.0.0.1:{tcp} HTTP/1.1~~|x",
     .held = "403",
     BY_PROXY},
};

const struct escape_rows escape_proxy = {rows, ARRAY_LEN(rows)};
