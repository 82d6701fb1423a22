#include "sandbox/probe.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "sandbox/probe_scene.h"

#define PROBE_HOSTNAME "headgate-probe"
#define BIT(layer) (1U << (layer))
#define NO_CAPABILITY "0000000000000000 1"

enum { PROBE_TIMEOUT_MS = 10000, PROBE_PIDS = 32 };

/*
 * What is tried for each layer. `expected` is what must come of it; without the layer anything else
 * must. `base` is left out in both boxes, where another wall would answer first; `also` in the
 * second only.
 */
struct trial {
    const char *what; /* for people */
    const char *expected;
    unsigned base, also;
};

static const struct trial trials[LAYER_COUNT] = {
    [LAYER_USER] = {"user ids that exist", "1", 0, 0},
    [LAYER_MOUNT] = {"a file of the host", "ENOENT", 0, BIT(LAYER_LANDLOCK)},
    [LAYER_PID] = {"a process of the host", "ESRCH", 0, BIT(LAYER_LANDLOCK)},
    [LAYER_IPC] = {"shared memory of the host", "ENOENT", 0, 0},
    [LAYER_UTS] = {"the host's name", PROBE_HOSTNAME, 0, 0},
    [LAYER_NET] = {"a port of the host's loopback", "ECONNREFUSED", 0, 0},
    [LAYER_CGROUP] = {"the cgroup's path", "/", 0, 0},
    [LAYER_LIMITS] = {"more processes than allowed", "EAGAIN", 0, 0},
    [LAYER_CAPS] = {"capabilities, no_new_privs", NO_CAPABILITY, 0, 0},
    [LAYER_LANDLOCK] = {"a file beside the work, with the host's files in sight", "EACCES",
                        BIT(LAYER_MOUNT), 0},
    [LAYER_SECCOMP] = {"a kernel keyring", "EPERM", 0, 0},
    [LAYER_PTY] = {"a terminal of the host", "ENOENT", 0, 0},
};

/* The word for `headgate-box --probe`. Allocated. */
static char *attempt_for(enum layer_id id, const struct probe_scene *s)
{
    switch (id) {
    case LAYER_USER:
        return xstrdup("uids");
    case LAYER_MOUNT:
        return xasprintf("read:%s", s->marker);
    case LAYER_PID:
        return xasprintf("signal:%d", (int)getpid());
    case LAYER_IPC:
        return xasprintf("shm:%d", s->shm_key);
    case LAYER_UTS:
        return xstrdup("hostname");
    case LAYER_NET:
        return xasprintf("connect:%d", s->port);
    case LAYER_CGROUP:
        return xstrdup("cgroup");
    case LAYER_LIMITS:
        return xasprintf("children:%d", 2 * PROBE_PIDS);
    case LAYER_CAPS:
        return xstrdup("status:self CapBnd NoNewPrivs");
    case LAYER_LANDLOCK:
        return xasprintf("create:%s/new", s->outside);
    case LAYER_SECCOMP:
        return xstrdup("keyctl");
    case LAYER_PTY:
        return xasprintf("read:%s", s->pty);
    case LAYER_COUNT:
        break;
    }
    return xstrdup("");
}

struct probe {
    struct probe_scene scene;
    uid_t uid;
    gid_t gid;
    struct layer_report report;
};

/* Try one layer's attempt in a box that leaves layers out; its outcome, allocated, or NULL with err
 * filled. */
static char *try_in_box(struct probe *p, enum layer_id id, unsigned without, struct err *err)
{
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    AUTO_FREE char *attempt = attempt_for(id, &p->scene);
    const struct proc_cmd cmd = {.timeout_ms = PROBE_TIMEOUT_MS};
    struct layer_report report;
    box_spec_init(&spec);
    spec.uid = p->uid;
    spec.gid = p->gid;
    spec.without = without;
    spec.cwd = xstrdup("/");
    spec.hostname = xstrdup(PROBE_HOSTNAME);
    spec.limits.pids = id == LAYER_LIMITS ? PROBE_PIDS : 0;
    const char *program = without & BIT(LAYER_MOUNT) ? p->scene.launcher : "/run/headgate/probe";
    box_spec_bind(&spec, p->scene.launcher, "/run/headgate/probe", 0);
    strv_push(&spec.argv, program);
    strv_push(&spec.argv, "--probe");
    strv_push(&spec.argv, attempt);
    if (!box_run(&result, &report, p->scene.launcher, &spec, &cmd, err))
        return NULL;
    if (!(without & BIT(id)))
        p->report.layer[id] = report.layer[id];
    buf_rtrim(&result.out);
    return buf_steal(&result.out);
}

/* The user layer carries all others, so its control is the same attempt with no box at all. */
static char *try_on_host(const struct probe *p, enum layer_id id, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_FREE char *attempt = attempt_for(id, &p->scene);
    strv_push(&argv, p->scene.launcher);
    strv_push(&argv, "--probe");
    strv_push(&argv, attempt);
    const struct proc_cmd cmd = {.argv = &argv, .timeout_ms = PROBE_TIMEOUT_MS};
    if (!proc_run(&result, &cmd, err))
        return NULL;
    buf_rtrim(&result.out);
    return buf_steal(&result.out);
}

static void set_failed(struct layer_status *status, const char *reason)
{
    status->state = LAYER_UNAVAILABLE;
    snprintf(status->reason, sizeof(status->reason), "%.*s", (int)sizeof(status->reason) - 1,
             reason);
}

/* A sentence for people; the layer's state is lowered when the attempt came through. Allocated. */
static char *prove(struct probe *p, enum layer_id id)
{
    const struct trial *t = &trials[id];
    struct err err = ERR_INIT;
    AUTO_FREE char *got = try_in_box(p, id, t->base, &err);
    if (!got) {
        set_failed(&p->report.layer[id], err.text);
        return xstrdup("no box could be started");
    }
    if (strcmp(got, t->expected) != 0) {
        struct layer_status *status = &p->report.layer[id];
        AUTO_FREE char *reason = status->state == LAYER_ACTIVE
                                     ? xasprintf("%s came out as %s", t->what, got)
                                     : xstrdup(status->reason); /* the launcher knows why */
        set_failed(status, reason);
        return xasprintf("%s: %s, where %s was expected", t->what, got, t->expected);
    }
    AUTO_FREE char *control = id == LAYER_USER
                                  ? try_on_host(p, id, &err)
                                  : try_in_box(p, id, t->base | t->also | BIT(id), &err);
    if (!control)
        return xasprintf("%s: %s; not proven, since a box without the layer failed: %s", t->what,
                         got, err.text);
    if (strcmp(control, got) == 0)
        return xasprintf("%s: %s; not proven, since it is the same without the layer", t->what,
                         got);
    return xasprintf("%s: %s; without the layer: %s", t->what, got, control);
}

static json_t *layer_json(struct probe *p, enum layer_id id)
{
    AUTO_FREE char *proof = prove(p, id);
    const struct layer_status *status = &p->report.layer[id];
    json_t *layer = json_object();
    jx_set_str(layer, "name", layer_name(id));
    jx_set_str(layer, "state", layer_state_name(status->state));
    jx_set_str(layer, "mechanism", status->mechanism);
    jx_set_str(layer, "reason", status->reason);
    jx_set_str(layer, "proof", proof);
    return layer;
}

bool probe_run(json_t **ret, struct layer_report *ret_report, const char *launcher, uid_t uid,
               gid_t gid, struct err *err)
{
    struct probe p = {.uid = uid, .gid = gid};
    AUTO_PROBE_SCENE struct probe_scene scene = PROBE_SCENE_INIT;
    if (!probe_scene_set(&scene, launcher, uid, gid, err))
        return false;
    p.scene = scene; /* borrowed for the time of the proof */
    json_t *layers = json_array();
    for (unsigned id = 0; id < LAYER_COUNT; id++)
        json_array_append_new(layers, layer_json(&p, id));
    json_t *result = json_object();
    jx_set(result, "layers", layers);
    *ret = result;
    *ret_report = p.report;
    return true;
}
