#include "runner/server/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/spool.h"
#include "runner/base/fs.h"
#include "runner/server/broker.h"
#include "runner/wire/conn.h"

/* A keeper that lost its stream ends at once; its box with it. */
enum { KEEPER_END_MS = 5000 };

void job_free(struct job *job)
{
    attempt_spec_release(&job->spec);
    policy_release(&job->policy);
    shared_source_give_back(job->source);
    attempt_place_release(&job->place);
    wt_harvest_release(&job->harvest);
    json_decref(job->records);
    json_decref(job->keys);
    json_decref(job->message);
    ledger_call_release(&job->call);
    strv_release(&job->session);
    free(job);
}

static bool keeper_answers(const struct job *job)
{
    struct err ignored = ERR_INIT;
    AUTO_FREE char *path = paths_keeper_socket(job->paths, job->spec.id);
    AUTO_FD int fd = conn_connect(path, &ignored);
    return fd >= 0;
}

static bool is_course(void *arg, const json_t *record)
{
    bool *found = arg;
    *found = strcmp(jx_str(record, "r", ""), "note") != 0;
    return !*found;
}

/* Records that no server has merged: a keeper was there and is no more. */
static bool keeper_was_there(const struct job *job)
{
    struct err ignored = ERR_INIT;
    bool found = false;
    AUTO_FREE char *dir = paths_attempt(job->paths, job->spec.id);
    AUTO_FD int dirfd = fs_open_dir(AT_FDCWD, dir, &ignored);
    bool is_readable = dirfd >= 0 && spool_replay(dirfd, job->after, is_course, &found, &ignored);
    return found || (dirfd >= 0 && !is_readable);
}

/* A server that died just after it had started a keeper left one that answers, or one that has run
 * to its end meanwhile. Nothing is ever run twice: then that one is it. */
static bool launch(struct job *job)
{
    return keeper_answers(job) || keeper_was_there(job) ||
           attempt_start(job->paths, &job->spec, job->keys, &job->err) || keeper_answers(job);
}

static void await_end(const struct proc_id *keeper)
{
    AUTO_FD int pidfd = keeper->pid > 0 ? proc_pidfd(keeper->pid) : -1;
    if (pidfd < 0 || !proc_id_alive(keeper))
        return;
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    while (poll(&wait, 1, KEEPER_END_MS) < 0 && errno == EINTR)
        continue;
}

static bool add_record(void *arg, const json_t *record)
{
    json_array_append_new(arg, json_deep_copy(record));
    return true;
}

/* What the chain shows up to a damaged record is still true: it is kept, and the error told. */
static bool replay(struct job *job)
{
    AUTO_FREE char *dir = paths_attempt(job->paths, job->spec.id);
    await_end(&job->keeper);
    live_remove_sockets(job->paths, job->spec.id);
    job->records = json_array();
    AUTO_FD int dirfd = fs_open_dir(AT_FDCWD, dir, &job->err);
    return dirfd >= 0 && spool_replay(dirfd, job->after, add_record, job->records, &job->err);
}

static bool recover(struct job *job)
{
    AUTO_FREE char *dir = paths_attempt(job->paths, job->spec.id);
    return !fs_exists(dir) || wt_recover(dir, &job->err);
}

static bool run(struct job *job)
{
    switch (job->kind) {
    case JOB_RECOVER:
        return recover(job);
    case JOB_PREPARE:
        return attempt_prepare(&job->place, job->paths, job->config, job->source->source,
                               &job->spec, &job->policy, &job->err);
    case JOB_LAUNCH:
        return launch(job);
    case JOB_REPLAY:
        return replay(job);
    case JOB_BROKER:
        broker_run(job);
        return true;
    case JOB_HARVEST:
        return attempt_harvest(&job->harvest, job->paths, job->config, &job->spec, false,
                               &job->err);
    case JOB_HARVEST_END:
        return attempt_harvest(&job->harvest, job->paths, job->config, &job->spec, true, &job->err);
    case JOB_DISCARD:
        return attempt_discard(job->paths, &job->spec, job->force, &job->err);
    case JOB_KIND_COUNT:
        break;
    }
    return err_set(&job->err, ERR_INTERNAL, "a job of no kind");
}

void job_run(struct job *job)
{
    job->ok = run(job);
}
