/*
 * What stands for a hook client inside the box.
 *
 *   caller call TOOL ARGS      one gate request; prints the answer
 *   caller raw TEXT            the text as it is (with \n where it says so); prints the answer
 *   caller long BYTES          a line of so many bytes without an end; prints the answer
 *   caller flood N             N malformed requests; prints how many were denied for excess
 *   caller hold N EXCESS       N requests on N connections; waits until EXCESS of them were denied
 *                              for excess caller tcp PORT TEXT       sends the text, ends, prints
 * what comes back
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define GATE "/run/headgate/gate.sock"

static int gate_open(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GATE};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("caller: " GATE);
        exit(3);
    }
    return fd;
}

/* The peer may have answered and left before all is sent: its answer is read all the same. */
static void send_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        text += n;
        len -= (size_t)n;
    }
}

static void receive_all(int fd, char *answer, size_t size)
{
    size_t len = 0;
    for (ssize_t n; len + 1 < size && (n = read(fd, answer + len, size - 1 - len)) > 0;)
        len += (size_t)n;
    answer[len] = '\0';
}

static int print_answer(int fd)
{
    static char answer[64 * 1024];
    receive_all(fd, answer, sizeof answer);
    printf("%s%s", answer, answer[0] ? "" : "no answer\n");
    return 0;
}

static void send_call(int fd, const char *tool, const char *args)
{
    char line[4096];
    int len =
        snprintf(line, sizeof line,
                 "{\"v\":1,\"source\":\"hook\",\"agent\":\"other\",\"tool\":\"%s\",\"args\":%s,"
                 "\"cwd\":\"/w\",\"call_id\":\"x1\",\"session\":\"s\"}\n",
                 tool, args);
    send_all(fd, line, (size_t)len);
}

static int call(char **words)
{
    int fd = gate_open();
    send_call(fd, words[0], words[1]);
    return print_answer(fd);
}

static int raw(char **words)
{
    char *text = words[0];
    size_t len = 0;
    int fd = gate_open();
    for (char *p = text; *p; p++) {
        if (p[0] == '\\' && p[1] == 'n') {
            text[len++] = '\n';
            p++;
        } else {
            text[len++] = *p;
        }
    }
    send_all(fd, text, len);
    return print_answer(fd);
}

static int send_long(char **words)
{
    size_t len = (size_t)atol(words[0]);
    char *text = malloc(len);
    if (!text)
        return 3;
    memset(text, 'x', len);
    int fd = gate_open();
    send_all(fd, text, len);
    free(text);
    return print_answer(fd);
}

static int flood(char **words)
{
    int n_quota = 0;
    for (int i = atoi(words[0]); i > 0; i--) {
        char answer[4096];
        int fd = gate_open();
        send_all(fd, "{}\n", 3);
        receive_all(fd, answer, sizeof answer);
        close(fd);
        n_quota += strstr(answer, "\"why\":\"quota\"") != NULL;
    }
    printf("excess %d\n", n_quota);
    return 0;
}

static int hold(char **words)
{
    int n = atoi(words[0]), n_quota = 0;
    struct pollfd *fds = calloc((size_t)n, sizeof *fds);
    if (!fds)
        return 3;
    for (int i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = gate_open(), .events = POLLIN};
        send_call(fds[i].fd, "Write", "{\"file_path\":\"/w/f\",\"content\":\"x\"}");
        /* Slower than the limit a second. */
        struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
        nanosleep(&pause, NULL);
    }
    while (n_quota < atoi(words[1]) && poll(fds, (nfds_t)n, -1) > 0) {
        for (int i = 0; i < n; i++) {
            char answer[4096];
            if (!(fds[i].revents & POLLIN))
                continue;
            receive_all(fds[i].fd, answer, sizeof answer);
            n_quota += strstr(answer, "\"why\":\"quota\"") != NULL;
            fds[i].fd = -1;
        }
    }
    printf("excess %d\n", n_quota);
    free(fds);
    return 0;
}

static int tcp(char **words)
{
    static char answer[1024 * 1024];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)atoi(words[0])),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("caller: tcp");
        return 3;
    }
    send_all(fd, words[1], strlen(words[1]));
    shutdown(fd, SHUT_WR);
    receive_all(fd, answer, sizeof answer);
    printf("%s\n", answer);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
    } modes[] = {{"call", 2, call},   {"raw", 1, raw},   {"long", 1, send_long},
                 {"flood", 1, flood}, {"hold", 2, hold}, {"tcp", 2, tcp}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (argc >= 2 && strcmp(argv[1], modes[i].name) == 0 && argc == 2 + modes[i].words)
            return modes[i].run(argv + 2);
    }
    fprintf(stderr, "usage: caller call|raw|long|flood|hold|tcp ...\n");
    return 2;
}
