#include "runner/keep/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/keep/exec_who.h"
#include "runner/keep/net_peer.h"
#include "runner/keep/procfs.h"

enum {
    KEEP_RETRY_MS = 1000,
    KEEP_FAREWELL_MS = 1000, /* for what is queued to slow clients */
    KEEP_START_MS = 120 * 1000,
    KEEP_FAILED_STATUS = 125,
    KEEP_INTERRUPT_MS = 3000, /* from a key to what the agent gives up for it */
    KEEP_DEPTH_MAX = 64,
};

static void keep_over(struct keep *k);

static void keep_on_linger_over(uv_timer_t *timer)
{
    keep_over(timer->data);
}

/* Recorded: now somebody has to merge it. */
static void keep_linger(struct keep *k)
{
    if (k->is_leaving)
        keep_over(k);
    else if (!link_has_server(&k->link))
        uv_timer_start(&k->linger, keep_on_linger_over, (uint64_t)k->config.linger_ms, 0);
    else
        uv_timer_stop(&k->linger);
}

/* Why it ended: what was asked for first, else what went wrong, else the agent itself. */
static const char *keep_cause(const struct keep *k)
{
    if (k->stop.cause == STOP_NONE && (k->error.code != ERR_NONE || !k->has_status))
        return stop_cause_name(STOP_FAILED);
    return stop_cause_name(k->stop.cause);
}

static void keep_explain(struct keep *k)
{
    if (k->error.code != ERR_NONE || k->has_status)
        return;
    if (k->stop.cause == STOP_FAILED)
        err_set(&k->error, ERR_FAILED, "the box did not come up within %d s", KEEP_START_MS / 1000);
    else if (k->stop.cause == STOP_NONE)
        err_set(
            &k->error, ERR_FAILED,
            "the box ended with status %d before its agent did: killed by hand, or by the kernel "
            "for lack of memory",
            k->status);
}

static void keep_record_exited(struct keep *k);

static void keep_on_retry(uv_timer_t *timer)
{
    keep_record_exited(timer->data);
}

static void keep_record_exited(struct keep *k)
{
    struct err err = ERR_INIT;
    json_t *body = json_object();
    jx_set_int(body, "status", k->status);
    jx_set_str(body, "cause", keep_cause(k));
    jx_set_str(body, "error", k->error.code != ERR_NONE ? k->error.text : NULL);
    if (records_add(&k->records, "exited", body, &err)) {
        k->state = KEEP_EXITED;
        keep_linger(k);
    } else if (k->is_leaving) {
        keep_over(k);
    } else {
        uv_timer_start(&k->linger, keep_on_retry, KEEP_RETRY_MS, 0);
    }
}

/* No process of the box lives and all its output was read. */
static void keep_ended(struct keep *k)
{
    k->state = KEEP_ENDED;
    keep_explain(k);
    speech_close(&k->speech);
    stop_close(&k->stop);
    account_close(&k->account);
    forwards_close(&k->forwards);
    hold_close(&k->hold);
    services_close(&k->services);
    net_gate_close(&k->net);
    door_close(&k->door);
    exec_gate_ended(&k->exec);
    output_finish(&k->output);
    keep_pulse_flush(k);
    attach_room_exited(&k->room, k->status);
    keep_record_exited(k);
}

static void keep_check_ended(struct keep *k)
{
    bool is_open = k->sources[0].stream || k->sources[1].stream;
    if (k->is_gone && !is_open && k->state < KEEP_ENDED)
        keep_ended(k);
}

void keep_source_ended(struct keep_source *source)
{
    struct keep *k = source->keep;
    if (k->room.agent == source->stream)
        attach_room_agent(&k->room, NULL);
    stream_close(source->stream);
    source->stream = NULL;
    keep_check_ended(k);
}

void keep_box_gone(struct keep *k, int status)
{
    k->is_gone = true;
    freeze_end(&k->freeze);
    mounts_end(&k->mounts);
    if (!k->has_status)
        k->status = status;
    if (k->box.n_oom_kills > 0 && k->status == 128 + SIGKILL)
        stop_request(&k->stop, STOP_MEMORY, 0); /* the kernel has done it already */
    else if (k->box.n_oom_kills > 0)
        records_note(&k->records, "the kernel killed %lld processes of the box at its memory limit",
                     (long long)k->box.n_oom_kills);
    keep_check_ended(k);
}

void keep_server_changed(struct keep *k, bool is_present)
{
    if (is_present) {
        output_tell(&k->output);
        model_side_ask_again(&k->model);
    }
    if (k->state == KEEP_EXITED)
        keep_linger(k);
}

void keep_quit(struct keep *k)
{
    if (k->state == KEEP_EXITED)
        keep_over(k);
    else
        records_note(&k->records, "asked to quit while the agent runs; it was not stopped");
}

static void keep_on_farewell_over(uv_timer_t *timer)
{
    struct keep *k = timer->data;
    link_drop(&k->link);
}

static void keep_close_handles(struct keep *k)
{
    stop_close(&k->stop);
    account_close(&k->account);
    forwards_close(&k->forwards);
    hold_close(&k->hold);
    services_close(&k->services);
    net_gate_close(&k->net);
    door_close(&k->door);
    exec_gate_close(&k->exec);
    link_close(&k->link);
    output_close(&k->output);
    box_side_close(&k->box);
    model_side_stop(&k->model);
    mounts_end(&k->mounts);
    uv_close((uv_handle_t *)&k->before_waiting, NULL);
    uv_close((uv_handle_t *)&k->sigterm, NULL);
    uv_close((uv_handle_t *)&k->sighup, NULL);
    uv_close((uv_handle_t *)&k->enter, NULL);
    uv_close((uv_handle_t *)&k->pulse_pause, NULL);
    uv_close((uv_handle_t *)&k->still, NULL);
    speech_close(&k->speech);
}

static void keep_over(struct keep *k)
{
    if (k->state == KEEP_OVER)
        return;
    k->state = KEEP_OVER;
    unlink(k->config.socket);
    unlink(k->config.gate_socket);
    keep_close_handles(k);
    /* Whoever does not read its last words is dropped; the timer alone keeps nothing waiting. */
    uv_timer_start(&k->linger, keep_on_farewell_over, KEEP_FAREWELL_MS, 0);
    uv_unref((uv_handle_t *)&k->linger);
}

/* A logout or a shutdown: the agent gets its grace, the record is written, nobody is waited for. */
static void keep_on_sigterm(uv_signal_t *handle, int signal_number)
{
    struct keep *k = handle->data;
    (void)signal_number;
    k->is_leaving = true;
    if (k->state == KEEP_EXITED || k->state == KEEP_ENDED)
        keep_over(k);
    else
        stop_request(&k->stop, STOP_ASKED, k->config.grace_ms);
}

/* Handled and not ignored: a handler is reset by execve(2), an ignored signal would stay so in the
 * agent. */
static void keep_on_sighup(uv_signal_t *handle, int signal_number)
{
    (void)handle;
    (void)signal_number;
}

static void keep_watch_signals(struct keep *k)
{
    uv_signal_init(&k->loop, &k->sigterm);
    uv_signal_init(&k->loop, &k->sighup);
    k->sigterm.data = k;
    uv_signal_start(&k->sigterm, keep_on_sigterm, SIGTERM);
    uv_signal_start(&k->sighup, keep_on_sighup, SIGHUP);
}

static bool keep_lock(struct keep *k, struct err *err)
{
    k->lock_fd = fs_open_beneath(k->dirfd, "lock", O_RDWR | O_CREAT, 0600, err);
    if (k->lock_fd < 0)
        return err_prefix(err, "cannot open the attempt's lock");
    if (flock(k->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno == EWOULDBLOCK)
        return err_set(err, ERR_CONFLICT, "another keeper has this attempt");
    return err_sys(err, errno, "cannot lock the attempt");
}

static void keep_on_record(void *arg, const json_t *record, int64_t seq)
{
    struct keep *k = arg;
    link_record(&k->link, record, seq);
}

static void keep_on_allowed(void *arg, int64_t number, const struct call_request *call)
{
    struct keep *k = arg;
    exec_calls_approved(&k->exec.calls, number, call);
}

/* A person at its terminal interrupts it, or it is being ended: it gives its calls up by itself. */
static bool keep_is_given_up(const struct keep *k)
{
    return k->stop.cause != STOP_NONE || k->has_status || k->error.code != ERR_NONE ||
           (k->room.interrupted_ms && clock_mono_ms() - k->room.interrupted_ms < KEEP_INTERRUPT_MS);
}

/* All above it but pid 1: the agent cannot learn how its hook ended. */
static void keep_kill_above(const struct keep *k, pid_t pid)
{
    struct procfs_stat stat;
    for (int i = 0; i < KEEP_DEPTH_MAX && procfs_stat_of(&stat, pid) && stat.parent > 1; i++) {
        pid = stat.parent;
        if (pid == k->box.child.pid)
            return;
        kill(pid, SIGKILL);
    }
}

static void keep_on_hook_lost(void *arg, pid_t pid, const char *how)
{
    struct keep *k = arg;
    if (keep_is_given_up(k))
        return;
    if (pid)
        keep_kill_above(k, pid);
    err_set(&k->error, ERR_REFUSED,
            "a hook of %s %s, and its agent would run the call without the gate's answer; so the "
            "attempt was stopped ('headgate resume %s' goes on)",
            k->config.agent, how, k->config.attempt);
    box_side_kill(&k->box);
}

static void keep_on_answered(void *arg, pid_t pid, bool is_allowed)
{
    struct keep *k = arg;
    hook_guard_answered(&k->exec.guard, pid, is_allowed);
}

/* Where no end can be watched, what is seen of it is that it hung up. */
static void keep_on_hook_gone(void *arg)
{
    struct keep *k = arg;
    if (!k->exec.is_verified)
        keep_on_hook_lost(k, 0, "went away");
}

/* Who says so is the agent's hook, and nothing that a set-up command does, or left running. */
static void keep_on_greeted(void *arg, pid_t pid)
{
    struct keep *k = arg;
    bool is_agents = !k->exec.family.is_setup;
    if (k->config.exec != EXEC_OFF && k->exec.is_polling) /* else nobody knows who the agent is */
        is_agents = is_agents && exec_family_holds(&k->exec.family, pid);
    if (is_agents)
        hold_greeted(&k->hold);
    else if (hold_is_on(&k->hold) && !k->has_told_stranger) {
        k->has_told_stranger = true;
        records_note(&k->records, "something that is not the agent's hook shook hands with the "
                                  "gate; that counts for nothing");
    }
}

static void keep_on_rested(void *arg, const char *why)
{
    keep_pulse_rest(arg, why);
}

static void keep_on_called(void *arg)
{
    keep_pulse_wake(arg);
}

/* Who in the box holds a connection to the proxy. */
static json_t *keep_who(void *arg, uint16_t client_port, bool is_v6)
{
    const struct keep *k = arg;
    pid_t init = k->box.child.pid;
    pid_t pid = net_peer_find(init, is_v6, client_port, k->config.proxy_port);
    return pid > 0 ? exec_who(&k->exec, init, pid) : NULL;
}

static bool keep_listen(struct keep *k, struct err *err)
{
    /* The box runs as another account when the keeper is root. The socket's folder (0700) keeps all
     * others away; the box gets at it through its bind mount alone. */
    unsigned mode = geteuid() == 0 ? 0666 : 0600;
    int own = conn_listen(k->config.socket, 0600, err);
    if (own < 0 ||
        !link_open(&k->link, &k->loop, own, &keep_link_ops, k, &k->records, &k->room, err))
        return err_prefix(err, "the keeper's socket");
    int gate = conn_listen(k->config.gate_socket, mode, err);
    if (gate < 0 || !door_open(&k->door, &k->loop, gate, &k->config, &k->records, err))
        return err_prefix(err, "the gate socket");
    if (k->config.guard) {
        k->exec.guard = (struct hook_guard){.words = k->config.guard,
                                            .is_strict = k->config.is_guard_strict,
                                            .lost = keep_on_hook_lost,
                                            .lost_arg = k};
        k->door.lost = k->config.is_guard_strict ? keep_on_hook_gone : NULL;
        k->door.lost_arg = k;
        k->door.answered = keep_on_answered;
        k->door.answered_arg = k;
    }
    k->exec.family.is_setup = k->config.has_setup; /* also where no exec is watched */
    k->door.greeted = keep_on_greeted;
    k->door.greeted_arg = k;
    k->door.rested = keep_on_rested;
    k->door.called = keep_on_called;
    k->door.rested_arg = k;
    k->door.root_fd = &k->exec.root_fd;
    if (k->config.exec == EXEC_MATCH) {
        k->door.allowed = keep_on_allowed;
        k->door.allowed_arg = k;
    }
    if (!net_gate_init(&k->net, &k->loop, &k->config, &k->door.policy, &k->records, err))
        return err_prefix(err, "the proxy");
    k->net.who = keep_who;
    k->net.who_arg = k;
    return true;
}

/* Calls that were decided have had their answers by now. */
static void keep_before_waiting(uv_prepare_t *handle)
{
    struct keep *k = handle->data;
    AUTO_JSON json_t *waiting = keep_waiting(k);
    k->freeze.groups = &k->box.child.groups;
    k->freeze.init_pid = k->box.child.pid;
    k->freeze.may_stop = k->exec.keeps_waiting;
    freeze_set(&k->freeze, json_array_size(waiting) > 0 && k->was_let_go);
}

static void keep_init_parts(struct keep *k)
{
    attach_room_init(&k->room, &k->loop, &keep_attach_ops, k);
    box_side_init(&k->box, &k->loop, &keep_box_ops, k);
    exec_gate_init(&k->exec, &k->loop, &k->config, &k->door.policy, &k->records);
    k->exec.layer_changed = keep_layer_changed;
    k->exec.take_other = keep_take_rename;
    k->exec.other_arg = k;
    moves_init(&k->moves, k->config.worktree, &k->exec.listener_fd, &k->box, &k->records);
    k->exec.layer_arg = k;
    services_init(&k->services, &k->loop, &k->config);
    forwards_init(&k->forwards, &k->services, keep_dial, k);
    hold_init(&k->hold, &k->loop, k->config.hello_ms, &keep_hold_ops, k);
    account_init(&k->account, &k->loop, &keep_account_ops, k);
    stop_init(&k->stop, &k->loop, &keep_stop_ops, k);
    uv_timer_init(&k->loop, &k->linger);
    k->linger.data = k;
    uv_timer_init(&k->loop, &k->enter);
    k->enter.data = k;
    pulse_init(&k->pulse);
    uv_timer_init(&k->loop, &k->pulse_pause);
    k->pulse_pause.data = k;
    uv_timer_init(&k->loop, &k->still);
    k->still.data = k;
    uv_prepare_init(&k->loop, &k->before_waiting);
    k->before_waiting.data = k;
    if (k->config.freezes)
        uv_prepare_start(&k->before_waiting, keep_before_waiting);
    uv_unref((uv_handle_t *)&k->before_waiting);
    for (size_t i = 0; i < ARRAY_LEN(k->sources); i++)
        k->sources[i].keep = k;
}

static bool open_model(struct keep *k, const json_t *keys, struct err *err)
{
    k->model = (struct model_side)MODEL_SIDE_INIT;
    return json_array_size(k->config.models) == 0 ||
           (model_side_open(&k->model, k->config.models, keys, err) &&
            model_side_follow(&k->model, &k->loop, keep_ask_token, k, err));
}

/* On failure the process ends, and the kernel takes back what was opened. */
bool keep_open(struct keep **ret, int dirfd, const json_t *keys, struct err *err)
{
    struct keep *k = xcalloc(1, sizeof *k);
    k->dirfd = dirfd;
    k->mounts.held = (struct held)HELD_INIT;
    int status = uv_loop_init(&k->loop);
    if (status != 0)
        return err_sys(err, -status, "cannot make an event loop");
    if (!keep_lock(k, err) || !keep_config_load(&k->config, dirfd, err) ||
        !proc_id_of(&k->id, getpid(), err) ||
        !records_open(&k->records, dirfd, keep_on_record, k, err) || !open_model(k, keys, err))
        return false;
    keep_init_parts(k);
    keep_watch_signals(k);
    if (!output_open(&k->output, &k->loop, dirfd, k->config.output, k->config.output_bytes,
                     k->config.is_interactive, &keep_output_ops, k, err))
        return false;
    if (!keep_listen(k, err))
        return false;
    *ret = k;
    return true;
}

static void keep_free(struct keep *k)
{
    uv_close((uv_handle_t *)&k->linger, NULL);
    uv_run(&k->loop, UV_RUN_DEFAULT);
    uv_loop_close(&k->loop);
    output_release(&k->output);
    pulse_release(&k->pulse);
    attach_room_release(&k->room);
    link_release(&k->link);
    net_gate_release(&k->net);
    model_side_close(&k->model);
    door_release(&k->door);
    moves_release(&k->moves);
    exec_gate_release(&k->exec);
    freeze_release(&k->freeze);
    records_close(&k->records);
    keep_config_release(&k->config);
    close(k->lock_fd);
    close(k->dirfd);
    free(k);
}

void keep_run(struct keep *k)
{
    if (keep_box_start(k, &k->error)) {
        stop_after(&k->stop, KEEP_START_MS, STOP_FAILED, 0);
    } else {
        k->status = KEEP_FAILED_STATUS;
        k->is_gone = k->box.child.pid == 0;
        keep_check_ended(k);
    }
    uv_run(&k->loop, UV_RUN_DEFAULT);
    keep_free(k);
}
