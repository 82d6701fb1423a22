/*
 * layers: what this host enforces, seen by starting a real box, and the rung that follows from it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "runner/attempt/boxes.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/box.h"

bool attempt_probe_layers(struct layer_report *ret, const struct paths *paths,
                          const struct config *config, struct err *err)
{
    struct account account;
    AUTO_FREE char *launcher = paths_program("headgate-box", err);
    if (!launcher || !account_of_boxes(&account, config, err))
        return false;
    AUTO_BOX_SPEC struct box_spec spec;
    box_spec_init(&spec);
    spec.uid = account.uid;
    spec.gid = account.gid;
    spec.cwd = xstrdup("/");
    /* Limits are asked for as in every attempt, or what stands behind them would not be seen. */
    spec.limits.memory_bytes = boxes_memory(config);
    spec.limits.pids = boxes_pids(config);
    strv_push(&spec.argv, "true");
    strv_env_set(&spec.env, "PATH", "/usr/bin:/bin");
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const struct proc_cmd cmd = {.timeout_ms = 20000};
    struct layer_report report;
    (void)paths;
    if (!box_run(&result, &report, launcher, &spec, &cmd, err))
        return err_prefix(err,
                          "no box can be started on this machine ('headgate doctor' says more)");
    if (result.status != 0)
        return err_set(err, ERR_LAYER, "a box was started, but 'true' in it ended with status %d",
                       result.status);
    *ret = report;
    return true;
}

enum ladder attempt_default_ladder(const struct layer_report *report, struct buf *ret_why)
{
    static const enum layer_id needed[] = {LAYER_USER, LAYER_MOUNT, LAYER_PID, LAYER_NET,
                                           LAYER_SECCOMP};
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        const struct layer_status *s = &report->layer[needed[i]];
        if (s->state == LAYER_ACTIVE)
            continue;
        buf_addf(ret_why, "the %s layer is %s: %s", layer_name(needed[i]),
                 layer_state_name(s->state), s->reason);
        return LADDER_EDITS;
    }
    buf_adds(ret_why, "the box contains: user, mount, pid, net and seccomp are active");
    return LADDER_AUTO;
}
