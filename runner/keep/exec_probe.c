#include "runner/keep/exec_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gate/exec.h"
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/exec_image.h"
#include "runner/keep/exec_notice.h"
#include "runner/keep/exec_trace.h"
#include "sandbox/box.h"

enum { PROBE_TIME_MS = 10 * 1000, PROBE_TICK_MS = 10, PROBE_OUTPUT_BYTES = 4096 };

/* Two programs whose paths have the same length: the one is allowed, the other gets into its place. */
#define REFUSED "/bin/ls"
#define ALLOWED "/bin/true"
#define CHANGED "/bin/echo"
#define SCRIPT                                                                                    \
    REFUSED " / >/dev/null 2>&1; echo refused $?; " ALLOWED " changed; echo allowed $?"

enum gating { GATED, UNVERIFIED, NOT_GATED };

static const char *const expected[] = {
    [GATED] = "refused 126\nallowed 137\n",
    [UNVERIFIED] = "refused 126\nchanged\nallowed 0\n",
    [NOT_GATED] = "refused 0\nallowed 0\n",
};

/* One box at its trial. */
struct trial {
    enum gating gating;
    struct box_child child;
    int listener_fd, root_fd, out_fd;
    struct exec_trace trace;
    struct buf out;
    struct err err; /* why there is no gate */
    bool is_gone;
};

static void trial_done(struct trial *t)
{
    int status;
    if (t->child.pid > 0 && !t->is_gone) {
        kill(t->child.pid, SIGKILL);
        waitpid(t->child.pid, &status, 0);
    }
    if (t->child.pid > 0)
        box_close(&t->child);
    auto_fd_(&t->listener_fd);
    auto_fd_(&t->root_fd);
    auto_fd_(&t->out_fd);
    exec_trace_release(&t->trace);
    buf_release(&t->out);
}

static bool start(struct trial *t, const char *launcher, uid_t uid, gid_t gid)
{
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_BUF struct buf plan = BUF_INIT;
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    AUTO_FD int out = -1;
    int ends[2];
    box_spec_init(&spec);
    spec.uid = uid;
    spec.gid = gid;
    spec.cwd = xstrdup("/");
    spec.exec_notify = t->gating != NOT_GATED;
    strv_push(&spec.argv, "/bin/sh");
    strv_push(&spec.argv, "-c");
    strv_push(&spec.argv, SCRIPT);
    strv_env_set(&spec.env, "PATH", "/usr/bin:/bin");
    if (null < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(&t->err, errno, "cannot make a pipe");
    t->out_fd = ends[0];
    out = ends[1];
    fcntl(t->out_fd, F_SETFL, O_NONBLOCK);
    return box_plan(&plan, &spec, &t->err) &&
           box_spawn(&t->child, launcher, &plan, (const int[3]){null, out, null}, &t->err);
}

static void hear(struct trial *t)
{
    struct box_msg msg;
    struct err err = ERR_INIT;
    while (t->child.ctl_fd >= 0 && box_recv(&msg, t->child.ctl_fd, &err) &&
           msg.kind != BOX_MSG_NONE && msg.kind != BOX_MSG_CLOSED) {
        if (msg.kind == BOX_MSG_EXEC_LISTENER && msg.fd < 0)
            t->err = msg.error;
        else if (msg.kind == BOX_MSG_EXEC_LISTENER)
            t->listener_fd = msg.fd;
        else if (msg.fd >= 0)
            close(msg.fd);
        if (msg.kind == BOX_MSG_FAILED)
            t->err = msg.error;
        /* Without a listener its box would wait for ever. */
        bool may_go = t->gating == NOT_GATED || t->listener_fd >= 0;
        if (msg.kind == BOX_MSG_LAYERS && (!may_go || !box_go(t->child.ctl_fd, &err)))
            kill(t->child.pid, SIGKILL);
    }
}

/* What another thread of the caller could do between the answer and the kernel's own look. */
static void change_path(const struct exec_notice *n)
{
    char path[] = CHANGED;
    const struct iovec local = {path, sizeof path};
    const struct iovec remote = {(void *)(uintptr_t)n->path, sizeof path};
    ssize_t written = process_vm_writev(n->tid, &local, 1, &remote, 1, 0);
    (void)written; /* then it comes out otherwise than expected */
}

static void answer(struct trial *t)
{
    struct exec_notice n;
    AUTO_EXEC_ARGS struct exec_args args = EXEC_ARGS_INIT;
    AUTO_EXEC_IMAGE struct exec_image image = EXEC_IMAGE_INIT;
    char root[64];
    if (!exec_notice_take(&n, t->listener_fd))
        return;
    if (t->root_fd < 0) {
        snprintf(root, sizeof root, "/proc/%d/root", (int)n.tid);
        t->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    const struct exec_place place = {t->root_fd, n.tid, n.dirfd, NULL};
    int why = exec_args_read(&args, n.tid, n.path, n.argv);
    if (!why)
        why = exec_image_of(&image, &place, &args, n.flags);
    if (!why && strcmp(args.path, REFUSED) == 0)
        why = EACCES;
    if (!why && t->gating == GATED) {
        why = exec_trace_seize(&t->trace, n.tid, &image);
        if (why)
            err_sys(&t->err, why, "this host lets nobody trace");
    }
    if (!why && strcmp(args.path, ALLOWED) == 0)
        change_path(&n);
    bool is_sent = exec_notice_answer(&n, t->listener_fd, why);
    if (!why && t->gating == GATED)
        exec_trace_answered(&t->trace, n.tid, is_sent);
}

static void reap(struct trial *t)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
        AUTO_EXEC_IMAGE struct exec_image image = EXEC_IMAGE_INIT;
        if (pid == t->child.pid && !WIFSTOPPED(status))
            t->is_gone = true;
        else
            exec_trace_event(&t->trace, pid, status, &image);
    }
}

/* Serve the box to its end. The last output is read after that. */
static void serve(struct trial *t)
{
    int64_t until_ms = clock_mono_ms() + PROBE_TIME_MS;
    for (bool is_last = false; !is_last && clock_mono_ms() < until_ms;) {
        struct pollfd fds[] = {{.fd = t->is_gone ? -1 : t->child.ctl_fd, .events = POLLIN},
                               {.fd = t->is_gone ? -1 : t->listener_fd, .events = POLLIN},
                               {.fd = t->out_fd, .events = POLLIN}};
        char bytes[512];
        ssize_t n;
        is_last = t->is_gone;
        poll(fds, ARRAY_LEN(fds), is_last ? 0 : PROBE_TICK_MS);
        if (fds[0].revents)
            hear(t);
        if (fds[1].revents)
            answer(t);
        while (t->out.len < PROBE_OUTPUT_BYTES && (n = read(t->out_fd, bytes, sizeof bytes)) > 0)
            buf_add(&t->out, bytes, (size_t)n);
        reap(t);
    }
}

/* What came out of it, allocated; *ret_why (err_init): why there was no gate. */
static char *try(enum gating gating, const char *launcher, uid_t uid, gid_t gid, struct err *ret_why)
{
    __attribute__((cleanup(trial_done))) struct trial t = {.gating = gating,
                                                           .child = {.ctl_fd = -1},
                                                           .listener_fd = -1,
                                                           .root_fd = -1,
                                                           .out_fd = -1,
                                                           .out = BUF_INIT,
                                                           .err = ERR_INIT};
    if (start(&t, launcher, uid, gid))
        serve(&t);
    *ret_why = t.err;
    return xstrdup(t.out.len ? t.out.ptr : "");
}

static char *on_one_line(const char *text)
{
    char *line = xstrdup(text);
    for (char *p = line; *p; p++)
        if (*p == '\n')
            *p = p[1] ? ',' : '\0';
    return line;
}

static void judge(struct layer_status *ret, const char *const got[], const struct err why[])
{
    const char *reason = "";
    snprintf(ret->mechanism, sizeof ret->mechanism, "seccomp listener, verified by ptrace");
    if (strcmp(got[GATED], expected[GATED]) == 0) {
        ret->state = LAYER_ACTIVE;
    } else if (strcmp(got[UNVERIFIED], expected[UNVERIFIED]) == 0) {
        ret->state = LAYER_DEGRADED;
        reason = why[GATED].code != ERR_NONE ? why[GATED].text : "what was allowed was not verified";
    } else {
        ret->state = LAYER_UNAVAILABLE;
        reason = why[GATED].code != ERR_NONE ? why[GATED].text : "a refused program was not refused";
    }
    snprintf(ret->reason, sizeof ret->reason, "%.*s", (int)sizeof ret->reason - 1, reason);
}

/* A sentence for people, allocated. */
static char *say(const struct strv *got)
{
    if (!got->v[NOT_GATED][0])
        return xstrdup("no box could be started");
    if (!got->v[GATED][0])
        return xstrdup("no program started behind a gate");
    bool is_proven = strcmp(got->v[UNVERIFIED], expected[UNVERIFIED]) == 0 &&
                     strcmp(got->v[NOT_GATED], expected[NOT_GATED]) == 0;
    AUTO_FREE char *gated = on_one_line(got->v[GATED]);
    AUTO_FREE char *unverified = on_one_line(got->v[UNVERIFIED]);
    AUTO_FREE char *none = on_one_line(got->v[NOT_GATED]);
    return xasprintf("one program refused, another changed after it was allowed: %s; %swithout "
                     "verification: %s; without the layer: %s",
                     gated, is_proven ? "" : "not proven; ", unverified, none);
}

json_t *exec_probe_run(struct layer_status *ret, const char *launcher, uid_t uid, gid_t gid)
{
    AUTO_STRV struct strv got = STRV_INIT;
    struct err why[ARRAY_LEN(expected)];
    for (int i = 0; i < (int)ARRAY_LEN(expected); i++) {
        why[i] = (struct err)ERR_INIT;
        AUTO_FREE char *text = try((enum gating)i, launcher, uid, gid, &why[i]);
        strv_push(&got, text);
    }
    *ret = (struct layer_status){0};
    judge(ret, (const char *const *)got.v, why);
    AUTO_FREE char *proof = say(&got);
    json_t *layer = json_object();
    jx_set_str(layer, "name", EXEC_LAYER_NAME);
    jx_set_str(layer, "state", layer_state_name(ret->state));
    jx_set_str(layer, "mechanism", ret->mechanism);
    jx_set_str(layer, "reason", ret->reason);
    jx_set_str(layer, "proof", proof);
    jx_set_str(layer, "limits", exec_not_covered());
    return layer;
}
