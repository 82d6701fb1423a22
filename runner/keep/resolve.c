#include "runner/keep/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner/base/buf.h"
#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum {
    RESOLVE_RUNNING = 16, /* helpers at once; more names wait */
    RESOLVE_LOOKUPS = 256,
    RESOLVE_ANSWER_BYTES = 4096,
    RESOLVE_KEEP_MS = 30 * 1000,
};

extern char **environ;

struct resolve_wait {
    struct resolve_lookup *lookup;
    struct resolve_wait *next;
    resolve_fn done;
    void *arg; /* done NULL: cancelled */
};

/* One name: waits for its turn, then for its helper, then is remembered. */
struct resolve_lookup {
    struct resolver *resolver;
    struct resolve_lookup *next;
    struct resolve_wait *waits;
    char name[HOST_TEXT_SIZE];
    pid_t pid;
    int pidfd, pipe_fd;
    uv_poll_t poll;
    uv_timer_t answer; /* tells who asks when the answer is there already */
    int n_handles;
    struct buf text;
    struct host_address addresses[RESOLVE_ADDRESSES];
    size_t n;
    int64_t found_ms; /* 0: not yet */
    bool is_running, is_dropped;
};

static void resolve_start_next(struct resolver *r);

static void resolve_on_closed(uv_handle_t *handle)
{
    struct resolve_lookup *l = handle->data;
    if (--l->n_handles > 0 || !l->is_dropped)
        return;
    buf_release(&l->text);
    while (l->waits) {
        struct resolve_wait *wait = l->waits;
        l->waits = wait->next;
        free(wait);
    }
    free(l);
}

/* End the helper. Through the pidfd: whoever waits for all children may have reaped it, and its
 * number may be another's by now. */
static void resolve_stop_helper(struct resolve_lookup *l)
{
    if (!l->is_running)
        return;
    l->is_running = false;
    l->resolver->n_running--;
    uv_poll_stop(&l->poll);
    uv_close((uv_handle_t *)&l->poll, resolve_on_closed);
    close(l->pipe_fd);
    if (l->pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
        close(l->pidfd);
    }
    while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void resolve_drop(struct resolve_lookup *l)
{
    struct resolve_lookup **at = &l->resolver->lookups;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    l->resolver->n_lookups--;
    l->is_dropped = true;
    resolve_stop_helper(l);
    uv_close((uv_handle_t *)&l->answer, resolve_on_closed);
}

static void resolve_parse(struct resolve_lookup *l)
{
    struct err ignored = ERR_INIT;
    for (const char *line = l->text.ptr; *line && l->n < RESOLVE_ADDRESSES;) {
        size_t len = strcspn(line, "\n");
        struct host host;
        if (host_parse(&host, line, len, &ignored) && host.is_address)
            l->addresses[l->n++] = host.address;
        line += len + (line[len] != '\0');
    }
}

static void resolve_on_answer(uv_timer_t *timer)
{
    struct resolve_lookup *l = timer->data;
    struct resolve_wait *wait = l->waits;
    l->waits = NULL;
    while (wait) {
        struct resolve_wait *next = wait->next;
        if (wait->done)
            wait->done(wait->arg, l->addresses, l->n);
        free(wait);
        wait = next;
    }
}

static void resolve_found(struct resolve_lookup *l)
{
    struct resolver *r = l->resolver;
    resolve_stop_helper(l);
    resolve_parse(l);
    l->found_ms = clock_mono_ms();
    uv_timer_start(&l->answer, resolve_on_answer, 0, 0);
    resolve_start_next(r);
}

static void resolve_on_readable(uv_poll_t *poll, int status, int events)
{
    struct resolve_lookup *l = poll->data;
    char chunk[1024];
    (void)events;
    ssize_t n = status == 0 ? read(l->pipe_fd, chunk, sizeof chunk) : -1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR) && status == 0)
        return;
    if (n > 0)
        buf_add(&l->text, chunk, (size_t)n);
    if (n <= 0 || l->text.len > RESOLVE_ANSWER_BYTES)
        resolve_found(l);
}

static bool resolve_spawn(struct resolve_lookup *l, int write_fd)
{
    char option[] = "--resolve";
    char *argv[] = {l->resolver->program, option, l->name, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, write_fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&l->pid, l->resolver->program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0;
}

static void resolve_start(struct resolve_lookup *l)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        resolve_found(l);
        return;
    }
    bool is_started = resolve_spawn(l, fds[1]);
    close(fds[1]);
    if (!is_started || uv_poll_init(l->resolver->loop, &l->poll, fds[0]) != 0) {
        close(fds[0]);
        resolve_found(l);
        return;
    }
    l->pidfd = proc_pidfd(l->pid);
    l->pipe_fd = fds[0];
    l->poll.data = l;
    l->n_handles++;
    l->is_running = true;
    l->resolver->n_running++;
    uv_poll_start(&l->poll, UV_READABLE, resolve_on_readable);
}

/* The oldest that waits for its turn. */
static void resolve_start_next(struct resolver *r)
{
    struct resolve_lookup *oldest = NULL;
    for (struct resolve_lookup *l = r->lookups; l; l = l->next)
        if (!l->is_running && !l->found_ms)
            oldest = l;
    if (oldest && r->n_running < RESOLVE_RUNNING)
        resolve_start(oldest);
}

/* Forget what is old, and the oldest answers when there are too many. */
static void resolve_forget(struct resolver *r)
{
    int64_t now_ms = clock_mono_ms();
    struct resolve_lookup *next;
    size_t place = 0;
    for (struct resolve_lookup *l = r->lookups; l; l = next, place++) {
        next = l->next;
        bool is_old = now_ms - l->found_ms >= RESOLVE_KEEP_MS || place >= RESOLVE_LOOKUPS;
        if (l->found_ms && !l->waits && is_old)
            resolve_drop(l);
    }
}

static struct resolve_lookup *resolve_lookup_of(struct resolver *r, const char *name)
{
    resolve_forget(r);
    for (struct resolve_lookup *l = r->lookups; l; l = l->next)
        if (strcmp(l->name, name) == 0)
            return l;
    struct resolve_lookup *l = xcalloc(1, sizeof *l);
    *l = (struct resolve_lookup){
        .resolver = r, .next = r->lookups, .text = BUF_INIT, .n_handles = 1};
    memcpy(l->name, name, strnlen(name, sizeof l->name - 1));
    uv_timer_init(r->loop, &l->answer);
    l->answer.data = l;
    r->lookups = l;
    r->n_lookups++;
    return l;
}

struct resolve_wait *resolver_ask(struct resolver *r, const char *name, resolve_fn done, void *arg)
{
    struct resolve_lookup *l = resolve_lookup_of(r, name);
    struct resolve_wait *wait = xcalloc(1, sizeof *wait);
    *wait = (struct resolve_wait){.lookup = l, .next = l->waits, .done = done, .arg = arg};
    l->waits = wait;
    if (l->found_ms)
        uv_timer_start(&l->answer, resolve_on_answer, 0, 0);
    else
        resolve_start_next(r);
    return wait;
}

void resolver_cancel(struct resolve_wait *wait)
{
    wait->done = NULL;
}

void resolver_init(struct resolver *ret, uv_loop_t *loop, const char *program)
{
    *ret = (struct resolver){.loop = loop, .program = xstrdup(program)};
}

void resolver_close(struct resolver *r)
{
    while (r->lookups)
        resolve_drop(r->lookups);
}

void resolver_release(struct resolver *r)
{
    free(r->program);
    r->program = NULL;
}
