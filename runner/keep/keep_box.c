/*
 * keep_box: what the box does, as events of the keeper; what attach clients and stops want of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/keep/keep.h"

enum {
    KEEP_OPEN_FILES = 4096, /* gate and service connections at their bounds, and some */
};

/* Output of the agent. */

static void keep_source_data(void *arg, const char *bytes, size_t len)
{
    struct keep_source *source = arg;
    struct keep *k = source->keep;
    output_add(&k->output, bytes, len, source->has_lines);
    attach_room_data(&k->room, bytes, len);
    if (k->config.is_interactive)
        keep_pulse_stir(k);
}

static void keep_source_end(void *arg)
{
    keep_source_ended(arg);
}

static bool keep_source_open(struct keep_source *source, int fd, bool has_lines, struct err *err)
{
    static const struct stream_ops ops = {.data = keep_source_data, .ended = keep_source_end};
    source->stream = stream_open(&source->keep->loop, fd, &ops, source, err);
    source->has_lines = has_lines;
    return source->stream != NULL;
}

/* A pipe whose end inside may be opened again through /proc/self/fd (`echo >/dev/stderr`) by
 * another account too: only the box can reach that path. */
static bool keep_pipe(struct keep_source *source, int *ret_write_fd, bool has_lines,
                      struct err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot make a pipe for the agent's output");
    *ret_write_fd = fds[1];
    if (fchmod(fds[1], 0666) != 0) {
        close(fds[0]);
        return err_sys(err, errno, "cannot open the agent's output to its account");
    }
    return keep_source_open(source, fds[0], has_lines, err);
}

/* Lines of a stream format must not be torn by messages for people, so there standard error has a
 * pipe of its own. Otherwise both share one, which keeps their order. */
static bool keep_pipes(struct keep *k, int *ret_out, int *ret_err, struct err *err)
{
    bool is_format = strcmp(k->config.output, "lines") != 0;
    if (k->config.is_interactive)
        return true;
    return keep_pipe(&k->sources[0], ret_out, true, err) &&
           (!is_format || keep_pipe(&k->sources[1], ret_err, false, err));
}

static void keep_on_lost_mount(void *arg, const char *sentence)
{
    struct keep *k = arg;
    struct err err = ERR_INIT;
    json_t *body = json_object();
    jx_set_str(body, "text", sentence);
    if (!records_add(&k->records, "mount", body, &err) && k->error.code == ERR_NONE)
        k->error = err;
}

/* What stood still runs now; the loop stops it again before it waits. */
static void keep_on_stirred(void *arg)
{
    struct keep *k = arg;
    freeze_set(&k->freeze, false);
}

static void keep_on_unheld(void *arg, const struct err *err)
{
    struct keep *k = arg;
    if (k->error.code == ERR_NONE)
        k->error = *err;
    box_side_kill(&k->box);
}

static const struct mounts_ops keep_mounts_ops = {
    .told = keep_on_lost_mount, .stirred = keep_on_stirred, .failed = keep_on_unheld};

bool keep_box_start(struct keep *k, struct err *err)
{
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    AUTO_FD int in = -1;
    AUTO_FD int out = -1;
    AUTO_FD int errout = -1;
    if (null < 0)
        return err_sys(err, errno, "cannot open /dev/null");
    if (k->config.hears != SPEECH_NONE &&
        !speech_open(&k->speech, &k->loop, k->config.hears, &in, err))
        return false;
    if (!keep_pipes(k, &out, &errout, err))
        return false;
    const int std_fds[3] = {in >= 0 ? in : null, out >= 0 ? out : null,
                            errout >= 0 ? errout
                            : out >= 0  ? out
                                        : null};
    mounts_plan(&k->mounts, &k->config.plan, &keep_mounts_ops, k, err);
    if (!box_side_start(&k->box, &k->config.plan, std_fds, err))
        return false;
    buf_release(&k->config.plan);
    unlinkat(k->dirfd, k->config.plan_name, 0); /* the set-up's secrets are in it */
    /* Raised only now: the agent keeps the limit that the person has. */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < KEEP_OPEN_FILES) {
        files.rlim_cur = files.rlim_max < KEEP_OPEN_FILES ? files.rlim_max : KEEP_OPEN_FILES;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    return true;
}

/* What pid 1 says. */

static void keep_add_layer(json_t *list, const char *name, const struct layer_status *status)
{
    json_t *layer = json_object();
    jx_set_str(layer, "name", name);
    jx_set_str(layer, "state", layer_state_name(status->state));
    jx_set_str(layer, "mechanism", status->mechanism);
    jx_set_str(layer, "reason", status->reason);
    json_array_append_new(list, layer);
}

/* The layers of the box, those that are the keeper's own, and what was given up. */
static json_t *keep_layers_json(const struct keep *k, const struct layer_report *report)
{
    json_t *list = json_array();
    for (int id = 0; id < LAYER_COUNT; id++)
        keep_add_layer(list, layer_name((enum layer_id)id), &report->layer[id]);
    keep_add_layer(list, "exec", &k->exec.layer);
    if (k->config.exec != EXEC_OFF) {
        AUTO_FREE char *limits =
            xasprintf("%s%s", exec_not_covered(),
                      k->config.may_debug
                          ? "; given up (gate.debugger): execs under a debugger in the box are "
                            "not verified"
                          : "");
        jx_set_str(json_array_get(list, LAYER_COUNT), "limits", limits);
    }
    keep_add_layer(list, "keeper", &k->own);
    if (k->config.has_no_canary)
        keep_add_layer(list, "canary",
                       &(struct layer_status){
                           .state = LAYER_DEGRADED,
                           .reason =
                               "not made on request: nothing has shown that this agent runs no "
                               "call that is denied"});
    return list;
}

void keep_take_rename(void *arg, const struct notice *n)
{
    struct keep *k = arg;
    moves_take(&k->moves, n);
}

/* An error of the keeper's side before the agent runs ends the box. */
static void keep_fail(struct keep *k, const struct err *err)
{
    if (k->error.code == ERR_NONE)
        k->error = *err;
    box_side_kill(&k->box);
}

static bool keep_record_layers(struct keep *k, struct err *err)
{
    json_t *body = json_object();
    jx_set(body, "layers", keep_layers_json(k, &k->report));
    return records_add(&k->records, "layers", body, err);
}

void keep_layer_changed(void *arg)
{
    struct keep *k = arg;
    struct err err = ERR_INIT;
    if (!keep_record_layers(k, &err))
        keep_fail(k, &err);
}

static void keep_on_layers(struct keep *k, const struct box_msg *msg)
{
    struct err err = ERR_INIT;
    k->report = msg->report;
    bool is_held = mounts_begin(&k->mounts, &k->loop, k->box.child.pid, &err);
    confine_self(&k->own); /* the box stands, and nothing of the agent's has been looked at */
    k->is_accounted = msg->report.layer[LAYER_LIMITS].state != LAYER_ACTIVE;
    if (!is_held || !keep_record_layers(k, &err) || !box_go(box_side_ctl(&k->box), &err))
        keep_fail(k, &err);
    else
        k->was_let_go = true;
}

/* Whether the relay to one of the agent's models listens there. */
static bool is_of_model(size_t *ret, const struct keep *k, int port)
{
    const json_t *model;
    size_t i;
    json_array_foreach(k->config.models, i, model)
    {
        *ret = i;
        if (jx_int(model, "inside", 0) == port)
            return true;
    }
    return false;
}

/* fd is taken over. */
static void keep_serve(void *arg, int port, int fd)
{
    struct keep *k = arg;
    struct err err = ERR_INIT;
    size_t model = 0;
    if (is_of_model(&model, k, port)   ? !model_side_listen(&k->model, model, fd, &err)
        : port == k->config.proxy_port ? !proxy_listen(&k->net.proxy, fd, &err)
                                       : !services_listen(&k->services, port, fd, &err))
        records_note(&k->records, "port %d is not served: %s", port, err.text);
}

static void keep_on_no_hello(void *arg)
{
    struct keep *k = arg;
    if (k->config.is_unasked) {
        records_note(&k->records,
                     "%s has not shaken hands with the gate yet; until it does nothing it asks for "
                     "reaches anyone",
                     k->config.agent);
        return;
    }
    if (k->error.code == ERR_NONE)
        err_set(
            &k->error, ERR_REFUSED,
            "%s did not shake hands with the gate within %lld s%s, so its hook is not in force; "
            "nothing reached its model ('headgate agent check --canary %s' tells more)",
            k->config.agent, (long long)(hold_patience_ms(&k->hold) / 1000),
            k->hold.is_wanted ? "" : " of its start", k->config.agent);
    box_side_kill(&k->box);
}

const struct hold_ops keep_hold_ops = {.serve = keep_serve, .overdue = keep_on_no_hello};

/* A set-up command has the network to itself; then it is the agent's. */
static void keep_on_listener(struct keep *k, const struct box_msg *msg)
{
    size_t model;
    int fd = -1;
    if (k->config.has_setup && hold_is_on(&k->hold) && !is_of_model(&model, k, msg->port)) {
        fd = fcntl(msg->fd, F_DUPFD_CLOEXEC, 0);
        keep_serve(k, msg->port, msg->fd);
    } else {
        hold_keep(&k->hold, msg->port, msg->fd);
    }
    if (fd >= 0 && k->n_later < HOLD_SOCKETS)
        k->later[k->n_later++] = (struct keep_later){.port = msg->port, .fd = fd};
    else if (fd >= 0)
        close(fd);
}

/* What was served for the set-up is closed to new connections until the agent's hook has shaken
 * hands. */
static void keep_hold_later(struct keep *k)
{
    if (hold_is_on(&k->hold)) {
        proxy_deafen(&k->net.proxy);
        services_deafen(&k->services);
    }
    for (size_t i = 0; i < k->n_later; i++)
        hold_keep(&k->hold, k->later[i].port, k->later[i].fd);
    k->n_later = 0;
}

static void keep_on_exec_listener(struct keep *k, const struct box_msg *msg)
{
    struct err err = ERR_INIT;
    if (!exec_gate_listen(&k->exec, k->box.child.pid, msg, &err))
        keep_fail(k, &err);
}

static void keep_on_pty(struct keep *k, const struct box_msg *msg)
{
    struct err err = ERR_INIT;
    if (msg->id != 0)
        attach_room_pty(&k->room, msg->id, msg->fd);
    else if (!keep_source_open(&k->sources[0], msg->fd, true, &err))
        keep_fail(k, &err);
    else
        attach_room_agent(&k->room, k->sources[0].stream);
}

static void keep_expect_hello(struct keep *k)
{
    if (!k->config.is_unasked)
        hold_expect(&k->hold);
}

static void keep_on_started(struct keep *k, const struct box_msg *msg)
{
    struct err err = ERR_INIT;
    json_t *body;
    if (msg->id != 0)
        return;
    k->state = KEEP_RUNNING;
    if (!k->config.has_setup)
        keep_expect_hello(k);
    if (!k->config.has_setup && k->config.task)
        speech_begin(&k->speech, k->config.task);
    body = json_object();
    jx_set_int(body, "pid", k->id.pid);
    jx_set_int(body, "start_ticks", (int64_t)k->id.start_ticks);
    jx_set_str(body, "boot_id", k->id.boot_id);
    if (!records_add(&k->records, "started", body, &err))
        keep_fail(k, &err);
    if (k->config.is_interactive) /* what it said first may have come before this */
        keep_pulse_stir(k);
    stop_after(&k->stop, k->config.time_ms, STOP_TIME, k->config.grace_ms);
    if (k->is_accounted && (k->config.memory_bytes || k->config.pids))
        account_start(&k->account, k->box.child.pid, k->config.memory_bytes, k->config.pids);
}

/* Only now is there an agent, whose execs are its own. */
static void keep_on_set_up(struct keep *k)
{
    struct err err = ERR_INIT;
    exec_gate_agent_next(&k->exec);
    keep_hold_later(k);
    keep_expect_hello(k);
    if (k->config.task)
        speech_begin(&k->speech, k->config.task);
    if (!box_go(box_side_ctl(&k->box), &err))
        keep_fail(k, &err);
}

static void keep_on_failed(struct keep *k, const struct box_msg *msg)
{
    if (msg->id >= FORWARD_FIRST_ID)
        forwards_dialed(&k->forwards, msg->id, -1);
    else if (msg->id != 0)
        attach_room_joined_failed(&k->room, msg->id, &msg->error);
    else if (k->error.code == ERR_NONE)
        k->error = msg->error;
}

static void keep_on_exited(struct keep *k, const struct box_msg *msg)
{
    if (msg->id != 0) {
        attach_room_joined_exited(&k->room, msg->id, msg->status);
        return;
    }
    k->has_status = true;
    k->status = msg->status;
}

static void keep_on_message(void *arg, const struct box_msg *msg)
{
    struct keep *k = arg;
    switch (msg->kind) {
    case BOX_MSG_LAYERS:
        keep_on_layers(k, msg);
        break;
    case BOX_MSG_LISTENER:
        keep_on_listener(k, msg);
        break;
    case BOX_MSG_DIALED:
        forwards_dialed(&k->forwards, msg->id, msg->fd);
        break;
    case BOX_MSG_PTY:
        keep_on_pty(k, msg);
        break;
    case BOX_MSG_CALL_LISTENER:
        keep_on_exec_listener(k, msg);
        break;
    case BOX_MSG_MOVED:
        moves_over(&k->moves, msg->id, msg->status);
        break;
    case BOX_MSG_STARTED:
        keep_on_started(k, msg);
        break;
    case BOX_MSG_SET_UP:
        keep_on_set_up(k);
        break;
    case BOX_MSG_FAILED:
        keep_on_failed(k, msg);
        break;
    case BOX_MSG_EXITED:
        keep_on_exited(k, msg);
        break;
    case BOX_MSG_EXCEEDED:
        keep_account_ops.exceeded(k, true);
        break;
    case BOX_MSG_NONE:
    case BOX_MSG_ENDED: /* what was mounted goes with pid 1 only */
    case BOX_MSG_CLOSED:
        break;
    }
}

static void keep_on_gone(void *arg, int status)
{
    keep_box_gone(arg, status);
}

static void keep_on_traced(void *arg, pid_t pid, int status)
{
    struct keep *k = arg;
    if (pid == k->model.pid) {
        k->model.pid = 0;
        records_note(&k->records, "the relay to the agent's model ended (status %d)", status);
        return;
    }
    exec_gate_event(&k->exec, pid, status);
}

const struct box_side_ops keep_box_ops = {
    .message = keep_on_message, .traced = keep_on_traced, .gone = keep_on_gone};

/* What attach clients want. */

static bool keep_join(void *arg, const struct attach_join *join, struct err *err)
{
    struct keep *k = arg;
    if (!k->was_let_go || box_side_ctl(&k->box) < 0)
        return err_set(err, ERR_CONFLICT, "the agent's box is not running");
    return box_join(box_side_ctl(&k->box), join->id, &join->argv, &join->env, join->cwd, join->cols,
                    join->rows, err);
}

static void keep_hang_up(void *arg, int id)
{
    struct keep *k = arg;
    struct err err = ERR_INIT;
    int ctl = box_side_ctl(&k->box);
    /* Its terminal is closed as well; a process that ended already is not an error. */
    bool is_told = ctl < 0 || box_signal(ctl, id, SIGHUP, &err);
    (void)is_told;
}

bool keep_dial(void *arg, int id, int port, bool is_v6, struct err *err)
{
    struct keep *k = arg;
    if (!k->was_let_go || box_side_ctl(&k->box) < 0)
        return err_set(err, ERR_CONFLICT, "the agent's box is not running");
    return box_dial(box_side_ctl(&k->box), id, port, is_v6, err);
}

static bool keep_forward(void *arg, const void *client, int port, int wanted, int *ret_port,
                         struct err *err)
{
    struct keep *k = arg;
    if (!k->was_let_go || box_side_ctl(&k->box) < 0)
        return err_set(err, ERR_CONFLICT, "the agent's box is not running");
    return forwards_open(&k->forwards, client, port, wanted, ret_port, err);
}

static void keep_left(void *arg, const void *client)
{
    struct keep *k = arg;
    forwards_leave(&k->forwards, client);
}

const struct attach_ops keep_attach_ops = {
    .join = keep_join, .hang_up = keep_hang_up, .forward = keep_forward, .left = keep_left};

/* Ends. An interactive shell ignores TERM and ends with its terminal, so that one is told of both.
 */

static bool keep_terminate(void *arg)
{
    struct keep *k = arg;
    struct err err = ERR_INIT;
    int ctl = box_side_ctl(&k->box);
    freeze_end(&k->freeze); /* it cannot hear the signal else */
    if (!k->was_let_go || ctl < 0 || !box_signal(ctl, 0, SIGTERM, &err))
        return false;
    return !k->config.is_interactive || box_signal(ctl, 0, SIGHUP, &err);
}

static void keep_kill(void *arg)
{
    struct keep *k = arg;
    box_side_kill(&k->box);
}

const struct stop_ops keep_stop_ops = {.terminate = keep_terminate, .kill = keep_kill};
