/* The one credential of a job. It is only ever in the environment of the job's own box. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/broker_job.h"

enum { CA_BYTES = 16 * 1024 * 1024 };

/* What git-credential(1) answers, without what only its caller needs. */
static char *keep_secret(const char *answer)
{
    AUTO_STRV struct strv lines = STRV_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    strv_split(&lines, answer, '\n', false);
    for (size_t i = 0; i < lines.n; i++)
        if (strncmp(lines.v[i], "username=", 9) == 0 || strncmp(lines.v[i], "password=", 9) == 0)
            buf_addf(&out, "%s\n", lines.v[i]);
    return strstr(out.ptr, "password=") ? buf_steal(&out) : NULL;
}

static void ask_for(struct buf *out, const struct broker_job *job)
{
    const struct broker_url *url = &job->url;
    buf_addf(out, "protocol=https\nhost=%s", url->host);
    if (url->port != 443)
        buf_addf(out, ":%u", url->port);
    buf_addf(out, "\npath=%s\n", url->path + (url->path[0] == '/'));
}

/* The remote's address itself may hold user and password: git-credential reads it as `url`. */
static char *whole_address(const struct broker_job *job)
{
    bool is_push = job->act.kind == BROKER_PUSH;
    const char *const of_push[] = {"remote", "get-url", "--push", job->remote, NULL};
    const char *const of_fetch[] = {"remote", "get-url", job->remote, NULL};
    return broker_job_git(job, is_push ? of_push : of_fetch, NULL);
}

/* The person may trust an authority of their own for this server. */
static bool take_authority(struct broker_job *job, struct err *err)
{
    AUTO_FREE char *address = broker_url_text(&job->url);
    const char *const args[] = {"config",         "--type=path", "--get-urlmatch",
                                "http.sslCAInfo", address,       NULL};
    AUTO_FREE char *configured = broker_job_git(job, args, NULL);
    const char *file = configured && configured[0] ? configured : getenv("GIT_SSL_CAINFO");
    AUTO_BUF struct buf text = BUF_INIT;
    if (!file || !file[0])
        file = getenv("SSL_CERT_FILE");
    if (!file || !file[0])
        return true;
    if (!fs_read_file(&text, AT_FDCWD, file, CA_BYTES, err) ||
        !broker_job_write(job, "ca.pem", text.ptr, err))
        return false;
    strv_env_set(&job->env, "GIT_SSL_CAINFO", BROKER_INSIDE "/ca.pem");
    strv_env_set(&job->env, "SSL_CERT_FILE", BROKER_INSIDE "/ca.pem");
    return true;
}

/* Without a credential it is tried all the same: much can be read without one, and the server's
 * answer says the rest. */
bool broker_secret_git(struct broker_job *job, struct err *err)
{
    AUTO_BUF struct buf question = BUF_INIT;
    if (!take_authority(job, err) || !broker_job_reach(job, job->url.host, job->url.port, err))
        return false;
    if (job->url.scheme != BROKER_HTTPS)
        return true; /* nothing secret goes over plain HTTP */
    AUTO_FREE char *address = whole_address(job);
    if (address && strchr(address, '@'))
        buf_addf(&question, "url=%s\n", address);
    else
        ask_for(&question, job);
    const char *const args[] = {"credential", "fill", NULL};
    AUTO_FREE char *answer = broker_job_git(job, args, question.ptr);
    AUTO_FREE char *secret = answer ? keep_secret(answer) : NULL;
    if (secret)
        strv_env_set(&job->env, "HEADGATE_CREDENTIAL", secret);
    return true;
}

/* ---- GitHub and GitLab ---- */

static char *token_of_env(const char *const *names)
{
    for (; *names; names++)
        if (getenv(*names) && getenv(*names)[0])
            return xstrdup(getenv(*names));
    return NULL;
}

static bool no_token(const struct broker_job *job, struct err *err)
{
    return err_set(err, ERR_FAILED,
                   "%s has no login for %s; log in outside of the box: %s auth login --hostname %s",
                   job->act.program, job->url.host, job->act.program, job->url.host);
}

static bool secret_github(struct broker_job *job, bool is_public, const char *host, struct err *err)
{
    static const char *const of_public[] = {"GH_TOKEN", "GITHUB_TOKEN", NULL};
    static const char *const of_other[] = {"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", NULL};
    const char *const args[] = {"gh", "auth", "token", "--hostname", host, NULL};
    AUTO_FREE char *given = token_of_env(is_public ? of_public : of_other);
    AUTO_FREE char *token = given ? xstrdup(given) : broker_job_ask(args, NULL);
    if (!token || !token[0])
        return no_token(job, err);
    strv_env_set(&job->env, is_public ? "GH_TOKEN" : "GH_ENTERPRISE_TOKEN", token);
    strv_env_set(&job->env, "GH_HOST", host);
    strv_env_set(&job->env, "GH_PROMPT_DISABLED", "1");
    strv_env_set(&job->env, "GH_NO_UPDATE_NOTIFIER", "1");
    strv_env_set(&job->env, "GH_PAGER", "cat");
    return !is_public || broker_job_reach(job, "api.github.com", 443, err);
}

static bool secret_gitlab(struct broker_job *job, const char *host, struct err *err)
{
    static const char *const names[] = {"GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", NULL};
    const char *const args[] = {"glab", "config", "get", "token", "--host", host, NULL};
    AUTO_FREE char *given = token_of_env(names);
    AUTO_FREE char *token = given ? xstrdup(given) : broker_job_ask(args, NULL);
    if (!token || !token[0])
        return no_token(job, err);
    strv_env_set(&job->env, "GITLAB_TOKEN", token);
    strv_env_set(&job->env, "GITLAB_HOST", host);
    strv_env_set(&job->env, "NO_PROMPT", "1");
    strv_env_set(&job->env, "GLAB_PAGER", "cat");
    return true;
}

/* The API is on the remote's host; a port counts only where the remote is a web address. */
bool broker_secret_api(struct broker_job *job, struct err *err)
{
    bool has_port = job->url.scheme == BROKER_HTTPS && job->url.port != 443;
    AUTO_FREE char *host =
        has_port ? xasprintf("%s:%u", job->url.host, job->url.port) : xstrdup(job->url.host);
    if (!take_authority(job, err) ||
        !broker_job_reach(job, job->url.host, has_port ? job->url.port : 443, err))
        return false;
    return strcmp(job->act.program, "gh") == 0
               ? secret_github(job, strcmp(host, "github.com") == 0, host, err)
               : secret_gitlab(job, host, err);
}
