#include "runner/keep/exec_decide.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/exec_who.h"

enum {
    EXEC_BATCH = 64,          /* answered before other events get their turn */
    EXEC_NOTES_A_SECOND = 10, /* records of single execs; more are only counted */
    EXEC_STATUS_BYTES = 4096,
};

bool exec_gate_may_note(struct exec_gate *g)
{
    int64_t now_ms = clock_mono_ms();
    if (now_ms - g->noted_ms >= 1000) {
        g->noted_ms = now_ms;
        g->n_noted = 0;
    }
    return g->n_noted++ < EXEC_NOTES_A_SECOND;
}

static bool is_traced(pid_t tid)
{
    char path[64];
    AUTO_BUF struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    return fs_read_file(&text, AT_FDCWD, path, EXEC_STATUS_BYTES, &err) &&
           strstr(text.ptr, "\nTracerPid:") && !strstr(text.ptr, "\nTracerPid:\t0\n");
}

void exec_gate_refuse(struct exec_gate *g, const struct exec_notice *n, int why)
{
    g->log.n_denied++;
    exec_notice_answer(n, g->listener_fd, why);
}

/* Of one that has begun, the process itself is the program, which those who started it stand above.
 */
static void log_program(struct exec_gate *g, const struct exec_image *image, pid_t pid,
                        bool has_begun)
{
    if (!exec_log_add(&g->log, image->names.all.v[0]))
        return;
    json_t *who = exec_who(g, g->family.init_pid, pid);
    if (has_begun)
        json_array_remove(jx_arr(who, "parents"), 0);
    exec_log_tell(&g->log, who);
}

static void go_on_unverified(struct exec_gate *g, const struct exec_notice *n,
                             const struct exec_image *image)
{
    if (!exec_notice_lives(n, g->listener_fd))
        return;
    log_program(g, image, n->tid, false); /* before the answer: after it the caller may be gone */
    if (exec_notice_answer(n, g->listener_fd, 0)) {
        g->has_begun = true;
        g->log.n_unverified++;
    }
}

/* Found out at the agent's own start, after the layers were told. */
static void fall_back(struct exec_gate *g, int why)
{
    g->is_verified = false;
    g->layer.state = LAYER_DEGRADED;
    snprintf(g->layer.reason, sizeof g->layer.reason,
             "execs are seen, but a race may change them: this host lets nobody trace (%s)",
             strerror(why));
    records_note(g->records, "%s", g->layer.reason);
    if (g->layer_changed)
        g->layer_changed(g->layer_arg);
}

/* A process that a debugger in the box holds cannot be verified. */
static void go_on_traced(struct exec_gate *g, const struct exec_notice *n,
                         const struct exec_image *image, int why)
{
    if (why == ESRCH || !exec_notice_lives(n, g->listener_fd))
        return;
    if (is_traced(n->tid) && g->config->may_debug) {
        go_on_unverified(g, n, image);
        return;
    }
    /* Before the agent runs nobody can have brought this about: it is the host. */
    if (!g->has_begun && !g->config->is_exec_required) {
        if (g->is_verified)
            fall_back(g, why);
        go_on_unverified(g, n, image);
        return;
    }
    if (exec_gate_may_note(g))
        records_note(g->records, "%s was not started: %s", image->names.all.v[0],
                     is_traced(n->tid) ? "a debugger in the box holds the process, so the gate "
                                         "cannot verify it (gate.debugger=true allows that)"
                                       : strerror(why));
    exec_gate_refuse(g, n, EPERM);
}

/*
 * To seize a thread the kernel takes the lock that another exec of the same process holds while it
 * waits for this one's tracer to reap: the keeper. So a process has one exec under way at a time.
 */
static void put_off(struct exec_gate *g, const struct exec_notice *n, struct exec_image *image)
{
    g->put_off = xreallocarray(g->put_off, g->n_put_off + 1, sizeof *g->put_off);
    g->put_off[g->n_put_off++] = (struct exec_put_off){.notice = *n, .image = *image};
    *image = (struct exec_image)EXEC_IMAGE_INIT;
}

void exec_gate_go_on(struct exec_gate *g, const struct exec_notice *n, struct exec_image *image)
{
    if (!image->content.digest[0]) /* nothing was decided by it: no need to hold its files */
        exec_content_release(&image->content);
    if (!g->is_verified) {
        go_on_unverified(g, n, image);
        return;
    }
    if (exec_trace_has_sibling(&g->trace, n->tid)) {
        put_off(g, n, image);
        return;
    }
    int why = exec_trace_seize(&g->trace, n->tid, image);
    if (why)
        go_on_traced(g, n, image, why);
    else
        exec_trace_answered(&g->trace, n->tid, exec_notice_answer(n, g->listener_fd, 0));
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct exec_gate *g = poll->data;
    (void)events;
    for (int i = 0; status == 0 && i < EXEC_BATCH && g->is_polling; i++) {
        struct notice notice;
        struct exec_notice exec;
        if (!notice_take(&notice, g->listener_fd))
            return;
        if (exec_notice_of(&exec, &notice))
            exec_decide(g, &exec);
        else
            g->take_other(g->other_arg, &notice);
    }
}

static bool wait_lives(void *arg, const struct exec_notice *n)
{
    const struct exec_gate *g = arg;
    return exec_notice_lives(n, g->listener_fd);
}

static void wait_allow(void *arg, const struct exec_notice *n, struct exec_image *image)
{
    struct exec_gate *g = arg;
    if (exec_content_is_same(&image->content)) {
        exec_gate_go_on(g, n, image);
        return;
    }
    records_note(g->records, "%s was changed while you decided, and was not started",
                 image->names.all.v[0]);
    exec_gate_refuse(g, n, EACCES);
}

static void wait_refuse(void *arg, const struct exec_notice *n)
{
    exec_gate_refuse(arg, n, EACCES);
}

static const struct exec_wait_ops wait_ops = {
    .lives = wait_lives, .allow = wait_allow, .refuse = wait_refuse};

void exec_gate_init(struct exec_gate *g, uv_loop_t *loop, const struct keep_config *config,
                    const struct policy *rules, struct records *records)
{
    *g = (struct exec_gate){
        .config = config, .rules = rules, .records = records, .listener_fd = -1, .root_fd = -1};
    g->layer.state = LAYER_UNAVAILABLE;
    snprintf(g->layer.reason, sizeof g->layer.reason, "off (gate.exec, --exec)");
    g->calls.config = config;
    g->keeps_waiting = true;
    g->poll.loop = loop;
    exec_log_init(&g->log, loop, records);
    exec_wait_init(&g->wait, loop, &wait_ops, g, records, config->exec_deadline_ms);
}

/* Yama's strictest setting lets nobody trace; the others let the owner of the user namespace. */
static bool is_tracing_off(void)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err absent = ERR_INIT;
    return fs_read_file(&text, AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", EXEC_STATUS_BYTES,
                        &absent) &&
           text.ptr[0] == '3';
}

static void set_layer(struct exec_gate *g)
{
    const char *reason = "";
    if (g->config->is_exec_unverified)
        reason = "verification left out on request";
    else if (is_tracing_off())
        reason = "execs are seen, but a race may change them: kernel.yama.ptrace_scope is 3, which "
                 "lets nobody verify";
    g->is_verified = !reason[0];
    g->layer.state = g->is_verified ? LAYER_ACTIVE : LAYER_DEGRADED;
    snprintf(g->layer.reason, sizeof g->layer.reason, "%s", reason);
}

/* What the listener gives the policy. */
static bool take_up(struct exec_gate *g, const struct box_msg *msg, struct err *err)
{
    if (msg->fd < 0) {
        snprintf(g->layer.reason, sizeof g->layer.reason, "%.*s", (int)sizeof g->layer.reason - 1,
                 msg->error.text);
        if (!g->config->is_exec_required)
            return true;
        return err_set(err, ERR_LAYER, "execs cannot be gated: %s", msg->error.text);
    }
    snprintf(g->layer.mechanism, sizeof g->layer.mechanism, "%s, seccomp listener%s",
             exec_policy_name(g->config->exec), msg->status ? "" : " (interruptible)");
    g->keeps_waiting = msg->status == 1;
    set_layer(g);
    if (!g->is_verified && g->config->is_exec_required)
        return err_set(err, ERR_LAYER, "execs cannot be gated: %s", g->layer.reason);
    return true;
}

bool exec_gate_listen(struct exec_gate *g, pid_t init_pid, const struct box_msg *msg,
                      struct err *err)
{
    g->listener_fd = msg->fd;
    g->family.init_pid = init_pid;
    g->family.is_setup = g->config->has_setup;
    if (g->config->exec != EXEC_OFF && !take_up(g, msg, err))
        return false;
    if (msg->fd < 0)
        return true;
    notice_take_turns(msg->fd);
    int status = uv_poll_init(g->poll.loop, &g->poll, g->listener_fd);
    if (status != 0)
        return err_sys(err, -status, "cannot listen to the box's calls");
    g->poll.data = g;
    g->is_polling = true;
    uv_poll_start(&g->poll, UV_READABLE, on_readable);
    return true;
}

void exec_gate_agent_next(struct exec_gate *g)
{
    g->family.is_setup = false;
    g->family.agent_pid = 0;
}

static void on_raced(struct exec_gate *g, const struct exec_image *image)
{
    g->log.n_raced++;
    if (exec_gate_may_note(g))
        records_note(g->records,
                     "an exec of %s was killed: by the time it began it was another program or had "
                     "other arguments",
                     image->names.all.n ? image->names.all.v[0] : "an unknown program");
}

/* Those that were put off, once an exec of somebody is over. */
static void retry(struct exec_gate *g)
{
    size_t n = g->n_put_off;
    struct exec_put_off *all = g->put_off;
    g->put_off = NULL;
    g->n_put_off = 0;
    for (size_t i = 0; i < n; i++) {
        if (exec_notice_lives(&all[i].notice, g->listener_fd))
            exec_gate_go_on(g, &all[i].notice, &all[i].image);
        exec_image_release(&all[i].image);
    }
    free(all);
}

void exec_gate_event(struct exec_gate *g, pid_t pid, int status)
{
    AUTO_EXEC_IMAGE struct exec_image image = EXEC_IMAGE_INIT;
    if (hook_guard_event(&g->guard, pid, status))
        return;
    switch (exec_trace_event(&g->trace, pid, status, &image)) {
    case EXEC_BEGAN:
        g->has_begun = true;
        if (image.is_agent)
            exec_family_own(&g->family, image.dev, image.ino);
        else if (exec_gate_looks_at_origin(g))
            exec_family_begun(&g->family, pid, image.call);
        log_program(g, &image, pid, true);
        if (!hook_guard_take(&g->guard, pid))
            exec_trace_let_begin(pid);
        break;
    case EXEC_RACED:
        on_raced(g, &image);
        break;
    case EXEC_FAILED:
        if (image.is_carrying)
            exec_calls_give_back(&g->calls, image.call);
        break;
    case EXEC_NONE:
    case EXEC_GONE:
        break;
    }
    if (g->n_put_off > 0)
        retry(g);
}

static void stop_polling(struct exec_gate *g)
{
    if (!g->is_polling)
        return;
    g->is_polling = false;
    uv_poll_stop(&g->poll);
    uv_close((uv_handle_t *)&g->poll, NULL);
}

void exec_gate_ended(struct exec_gate *g)
{
    if (g->is_ended)
        return;
    g->is_ended = true;
    stop_polling(g);
    exec_wait_close(&g->wait);
    exec_log_finish(&g->log, exec_policy_name(g->config->exec));
    exec_log_close(&g->log);
}

void exec_gate_close(struct exec_gate *g)
{
    stop_polling(g);
    exec_wait_close(&g->wait);
    exec_log_close(&g->log);
}

void exec_gate_release(struct exec_gate *g)
{
    auto_fd_(&g->listener_fd);
    auto_fd_(&g->root_fd);
    exec_trace_release(&g->trace);
    hook_guard_release(&g->guard);
    exec_family_release(&g->family);
    exec_calls_release(&g->calls);
    exec_pins_release(&g->pins);
    for (size_t i = 0; i < g->n_put_off; i++)
        exec_image_release(&g->put_off[i].image);
    free(g->put_off);
    exec_wait_release(&g->wait);
    exec_log_release(&g->log);
}
