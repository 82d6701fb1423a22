#include "runner/keep/exec_probe.h"

#include <stdio.h>
#include <string.h>
#include "gate/exec.h"
#include "runner/base/mem.h"
#include "runner/keep/exec_trial.h"

/* One program is refused; another, allowed, has its path changed before the kernel looks at it. */
static const struct exec_trial trial = {
    .script = "/bin/ls / >/dev/null 2>&1; echo refused $?; /bin/true changed; echo allowed $?",
    .refused = "ls",
    .changed = "/bin/true",
    .change = EXEC_CHANGE_PATH,
};

static const char *const expected[] = {
    [EXEC_GATED] = "refused 126\nallowed 137\n",
    [EXEC_UNVERIFIED] = "refused 126\nchanged\nallowed 0\n",
    [EXEC_NOT_GATED] = "refused 0\nallowed 0\n",
};

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
    if (strcmp(got[EXEC_GATED], expected[EXEC_GATED]) == 0) {
        ret->state = LAYER_ACTIVE;
    } else if (strcmp(got[EXEC_UNVERIFIED], expected[EXEC_UNVERIFIED]) == 0) {
        ret->state = LAYER_DEGRADED;
        reason = why[EXEC_GATED].code != ERR_NONE ? why[EXEC_GATED].text
                                                  : "what was allowed was not verified";
    } else {
        ret->state = LAYER_UNAVAILABLE;
        reason = why[EXEC_GATED].code != ERR_NONE ? why[EXEC_GATED].text
                                                  : "a refused program was not refused";
    }
    snprintf(ret->reason, sizeof ret->reason, "%.*s", (int)sizeof ret->reason - 1, reason);
}

/* A sentence for people, allocated. */
static char *say(const struct strv *got)
{
    if (!got->v[EXEC_NOT_GATED][0])
        return xstrdup("no box could be started");
    if (!got->v[EXEC_GATED][0])
        return xstrdup("no program started behind a gate");
    bool is_proven = strcmp(got->v[EXEC_UNVERIFIED], expected[EXEC_UNVERIFIED]) == 0 &&
                     strcmp(got->v[EXEC_NOT_GATED], expected[EXEC_NOT_GATED]) == 0;
    AUTO_FREE char *gated = on_one_line(got->v[EXEC_GATED]);
    AUTO_FREE char *unverified = on_one_line(got->v[EXEC_UNVERIFIED]);
    AUTO_FREE char *none = on_one_line(got->v[EXEC_NOT_GATED]);
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
        AUTO_FREE char *text =
            exec_trial_run(&trial, (enum exec_gating)i, launcher, uid, gid, &why[i]);
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
