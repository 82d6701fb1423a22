#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "sandbox/launch/job.h"
#include "sandbox/launch/memory.h"
#include "sandbox/launch/move.h"

/*
 * pid 1: waits for the go, starts the agent, reaps every orphan, starts joined processes, carries
 * renames out, passes signals on, and ends the box: with the agent, or with its caller.
 *
 * It answers to two sources, the control socket and its children, and lets nobody inside change
 * what it does: signals from inside are blocked and merely passed on to the agent's own group.
 */

enum { JOBS = 64, KILLED = 128 + SIGKILL, TEARDOWN_MS = 60000 };

struct init {
    struct launch *l;
    struct memory memory;
    int signal_fd;
    struct job jobs[JOBS];  /* [0]: the set-up, then the agent, then the tear-down */
    char program[JOBS][64]; /* for messages */
    struct mover mover;
    enum { SETUP_AHEAD, SETUP_RUNS, SETUP_DONE } setup;
    bool has_started; /* the caller was told so */
    bool is_over;     /* the agent has ended: what runs is the tear-down */
    int agent_code;
    int64_t teardown_due_ms;
};

/* Without a pid namespace of its own (negative controls only) a signal to all would reach the host.
 */
static bool is_init(void)
{
    return getpid() == 1;
}

static void send_exited(const struct init *in, int id, int status)
{
    struct wire_msg msg = {.kind = BOX_MSG_EXITED, .id = id, .status = status};
    launch_send(in->l->ctl_fd, &msg, -1);
}

static struct job *find_by_pid(struct init *in, pid_t pid)
{
    for (size_t i = 0; i < JOBS; i++)
        if (in->jobs[i].pid == pid)
            return &in->jobs[i];
    return NULL;
}

static struct job *find_by_id(struct init *in, int id)
{
    for (size_t i = 0; i < JOBS; i++)
        if (in->jobs[i].pid > 0 && in->jobs[i].id == id)
            return &in->jobs[i];
    return NULL;
}

static int exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* End every process of the box, tell the ends of joined ones, and end. The caller sees the box's
 * pid exit only after the kernel has ended all others. */
static _Noreturn void finish(struct init *in, int code)
{
    int status;
    pid_t pid;
    if (!is_init()) {
        for (size_t i = 0; i < JOBS; i++)
            if (in->jobs[i].pid > 0)
                kill(-in->jobs[i].pid, SIGKILL);
        _exit(code);
    }
    kill(-1, SIGKILL);
    while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
        const struct job *job = pid > 0 ? find_by_pid(in, pid) : NULL;
        if (job)
            send_exited(in, job->id, exit_code(status));
    }
    const struct wire_msg ended = {.kind = BOX_MSG_ENDED};
    launch_send(in->l->ctl_fd, &ended, -1);
    _exit(code);
}

static _Noreturn void end_agent(struct init *in);

/* The exec of a job is settled: it runs, or it failed and with the agent the box ends. */
static void settle_exec(struct init *in, struct job *job)
{
    struct err err = ERR_INIT;
    if (job->exec_fd < 0)
        return;
    if (job_outcome(job, in->program[job - in->jobs], &err)) {
        struct wire_msg msg = {.kind = BOX_MSG_STARTED, .id = job->id};
        if (job->id != 0 || !in->has_started)
            launch_send(in->l->ctl_fd, &msg, -1);
        in->has_started |= job->id == 0;
        return;
    }
    int id = job->id;
    job->pid = -1; /* its exit is not told apart from this failure */
    if (id == 0 && in->is_over)
        end_agent(in);
    launch_send_failed(in->l->ctl_fd, id, &err);
    if (id == 0)
        finish(in, job_failed_code(&err));
}

static void say(const struct init *in, const char *text)
{
    ssize_t ignored = write(in->l->pty_fd >= 0 ? in->l->pty_fd : STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static const char *overlay_root(const struct init *in)
{
    const struct plan_step *step = plan_find(&in->l->plan, PLAN_OVERLAY);
    return step ? plan_text(step, PLAN_OVERLAY_PATH) : NULL;
}

static void send_moved(const struct init *in, int id, int why)
{
    const struct wire_msg msg = {.kind = BOX_MSG_MOVED, .id = id, .status = why};
    launch_send(in->l->ctl_fd, &msg, -1);
}

static void move(struct init *in, int id, int plan_fd)
{
    struct err err = ERR_INIT;
    const char *tree = overlay_root(in);
    if (in->mover.pid > 0 || !tree || !mover_start(&in->mover, id, plan_fd, tree, &err))
        send_moved(in, id, BOX_MOVE_LEFT);
}

static void end_move(struct init *in, int wait_status)
{
    in->mover.pid = 0;
    send_moved(in, in->mover.id, mover_outcome(wait_status));
}

/* What was begun ends first. */
static void settle_move(struct init *in)
{
    int status = 0;
    while (in->mover.pid > 0)
        if (waitpid(in->mover.pid, &status, 0) >= 0 || errno != EINTR)
            end_move(in, status);
}

/* What had a secret is gone before the agent exists: every process that the set-up left, and the
 * words in this one. */
static void forget_secrets(struct init *in)
{
    struct err err = ERR_INIT;
    if (!plan_find(&in->l->plan, PLAN_SETUP_ENV))
        return;
    settle_move(in);
    if (is_init())
        kill(-1, SIGKILL);
    while (is_init() && (waitpid(-1, NULL, 0) > 0 || errno == EINTR))
        continue;
    if (!plan_forget(&in->l->plan, PLAN_SETUP_ENV, &err)) {
        launch_send_failed(in->l->ctl_fd, 0, &err);
        finish(in, job_failed_code(&err));
    }
}

static void end_setup(struct init *in, int code)
{
    if (code != 0) {
        say(in, "headgate: the set-up command failed\n");
        send_exited(in, 0, 1);
        finish(in, 1);
    }
    forget_secrets(in);
    in->setup = SETUP_DONE;
    struct wire_msg msg = {.kind = BOX_MSG_SET_UP};
    launch_send(in->l->ctl_fd, &msg, -1);
}

/* Give the streams of the agent up, so that their other ends see the end when the agent's are
 * closed. */
static void release_streams(struct init *in)
{
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    if (in->l->pty_fd >= 0)
        close(in->l->pty_fd);
    in->l->pty_fd = -1;
}

static bool start_job(struct init *in, size_t place, int id, const struct job_source *source,
                      int tty_fd, struct err *err)
{
    const struct plan_step *step = NULL;
    if (!job_start(&in->jobs[place], id, source, tty_fd, err))
        return false;
    while ((step = plan_next(source->plan, step)) && step->kind != source->argv)
        continue;
    strncpy(in->program[place], plan_text(step, 0), sizeof(in->program[place]) - 1);
    return true;
}

static _Noreturn void end_agent(struct init *in)
{
    send_exited(in, 0, in->agent_code);
    settle_move(in);
    finish(in, in->agent_code);
}

/* The agent has ended, or what came after it. */
static void end_main(struct init *in, int code)
{
    const struct job_source teardown = {&in->l->plan, PLAN_TEARDOWN_ARG, PLAN_ENV, NULL};
    struct err err = ERR_INIT;
    if (in->is_over) {
        if (code != 0)
            say(in, "headgate: the tear-down command failed\n");
        end_agent(in);
    }
    in->is_over = true;
    in->agent_code = code;
    in->teardown_due_ms = clock_mono_ms() + TEARDOWN_MS;
    if (!plan_find(&in->l->plan, PLAN_TEARDOWN_ARG) ||
        !start_job(in, 0, 0, &teardown, in->l->pty_fd, &err))
        end_agent(in);
}

static void end_late_teardown(struct init *in)
{
    if (in->is_over && clock_mono_ms() >= in->teardown_due_ms && in->jobs[0].pid > 0)
        kill(-in->jobs[0].pid, SIGKILL);
}

static int wait_ms(const struct init *in)
{
    int memory_ms = memory_wait_ms(&in->memory);
    int64_t left_ms = in->is_over ? in->teardown_due_ms - clock_mono_ms() : -1;
    if (!in->is_over)
        return memory_ms;
    if (left_ms < 0)
        left_ms = 0;
    return memory_ms >= 0 && memory_ms < left_ms ? memory_ms : (int)left_ms;
}

static void reap(struct init *in)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == in->mover.pid) {
            end_move(in, status);
            continue;
        }
        struct job *job = find_by_pid(in, pid);
        if (!job)
            continue;
        settle_exec(in, job);
        if (job->pid != pid)
            continue;
        job->pid = 0;
        if (job->id == 0 && in->setup == SETUP_RUNS) {
            end_setup(in, exit_code(status));
            continue;
        }
        if (job->id == 0)
            end_main(in, exit_code(status));
        else
            send_exited(in, job->id, exit_code(status));
    }
}

/* The set-up, where there is one, at the first go; the agent at the next. */
static void start_agent(struct init *in)
{
    const struct plan *plan = &in->l->plan;
    const struct job_source setup = {plan, PLAN_SETUP_ARG, PLAN_SETUP_ENV, plan};
    const struct job_source agent = {plan, PLAN_ARG, PLAN_ENV, NULL};
    struct err err = ERR_INIT;
    if (in->jobs[0].pid != 0)
        return;
    bool is_setup = in->setup == SETUP_AHEAD && plan_find(plan, PLAN_SETUP_ARG);
    in->setup = is_setup ? SETUP_RUNS : SETUP_DONE;
    if (!start_job(in, 0, 0, is_setup ? &setup : &agent, in->l->pty_fd, &err)) {
        launch_send_failed(in->l->ctl_fd, 0, &err);
        finish(in, job_failed_code(&err));
    }
    if (!is_setup && !plan_find(plan, PLAN_TEARDOWN_ARG))
        release_streams(in);
}

static bool join(struct init *in, int id, int plan_fd, struct err *err)
{
    AUTO_FD int master = -1;
    AUTO_FD int slave = -1;
    struct plan plan = {0};
    size_t place = 1;
    while (place < JOBS && in->jobs[place].pid > 0)
        place++;
    if (place == JOBS)
        return err_set(err, ERR_LIMIT, "%d further programs run in the box already", JOBS - 1);
    if (in->jobs[0].pid <= 0 || in->setup != SETUP_DONE)
        return err_set(err, ERR_CONFLICT, "the agent has not been started: the set-up still runs");
    if (!plan_map(&plan, plan_fd, err))
        return false;
    bool ok = pty_open(&master, &slave, plan.head->cols, plan.head->rows, err);
    if (ok) {
        struct wire_msg msg = {.kind = BOX_MSG_PTY, .id = id};
        launch_send(in->l->ctl_fd, &msg, master);
        const struct job_source source = {&plan, PLAN_ARG, PLAN_ENV, &in->l->plan};
        ok = start_job(in, place, id, &source, slave, err);
    }
    plan_unmap(&plan);
    return ok;
}

static void pass_signal(struct init *in, int id, int signal_number)
{
    const struct job *job = find_by_id(in, id);
    if (job)
        kill(-job->pid, signal_number);
}

static void dial(const struct init *in, const struct wire_cmd *cmd)
{
    struct err err = ERR_INIT;
    const struct wire_msg msg = {.kind = BOX_MSG_DIALED, .id = cmd->id};
    AUTO_FD int fd = net_dial(cmd->port, cmd->is_v6, &err);
    if (fd < 0)
        launch_send_failed(in->l->ctl_fd, cmd->id, &err);
    else
        launch_send(in->l->ctl_fd, &msg, fd);
}

static void obey(struct init *in)
{
    struct wire_cmd cmd;
    struct err err = ERR_INIT;
    AUTO_FD int fd = -1;
    if (!launch_receive(in->l->ctl_fd, &cmd, &fd, MSG_DONTWAIT))
        finish(in, KILLED);
    switch (cmd.op) {
    case WIRE_GO:
        start_agent(in);
        break;
    case WIRE_JOIN:
        if (!join(in, cmd.id, fd, &err))
            launch_send_failed(in->l->ctl_fd, cmd.id, &err);
        break;
    case WIRE_MOVE:
        move(in, cmd.id, fd);
        break;
    case WIRE_DIAL:
        dial(in, &cmd);
        break;
    case WIRE_SIGNAL:
        pass_signal(in, cmd.id, cmd.signal_number);
        break;
    default: /* nothing came after all */
        break;
    }
}

static void take_signal(struct init *in)
{
    struct signalfd_siginfo info;
    while (read(in->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            pass_signal(in, 0, (int)info.ssi_signo);
    reap(in);
}

static void check_memory(struct init *in)
{
    struct err err = ERR_INIT;
    if (!memory_is_over(&in->memory, &err))
        return;
    const struct wire_msg msg = {.kind = BOX_MSG_EXCEEDED, .error = err};
    launch_send(in->l->ctl_fd, &msg, -1);
    finish(in, KILLED);
}

static int open_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

void init_run(struct launch *l)
{
    static struct init in;
    in = (struct init){.l = l, .signal_fd = open_signals()};
    if (is_init() && l->report.layer[LAYER_LIMITS].state == LAYER_DEGRADED)
        memory_count(&in.memory, l->plan.head->memory_bytes);
    for (size_t i = 0; i < JOBS; i++)
        in.jobs[i].exec_fd = -1;
    if (in.signal_fd < 0)
        _exit(125);
    if (l->plan.head->flags & PLAN_MOVE_NOTIFY)
        mover_sweep(overlay_root(&in));
    for (;;) {
        struct pollfd fds[2 + JOBS] = {
            {.fd = l->ctl_fd, .events = POLLIN},
            {.fd = in.signal_fd, .events = POLLIN},
        };
        for (size_t i = 0; i < JOBS; i++)
            fds[2 + i] = (struct pollfd){.fd = in.jobs[i].exec_fd, .events = POLLIN};
        if (poll(fds, ARRAY_LEN(fds), wait_ms(&in)) < 0)
            continue;
        check_memory(&in);
        end_late_teardown(&in);
        for (size_t i = 0; i < JOBS; i++)
            if (fds[2 + i].revents)
                settle_exec(&in, &in.jobs[i]);
        if (fds[1].revents)
            take_signal(&in);
        if (fds[0].revents)
            obey(&in);
    }
}
