#include "runner/cmd/broker_job.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum { ASK_TIMEOUT_MS = 60 * 1000, ASK_OUTPUT_BYTES = 256 * 1024 };

void broker_job_release(struct broker_job *job)
{
    json_decref(job->message);
    broker_act_release(&job->act);
    broker_url_release(&job->url);
    strv_release(&job->objects);
    strv_release(&job->hosts);
    strv_release(&job->env);
    strv_release(&job->show);
}

static bool read_args(struct broker_job *job, struct err *err)
{
    const json_t *args = jx_obj(job->message, "args");
    AUTO_STRV struct strv argv = STRV_INIT;
    jx_strv(&argv, args, "argv");
    job->remote = jx_str(args, "remote", "");
    job->ref = jx_str(args, "ref", "");
    job->commit = jx_str(args, "commit", "");
    job->project = jx_str(args, "repo", "");
    return broker_read(&job->act, argv.v, argv.n, err) &&
           broker_url_parse(&job->url, jx_str(args, "url", ""), err);
}

bool broker_job_read(struct broker_job *ret, const char *text, size_t len, struct err *err)
{
    struct broker_job job = {
        .objects = STRV_INIT, .hosts = STRV_INIT, .env = STRV_INIT, .show = STRV_INIT};
    if (!jx_parse(&job.message, text, len, err))
        return false;
    job.common_dir = jx_str(job.message, "common_dir", "");
    job.repo = jx_str(job.message, "repo", "");
    job.scratch = jx_str(job.message, "scratch", "");
    job.keys = jx_str(job.message, "keys", "");
    job.hostname = jx_str(job.message, "hostname", "");
    jx_strv(&job.objects, job.message, "objects");
    job.uid = (uid_t)jx_int(job.message, "uid", 0);
    job.gid = (gid_t)jx_int(job.message, "gid", 0);
    job.is_other = job.uid != geteuid();
    bool is_whole = job.common_dir[0] == '/' && job.repo[0] == '/' && job.scratch[0] == '/' &&
                    job.keys[0] == '/' && job.uid != 0;
    bool ok = is_whole ? read_args(&job, err)
                       : err_set(err, ERR_FORMAT,
                                 "headgate-broker is started by Headgate's server alone");
    if (!ok) {
        broker_job_release(&job);
        return false;
    }
    *ret = job;
    return true;
}

char *broker_job_ask(const char *const *args, const char *input)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_STRV struct strv argv = STRV_INIT, env = STRV_INIT;
    struct err ignored = ERR_INIT;
    strv_push_all(&argv, (char *const *)(uintptr_t)args);
    strv_push_all(&env, environ);
    strv_env_set(&env, "GIT_TERMINAL_PROMPT", "0");
    strv_env_set(&env, "GIT_ASKPASS", "true");
    strv_env_set(&env, "SSH_ASKPASS_REQUIRE", "never");
    strv_env_set(&env, "GH_PROMPT_DISABLED", "1");
    const struct proc_cmd cmd = {
        .argv = &argv,
        .env = &env,
        .cwd = "/",
        .input = input,
        .input_len = input ? strlen(input) : 0,
        .max_output_bytes = ASK_OUTPUT_BYTES,
        .timeout_ms = ASK_TIMEOUT_MS,
    };
    if (!proc_run(&r, &cmd, &ignored) || r.status != 0)
        return NULL;
    buf_rtrim(&r.out);
    return buf_steal(&r.out);
}

char *broker_job_git(const struct broker_job *job, const char *const *args, const char *input)
{
    AUTO_FREE char *git_dir = xasprintf("--git-dir=%s", job->common_dir);
    const char *all[16] = {
        "git", git_dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"};
    size_t n = 6;
    for (size_t i = 0; args[i] && n + 1 < ARRAY_LEN(all); i++)
        all[n++] = args[i];
    return broker_job_ask(all, input);
}

bool broker_job_reach(struct broker_job *job, const char *host, uint16_t port, struct err *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    bool is_v6 = strchr(host, ':') != NULL;
    int status = getaddrinfo(host, NULL, &hints, &found);
    if (status != 0)
        return err_set(err, ERR_FAILED, "%s cannot be found: %s", host, gai_strerror(status));
    strv_pushf(&job->hosts, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
    for (const struct addrinfo *a = found; a; a = a->ai_next) {
        char text[INET6_ADDRSTRLEN];
        if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST) !=
                0 ||
            strchr(text, '%'))
            continue;
        AUTO_FREE char *pattern =
            xasprintf(a->ai_family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
        if (!strv_has(&job->hosts, pattern))
            strv_push(&job->hosts, pattern);
    }
    freeaddrinfo(found);
    return true;
}

bool broker_job_write(const struct broker_job *job, const char *name, const char *text,
                      struct err *err)
{
    AUTO_FREE char *path = fs_join(job->scratch, name);
    return fs_write_plain(AT_FDCWD, path, text, strlen(text), 0644, err);
}
