/*
 * run_request: the request that starts a run, from the options and from what they name: the
 * repository of this folder, the task file, the settings, the environment. Reads, changes nothing.
 */
#ifndef CMD_RUN_REQUEST_H
#define CMD_RUN_REQUEST_H

#include "runner/base/config.h"
#include "runner/base/jx.h"
#include "runner/cmd/run_opts.h"

/* ERR_USAGE or ERR_NOT_FOUND when there is no repository, no agent, a bad task row, or a missing
 * path. */
bool run_request(json_t **ret, const struct run_opts *o, const struct config *config,
                 struct err *err) WARN_UNUSED;

#endif
