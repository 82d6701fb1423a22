#include "sandbox/launch/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/buf.h"
#include "runner/base/mem.h"

/* What a client could say to the proxy of its box (probe.h). */

enum { QUIET_MS = 2000, SERVED_QUIET_MS = 600, FLOOD_BYTES = 40000, ANSWER_BYTES = 64 * 1024 };

static void add_16(struct buf *out, size_t n)
{
    buf_addch(out, (char)(n >> 8));
    buf_addch(out, (char)n);
}

/* A TLS ClientHello that asks for a name; "": for none (RFC 8446, 4.1.2). */
static void add_hello(struct buf *out, const char *name)
{
    static const char begin[] = "\x16\x03\x01", version[] = "\x03\x03";
    static const char middle[] = "\x00\x00\x02\x13\x01\x01\x00"; /* no session, one cipher */
    size_t len = strlen(name), extension = len ? len + 9 : 0;
    size_t body = 2 + 32 + sizeof(middle) - 1 + 2 + extension;
    buf_add(out, begin, sizeof(begin) - 1);
    add_16(out, body + 4);
    buf_add(out, "\x01\x00", 2);
    add_16(out, body);
    buf_add(out, version, sizeof(version) - 1);
    for (int i = 0; i < 32; i++)
        buf_addch(out, 'r');
    buf_add(out, middle, sizeof(middle) - 1);
    add_16(out, extension);
    if (!len)
        return;
    add_16(out, 0);
    add_16(out, len + 5);
    add_16(out, len + 3);
    buf_addch(out, 0);
    add_16(out, len);
    buf_adds(out, name);
}

/* Of a script up to '|' or its end: '~' is a line end, '^' more bytes than any head may have,
 * "@NAME@" a ClientHello. Returns what is behind it. */
static const char *compose(struct buf *out, const char *script)
{
    for (; *script && *script != '|'; script++) {
        const char *end = *script == '@' ? strchr(script + 1, '@') : NULL;
        if (end) {
            AUTO_FREE char *name = xstrndup(script + 1, (size_t)(end - script - 1));
            add_hello(out, name);
            script = end;
        } else if (*script == '~') {
            buf_adds(out, "\r\n");
        } else if (*script == '^') {
            for (int i = 0; i < FLOOD_BYTES; i++)
                buf_addch(out, 'a');
        } else {
            buf_addch(out, *script);
        }
    }
    return *script ? script + 1 : script;
}

static bool say(int fd, const struct buf *bytes)
{
    for (size_t at = 0; at < bytes->len;) {
        ssize_t n = send(fd, bytes->ptr + at, bytes->len - at, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* Until the other side has ended or is quiet; with once: until it has said anything. */
static void listen_to(struct buf *answer, int fd, bool once)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char chunk[4096];
    while (answer->len < ANSWER_BYTES &&
           poll(&p, 1, strstr(answer->ptr, "served-") ? SERVED_QUIET_MS : QUIET_MS) == 1) {
        ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
        if (n <= 0)
            return;
        for (ssize_t i = 0; i < n; i++) /* read as text afterwards */
            buf_addch(answer, chunk[i] ? chunk[i] : ' ');
        if (once)
            return;
    }
}

/* What is behind the last of these marks; NULL: there is none. */
static const char *behind_last(const char *text, const char *mark)
{
    const char *found = NULL;
    while ((text = strstr(text, mark)))
        found = text += strlen(mark);
    return found;
}

/* "served-2" as the server beyond says it last, else the status that the proxy gave, else that it
 * ended. */
static int print_answer(const struct buf *answer)
{
    const char *served = behind_last(answer->ptr, "served-");
    const char *status = behind_last(answer->ptr, "HTTP/1.1 ");
    if (served)
        printf("served-%.*s\n", (int)strcspn(served, "\r\n"), served);
    else if (status && strncmp(status, "200", 3) != 0)
        printf("%.3s\n", status);
    else
        puts("closed");
    return PROBE_PRINTED;
}

/* "PORT SCRIPT": be ready, wait for a line, then say the script's parts to the proxy, each after an
 * answer to the one before. */
static int talk(const char *argument)
{
    const char *script = strchr(argument, ' ');
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(argument)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    AUTO_BUF struct buf answer = BUF_INIT;
    char go;
    puts("ready");
    fflush(stdout);
    if (!script || read(STDIN_FILENO, &go, 1) != 1)
        return EINVAL;
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        return errno;
    for (script++; *script;) {
        AUTO_BUF struct buf bytes = BUF_INIT;
        script = compose(&bytes, script);
        if (!say(fd, &bytes))
            break;
        listen_to(&answer, fd, *script != '\0');
    }
    return print_answer(&answer);
}

const struct probe_attempt probe_net[] = {
    {"talk", talk},
    {NULL, NULL},
};
