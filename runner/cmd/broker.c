/*
 * headgate-broker: carries out one call of source `broker` for the server, which tells it on
 * standard input what to do (runner/attempt/carry.h), and ends.
 *
 * It is started with the environment of the person who started the run, looks up the one credential
 * and how the host is reached, and runs the command in a box that has these, a way to that one
 * host, a repository of Headgate's own, and nothing else. Its streams and exit code are the
 * command's; 125 with a sentence on standard error when there was no command. It dies with the
 * server.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runner/attempt/way_out.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/cmd/box_loop.h"
#include "runner/cmd/box_proxy.h"
#include "runner/cmd/broker_job.h"
#include "sandbox/profile.h"

enum { EXIT_NOT_DONE = 125, BOX_PIDS = 512 };
static const int64_t box_memory_bytes = (int64_t)4 << 30;

static bool is_git(const struct broker_job *job)
{
    return strcmp(job->act.program, "git") == 0;
}

static bool look_up(struct broker_job *job, struct err *err)
{
    if (!is_git(job))
        return broker_secret_api(job, err);
    return job->url.scheme == BROKER_SSH ? broker_ssh(job, err) : broker_secret_git(job, err);
}

static void set_environment(struct box_spec *spec, const struct broker_job *job)
{
    static const char *const fixed[][2] = {
        {"GIT_CONFIG_NOSYSTEM", "1"},
        {"GIT_CONFIG_GLOBAL", "/dev/null"},
        {"GIT_TERMINAL_PROMPT", "0"},
        {"GIT_ASKPASS", "true"},
        {"GIT_EDITOR", "true"},
        {"NO_COLOR", "1"},
        {"LC_ALL", "C.UTF-8"},
        {"NO_PROXY", ""},
        {"no_proxy", ""},
    };
    static const char *const code[] = {"NODE_OPTIONS", "PERL5LIB", "PYTHONPATH", "RUBYOPT",
                                       "RUBYLIB"};
    for (size_t i = 0; i < ARRAY_LEN(code); i++)
        strv_env_set(&spec->env, code[i], NULL);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        strv_env_set(&spec->env, fixed[i][0], fixed[i][1]);
    strv_env_set(&spec->env, "GIT_SSH_COMMAND", NULL);
    strv_push_all(&spec->env, strv_array(&job->env));
}

static bool show(struct box_spec *spec, const struct broker_job *job, struct err *err)
{
    AUTO_FREE char *hook = paths_program("headgate-hook", err);
    if (!hook)
        return false;
    box_spec_bind(spec, hook, BROKER_INSIDE_HOOK, 0);
    box_spec_bind(spec, job->scratch, BROKER_INSIDE, 0);
    box_spec_bind(spec, job->repo, BROKER_INSIDE_REPO,
                  job->act.kind == BROKER_FETCH ? BOX_BIND_WRITE : 0);
    for (size_t i = 0; i < job->objects.n; i++)
        box_spec_bind(spec, job->objects.v[i], job->objects.v[i], 0);
    for (size_t i = 0; i < job->show.n; i++)
        box_spec_bind(spec, job->show.v[i], job->show.v[i], 0);
    return true;
}

static bool describe(struct box_spec *spec, void *arg, struct err *err)
{
    const struct broker_job *job = arg;
    AUTO_STRV struct strv env = STRV_INIT;
    const struct strv no_services = STRV_INIT;
    strv_push_all(&env, environ);
    const char *home = strv_env_get(&env, "HOME");
    spec->uid = job->uid;
    spec->gid = job->gid;
    if (!profile_apply(spec, &env, home ? home : "/home/agent", NULL, err) || !show(spec, job, err))
        return false;
    way_out_show(spec, &no_services);
    set_environment(spec, job);
    broker_command(&spec->argv, job);
    spec->cwd = xstrdup(BROKER_INSIDE_REPO);
    spec->hostname = xstrdup("headgate-broker");
    spec->limits.memory_bytes = box_memory_bytes;
    spec->limits.pids = BOX_PIDS;
    return true;
}

static bool run(int *ret_status, struct broker_job *job, struct err *err)
{
    const struct strv no_services = STRV_INIT;
    struct box_end end;
    struct box_proxy *proxy = NULL;
    AUTO_FREE char *launcher = paths_program("headgate-box", err);
    bool ok = launcher && look_up(job, err) &&
              box_proxy_new(&proxy, &job->hosts, way_out_port(&no_services), err) &&
              box_loop_run(&end, launcher, false, describe, job, NULL, proxy, err);
    box_proxy_free(proxy);
    if (!ok)
        return false;
    if (end.failure.code == ERR_NOT_FOUND)
        return err_set(err, ERR_FAILED, "%s is not installed on this host", job->act.program);
    if (end.failure.code != ERR_NONE) {
        *err = end.failure;
        return false;
    }
    *ret_status = end.status;
    return true;
}

/* The server that waits for this is the parent; when it is gone, nobody could tell what came of it.
 */
static bool die_with_server(const json_t *message, struct err *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (pid_t)jx_int(message, "parent", 0))
        return err_set(err, ERR_FAILED, "the server has ended");
    return true;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct broker_job job;
    AUTO_BUF struct buf text = BUF_INIT;
    int status = EXIT_NOT_DONE;
    (void)argv;
    if (argc > 1)
        err_set(&err, ERR_USAGE, "headgate-broker is started by Headgate's server alone");
    else if (fs_read_fd(&text, STDIN_FILENO, LIMIT_LINE_BYTES, &err) &&
             broker_job_read(&job, text.ptr, text.len, &err)) {
        bool ok = die_with_server(job.message, &err) && run(&status, &job, &err);
        broker_job_release(&job);
        if (ok)
            return status == EXIT_NOT_DONE ? 1 : status;
    }
    fprintf(stderr, "%s\n", err.text);
    return EXIT_NOT_DONE;
}
