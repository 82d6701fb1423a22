#include "runner/server/recover.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/server/executor.h"
#include "runner/server/link.h"
#include "runner/server/sched.h"

static void resume(struct server *s, const struct attempt_row *row)
{
    struct live *live;
    switch (row->state) {
    case ATTEMPT_PREPARING:
        executor_want(live_get(s, row->id, row->run), JOB_RECOVER);
        break;
    case ATTEMPT_STARTING:
        /* Launching finds a keeper that is there already, and starts one otherwise. */
        executor_carry_out(s, row->id, row->run, ATTEMPT_DO_LAUNCH);
        break;
    case ATTEMPT_STOPPING:
        live = live_get(s, row->id, row->run);
        if (row->keeper.pid == 0 && !row->tree) /* it was stopped while it was being prepared */
            executor_want(live, JOB_RECOVER);
        else
            link_open(live);
        break;
    case ATTEMPT_QUEUED:
    case ATTEMPT_RUNNING:
    case ATTEMPT_HARVESTING:
    case ATTEMPT_DONE:
    case ATTEMPT_STATE_COUNT:
        executor_carry_out(s, row->id, row->run, lifecycle_recovery(row->state));
        break;
    }
}

static bool resume_open(struct server *s, struct err *err)
{
    AUTO_STRV struct strv open = STRV_INIT;
    if (!attempt_row_ids(&open, s->db, ATTEMPTS_OPEN, 0, INT64_MAX, err))
        return false;
    for (size_t i = 0; i < open.n; i++) {
        AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
        if (!attempt_row_get(&row, s->db, open.v[i], err))
            return false;
        resume(s, &row);
    }
    return true;
}

/* Keepers whose attempts are over wait for a word that a server that died did not say. */
static bool send_home(struct server *s, struct err *err)
{
    AUTO_DIR DIR *dir = opendir(s->paths.runtime);
    const struct dirent *entry;
    if (!dir)
        return err_sys(err, errno, "cannot read %s", s->paths.runtime);
    while ((entry = readdir(dir))) {
        AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
        struct err unknown = ERR_INIT;
        if (entry->d_name[0] != 'k' || !attempt_row_get(&row, s->db, entry->d_name + 1, &unknown))
            continue;
        if (row.state == ATTEMPT_DONE)
            link_quit(live_get(s, row.id, row.run));
    }
    return true;
}

bool recover_all(struct server *s, struct err *err)
{
    sched_kick(s);
    return resume_open(s, err) && send_home(s, err);
}
