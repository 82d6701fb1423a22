/*
 * run_request: the request that starts a run, from the options and from what they name: the
 * repository of this folder, the task file, the settings, the environment. Changes nothing but what
 * run_start holds.
 */
#ifndef CMD_RUN_REQUEST_H
#define CMD_RUN_REQUEST_H

#include "runner/base/config.h"
#include "runner/base/jx.h"
#include "runner/cmd/run_opts.h"
#include "worktree/start.h"

/* What a run starts from. A base that no branch holds is held until the value is released: by then
 * the run holds it. */
struct run_start {
    struct wt_repo repo;
    struct wt_start start;
};
#define RUN_START_INIT                               \
    {                                                \
        .repo = WT_REPO_INIT, .start = WT_START_INIT \
    }
#define AUTO_RUN_START __attribute__((cleanup(run_start_release)))
void run_start_release(struct run_start *s);

/* ERR_USAGE or ERR_NOT_FOUND when there is no repository, no agent, a bad task row, or a missing
 * path. */
bool run_request(json_t **ret, struct run_start *start, const struct run_opts *o,
                 const struct config *config, struct err *err) WARN_UNUSED;

#endif
