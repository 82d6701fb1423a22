#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "ui/host.h"
#include "worktree/worktree.h"

enum { MOST_BYTES = 16 * 1024 * 1024 };

/* Values in, values out: the worker sees nothing of the host. */
struct diff_job {
    uv_work_t work;
    uint64_t serial;
    char *attempt, *repo, *from, *to;
    struct buf text;
    bool is_done;
    struct err err;
};

static void job_free(struct diff_job *job)
{
    free(job->attempt);
    free(job->repo);
    free(job->from);
    free(job->to);
    buf_release(&job->text);
    free(job);
}

/* A person reads no more than this; the whole is a command away. */
static void cut(struct diff_job *job)
{
    if (job->text.len <= MOST_BYTES)
        return;
    job->text.len = MOST_BYTES;
    while (job->text.len > 0 && job->text.ptr[job->text.len - 1] != '\n')
        job->text.len--;
    buf_addf(&job->text, "(the diff is longer: headgate diff %s shows all of it)\n", job->attempt);
}

static void run_diff(uv_work_t *work)
{
    struct diff_job *job = work->data;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    job->is_done = wt_repo_open(&repo, job->repo, &job->err) &&
                   wt_diff(&job->text, repo.common_dir, job->from, job->to, WT_DIFF_PATCH, false,
                           NULL, &job->err);
    cut(job);
}

static void on_done(uv_work_t *work, int status)
{
    struct diff_job *job = work->data;
    struct host *h = work->loop->data;
    if (status == 0 && !h->is_quitting && job->serial == h->diff_serial) {
        desk_on_diff(host_desk(h), job->attempt, &job->text, job->is_done ? NULL : &job->err);
        host_dirty(h);
    }
    job_free(job);
}

void host_diff(void *arg, const char *attempt, const char *repo, const char *from, const char *to)
{
    struct host *h = arg;
    struct diff_job *job = xcalloc(1, sizeof(*job));
    h->loop.data = h;
    *job = (struct diff_job){.serial = ++h->diff_serial,
                             .attempt = xstrdup(attempt),
                             .repo = xstrdup(repo),
                             .from = xstrdup(from),
                             .to = xstrdup(to),
                             .text = BUF_INIT,
                             .err = ERR_INIT};
    job->work.data = job;
    uv_queue_work(&h->loop, &job->work, run_diff, on_done);
}
