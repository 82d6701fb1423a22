#include "runner/cmd/stub_model.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/buf.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { REQUEST_BYTES = 32 * 1024 * 1024, IDLE_S = 30 };

#define OPENAI_USAGE                                                                         \
    "\"usage\":{\"input_tokens\":1,\"input_tokens_details\":{\"cached_tokens\":0},\"output_" \
    "tokens\":1,"                                                                            \
    "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":2}"
#define OPENAI_EVENTS(item)                                                                      \
    "data: "                                                                                     \
    "{\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"created_at\":1,\"model\":" \
    "\"m\"}}\n\n"                                                                                \
    "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":" item "}\n\n"   \
    "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" item "}\n\n"    \
    "data: "                                                                                     \
    "{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\"," \
    "\"output\":[" item "]," OPENAI_USAGE "}}\n\n"
#define ANTHROPIC_EVENTS(start, delta, stop)                                                     \
    "event: message_start\ndata: "                                                               \
    "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":"   \
    "\"assistant\","                                                                             \
    "\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{"     \
    "\"input_tokens\":1,\"output_tokens\":1}}}\n\n"                                              \
    "event: content_block_start\ndata: "                                                         \
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":" start "}\n\n"             \
    "event: content_block_delta\ndata: "                                                         \
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":" delta "}\n\n"                     \
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"         \
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" stop \
    "\",\"stop_sequence\":null},"                                                                \
    "\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: "                            \
    "{\"type\":\"message_stop\"}\n\n"
#define GEMINI_EVENT(part)                                                                         \
    "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[" part                     \
    "]},\"finishReason\":\"STOP\",\"index\":0}],"                                                  \
    "\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":1,\"totalTokenCount\":2}}" \
    "\n\n"

/* The first row whose path the request ends in and whose mark its body holds. %s is the command,
 * once or twice. */
static const struct {
    const char *path, *mark;
    const char *call, *text;
} protocols[] = {
    {"/messages", "",
     ANTHROPIC_EVENTS("{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{}}",
                      "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\":\\\"@"
                      "\\\",\\\"description\\\":\\\"canary\\\"}\"}",
                      "tool_use"),
     ANTHROPIC_EVENTS("{\"type\":\"text\",\"text\":\"\"}",
                      "{\"type\":\"text_delta\",\"text\":\"done\"}", "end_turn")},
    {"/responses", "\"name\":\"bash\"",
     OPENAI_EVENTS(
         "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"bash\","
         "\"status\":\"completed\","
         "\"arguments\":\"{\\\"command\\\":\\\"@\\\",\\\"description\\\":\\\"canary\\\"}\"}"),
     NULL},
    {"/responses", "\"name\":\"exec_command\"",
     OPENAI_EVENTS("{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":"
                   "\"exec_command\",\"status\":\"completed\","
                   "\"arguments\":\"{\\\"cmd\\\":\\\"@\\\"}\"}"),
     NULL},
    {"/responses", "",
     OPENAI_EVENTS("{\"type\":\"custom_tool_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\","
                   "\"namespace\":\"functions\",\"name\":\"exec\","
                   "\"status\":\"completed\",\"input\":\"text(await tools.exec_command({cmd: "
                   "\\\"@\\\"}));\"}"),
     NULL},
    {"enerateContent", "",
     GEMINI_EVENT("{\"functionCall\":{\"id\":\"fc_1\",\"name\":\"run_shell_command\",\"args\":{"
                  "\"command\":\"@\",\"description\":\"canary\"}}}"),
     GEMINI_EVENT("{\"text\":\"done\"}")},
};
static const char openai_text[] =
    OPENAI_EVENTS("{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":"
                  "\"completed\",\"content\":"
                  "[{\"type\":\"output_text\",\"text\":\"done\",\"annotations\":[]}]}");

/* A whole request: its head, and a body of the length that the head tells. */
static bool read_request(struct buf *request, size_t *ret_head, int fd)
{
    char chunk[64 * 1024];
    for (;;) {
        const char *end = request->len ? strstr(request->ptr, "\r\n\r\n") : NULL;
        const char *length = end ? strcasestr(request->ptr, "\r\ncontent-length:") : NULL;
        size_t body = length && length < end ? (size_t)strtoul(length + 17, NULL, 10) : 0;
        if (end && request->len >= (size_t)(end - request->ptr) + 4 + body) {
            *ret_head = (size_t)(end - request->ptr) + 4;
            return true;
        }
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n <= 0 || request->len > REQUEST_BYTES)
            return false;
        buf_add(request, chunk, (size_t)n);
    }
}

static const char *answer_of(const char *path, const char *body, bool is_over)
{
    size_t len = strcspn(path, " ?");
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
        size_t tail = strlen(protocols[i].path);
        bool is_path = len >= tail && strncmp(path + len - tail, protocols[i].path, tail) == 0;
        if (!is_path || !strstr(body, protocols[i].mark))
            continue;
        if (!is_over)
            return protocols[i].call;
        return protocols[i].text ? protocols[i].text : openai_text;
    }
    return NULL;
}

static void add_filled(struct buf *out, const char *text, const char *command)
{
    for (const char *at; (at = strchr(text, '@')); text = at + 1) {
        buf_add(out, text, (size_t)(at - text));
        buf_adds(out, command);
    }
    buf_adds(out, text);
}

static void serve_one(int fd, const char *command, const char *reason, int news_fd)
{
    AUTO_BUF struct buf request = BUF_INIT, body = BUF_INIT, reply = BUF_INIT;
    struct err err = ERR_INIT;
    size_t head;
    if (!read_request(&request, &head, fd))
        return;
    const char *path = strchr(request.ptr, ' ');
    const char *text = request.ptr + head;
    bool is_told = strstr(text, reason) != NULL;
    bool is_over = is_told || strstr(text, command) != NULL;
    const char *answer = path ? answer_of(path + 1, text, is_over) : NULL;
    if (answer)
        add_filled(&body, answer, command);
    else
        buf_adds(&body, "{\"data\":[],\"totalTokens\":1,\"input_tokens\":1}");
    buf_addf(
        &reply,
        "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
        answer ? "text/event-stream" : "application/json", body.len);
    buf_add(&reply, body.ptr, body.len);
    if (!fs_write_fd(fd, reply.ptr, reply.len, &err) || !answer || !is_over)
        return;
    bool is_written = fs_write_fd(news_fd, is_told ? "D" : "X", 1, &err);
    (void)is_written; /* whoever asked is gone */
}

_Noreturn static void serve(int listener, const char *command, const char *reason, int news_fd)
{
    const struct timeval patience = {.tv_sec = IDLE_S};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        pid_t pid = fd >= 0 ? fork() : -1;
        if (pid == 0) { /* an idle connection holds up no other */
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            serve_one(fd, command, reason, news_fd);
            _exit(0);
        }
        if (fd >= 0)
            close(fd);
    }
}

static int listen_on_loopback(int *ret_port, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return err_sys(err, errno, "cannot listen on loopback"), -1;
    *ret_port = ntohs(address.sin_port);
    return steal_fd(&fd);
}

bool stub_model_start(struct stub_model *ret, const char *command, const char *reason,
                      struct err *err)
{
    int port, news[2];
    AUTO_FD int listener = listen_on_loopback(&port, err);
    if (listener < 0)
        return false;
    if (pipe2(news, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot make a pipe");
    pid_t pid = fork();
    if (pid == 0)
        serve(listener, command, reason, news[1]);
    close(news[1]);
    if (pid < 0) {
        close(news[0]);
        return err_sys(err, errno, "cannot start a process");
    }
    *ret = (struct stub_model){.pid = pid, .port = port, .news_fd = news[0]};
    return true;
}

void stub_model_stop(struct stub_model *m)
{
    if (m->pid <= 0)
        return;
    kill(m->pid, SIGKILL);
    waitpid(m->pid, NULL, 0);
    close(m->news_fd);
    m->pid = 0;
}
