#include "runner/server/say.h"
#include "runner/server/recover.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/server/broker.h"
#include "runner/server/executor.h"
#include "runner/server/link.h"
#include "runner/server/sched.h"
#include "runner/server/watch.h"

/* It was stopped while it was being prepared, or before: there is no keeper to ask. */
static bool is_unprepared(const struct attempt_row *row)
{
    return row->state == ATTEMPT_PREPARING ||
           (row->state == ATTEMPT_STOPPING && !row->tree && row->keeper.pid == 0);
}

static void resume(struct server *s, const struct attempt_row *row)
{
    if (is_unprepared(row)) {
        executor_want(live_get(s, row->id, row->run), JOB_RECOVER);
        return;
    }
    executor_carry_out(s, row->id, row->run, lifecycle_recovery(row->state));
    if (row->state != ATTEMPT_RUNNING)
        return;
    /* What it committed while no server looked. */
    struct live *live = live_get(s, row->id, row->run);
    watch_open(live);
    executor_want(live, JOB_HARVEST);
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
    return resume_open(s, err) && broker_recover(s, err) && send_home(s, err) &&
           say_recover(s, err);
}
