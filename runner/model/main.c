/*
 * headgate-model: the way from one box to its models, which adds the person's keys outside of the
 * box.
 *
 * Its keeper starts it. Standard input: one line of JSON, {"models": as of upstream_load, "keys":
 * {PLACEHOLDER: KEY}}, then listening sockets of the box's network namespace as they come, one for
 * each byte (SCM_RIGHTS), which is the number of the model that it leads to, and between them lines
 * without descriptors, tokens of logins (tokens.h), for which this asks on the same socket. The end
 * of that stream is the end of the keeper, and of this. Standard error: a sentence when it cannot
 * begin.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/model/relay.h"

enum {
    CONFIG_BYTES = 1024 * 1024,
    MODELS_MAX = 16,
    CONNECTIONS_MAX = 64, /* of all models */
    STACK_BYTES = 256 * 1024
};

struct service;

struct model {
    struct upstream upstream;
    struct tls_context *context;
    struct tokens tokens; /* of upstream.has_login */
    struct service *service;
};

struct service {
    struct model models[MODELS_MAX];
    size_t n_models;
    pthread_mutex_t lock;
    pthread_cond_t room;
    int n_open;
};

struct job {
    struct model *model;
    int fd;
};

static bool start_thread(void *(*run)(void *), struct model *model, int fd)
{
    pthread_t thread;
    pthread_attr_t attr;
    struct job *job = xcalloc(1, sizeof(*job));
    *job = (struct job){model, fd};
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    bool ok = pthread_create(&thread, &attr, run, job) == 0;
    pthread_attr_destroy(&attr);
    if (!ok)
        free(job);
    return ok;
}

static struct job take_job(void *arg)
{
    struct job *given = arg, job = *given;
    free(given);
    return job;
}

static void count(struct service *s, int by)
{
    pthread_mutex_lock(&s->lock);
    while (by > 0 && s->n_open >= CONNECTIONS_MAX)
        pthread_cond_wait(&s->room, &s->lock);
    s->n_open += by;
    pthread_cond_signal(&s->room);
    pthread_mutex_unlock(&s->lock);
}

static void *serve_client(void *arg)
{
    struct job job = take_job(arg);
    relay_serve(job.fd, job.model->context, &job.model->upstream, &job.model->tokens);
    close(job.fd);
    count(job.model->service, -1);
    return NULL;
}

static void *accept_clients(void *arg)
{
    struct job job = take_job(arg);
    struct service *s = job.model->service;
    for (;;) {
        count(s, 1);
        int fd = accept4(job.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0 && start_thread(serve_client, job.model, fd))
            continue;
        int why = errno;
        if (fd >= 0)
            close(fd);
        count(s, -1);
        if (fd < 0 && why != EINTR && why != ECONNABORTED && why != EMFILE && why != ENOMEM)
            return NULL;
    }
}

/* Byte by byte: what is behind the line's end are descriptors. */
static bool read_config(json_t **ret, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n' && text.len < CONFIG_BYTES)
        buf_addch(&text, c);
    bool ok = jx_parse(ret, text.ptr, text.len, err);
    explicit_bzero(text.ptr, text.len);
    return ok;
}

static bool load_models(struct service *s, const json_t *config, struct err *err)
{
    const json_t *keys = jx_obj(config, "keys"), *way;
    size_t i;
    json_array_foreach(jx_arr(config, "models"), i, way)
    {
        if (i == MODELS_MAX)
            return err_set(err, ERR_LIMIT, "more than %d models", MODELS_MAX);
        struct model *m = &s->models[i];
        m->service = s;
        tokens_init(&m->tokens, i, STDIN_FILENO);
        if (!upstream_load(&m->upstream, way, keys, err) ||
            !(m->context = tls_context_new(&m->upstream, err)))
            return false;
        s->n_models = i + 1;
    }
    return true;
}

/* The next byte of the stream, and the descriptor that came with it, or -1. False at the end. */
static bool receive(unsigned char *ret_byte, int *ret_fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = ret_byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n;
    do
        n = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *ret_fd = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
    return n > 0;
}

static void listen_to(struct service *s, size_t model, int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    if (model >= s->n_models || !start_thread(accept_clients, &s->models[model], fd))
        close(fd);
}

static void take_answer(struct service *s, const struct buf *line)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *answer = NULL;
    if (!jx_parse(&answer, line->ptr, line->len, &err))
        return;
    int64_t model = jx_int(answer, "model", -1);
    if (model >= 0 && (size_t)model < s->n_models)
        tokens_answer(&s->models[model].tokens, answer);
}

/* A byte with a descriptor is the number of its model; those without are lines, the server's
 * answers. */
static void follow_keeper(struct service *s)
{
    AUTO_BUF struct buf line = BUF_INIT;
    unsigned char byte;
    for (int fd; receive(&byte, &fd);) {
        if (fd >= 0) {
            listen_to(s, byte, fd);
        } else if (byte != '\n' && line.len < CONFIG_BYTES) {
            buf_addch(&line, (char)byte);
        } else {
            take_answer(s, &line);
            explicit_bzero(line.ptr, line.len);
            buf_clear(&line);
        }
    }
}

/* A key in memory must not end in a core file, nor be read by another program of the person's. */
static void keep_memory_private(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
    static struct service s = {.lock = PTHREAD_MUTEX_INITIALIZER, .room = PTHREAD_COND_INITIALIZER};
    struct err err = ERR_INIT;
    AUTO_JSON json_t *config = NULL;
    (void)argv;
    if (argc != 1 || isatty(STDIN_FILENO)) {
        fputs("headgate-model is started by a keeper\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    keep_memory_private();
    if (!read_config(&config, &err) || !load_models(&s, config, &err)) {
        fprintf(stderr, "headgate-model: %s\n", err.text);
        return err_exit_code(&err);
    }
    follow_keeper(&s);
    _exit(0); /* threads still use what would be released */
}
