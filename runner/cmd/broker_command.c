#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/broker_job.h"

static void add_setting(struct strv *argv, const char *setting)
{
    strv_push(argv, "-c");
    strv_push(argv, setting);
}

static void add_git(struct strv *argv, const struct broker_job *job)
{
    static const char *const settings[] = {
        "core.hooksPath=/dev/null",    "core.fsmonitor=false",       "gc.auto=0",
        "maintenance.auto=false",      "protocol.allow=never",       "protocol.ssh.allow=always",
        "protocol.https.allow=always", "protocol.http.allow=always", "http.followRedirects=false",
        "push.gpgSign=false",          "push.followTags=false",      "push.recurseSubmodules=no",
        "fetch.recurseSubmodules=no",  "credential.helper=",
    };
    strv_push(argv, "git");
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        add_setting(argv, settings[i]);
    if (strv_env_get(&job->env, "HEADGATE_CREDENTIAL"))
        add_setting(argv, "credential.helper=!f() { test \"$1\" = get && printf %s "
                          "\"$HEADGATE_CREDENTIAL\"; }; f");
    strv_push(argv, "--git-dir=" BROKER_INSIDE_REPO);
}

/* Sources that are no branch or tag: pull/12/head, merge-requests/3/head, refs/notes/x. */
static void add_sources(struct strv *argv, const struct broker_act *act)
{
    for (size_t i = 0; i < act->operands.n; i++) {
        const char *spec = act->operands.v[i] + (act->operands.v[i][0] == '+');
        AUTO_FREE char *src = xstrndup(spec, strcspn(spec, ":"));
        const char *name = strncmp(src, "refs/", 5) == 0 ? src + 5 : src;
        bool is_request =
            strncmp(name, "pull/", 5) == 0 || strncmp(name, "merge-requests/", 15) == 0;
        bool is_usual = strncmp(name, "heads/", 6) == 0 || strncmp(name, "tags/", 5) == 0;
        if (broker_is_branch(name) && (is_request || (name != src && !is_usual)))
            strv_pushf(argv, "+refs/%s:refs/%s", name, name);
    }
}

static void add_fetch(struct strv *argv, const struct broker_job *job, const char *url)
{
    static const char *const words[] = {"fetch",
                                        "--no-write-fetch-head",
                                        "--no-auto-maintenance",
                                        "--prune",
                                        "--no-tags",
                                        "--quiet",
                                        "--"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(argv, words[i]);
    strv_push(argv, url);
    strv_push(argv, "+refs/heads/*:refs/heads/*");
    strv_push(argv, "+refs/tags/*:refs/tags/*");
    add_sources(argv, &job->act);
}

static void add_api(struct strv *argv, const struct broker_job *job)
{
    bool is_gh = strcmp(job->act.program, "gh") == 0;
    const char *host = strv_env_get(&job->env, is_gh ? "GH_HOST" : "GITLAB_HOST");
    strv_push(argv, job->act.program);
    strv_split(argv, job->act.words, ' ', false);
    strv_push_all(argv, strv_array(&job->act.options));
    if (is_gh)
        strv_pushf(argv, "--repo=%s/%s", host, job->project);
    else
        strv_pushf(argv, "--repo=https://%s/%s", host, job->project);
    if (job->act.operands.n > 0)
        strv_push(argv, "--");
    strv_push_all(argv, strv_array(&job->act.operands));
}

void broker_command(struct strv *argv, const struct broker_job *job)
{
    AUTO_FREE char *url = broker_url_text(&job->url);
    switch (job->act.kind) {
    case BROKER_FETCH:
        add_git(argv, job);
        add_fetch(argv, job, url);
        break;
    case BROKER_LIST:
        add_git(argv, job);
        strv_push(argv, "ls-remote");
        strv_push_all(argv, strv_array(&job->act.options));
        strv_push(argv, "--");
        strv_push(argv, url);
        strv_push_all(argv, strv_array(&job->act.operands));
        break;
    case BROKER_PUSH:
        add_git(argv, job);
        strv_push(argv, "push");
        strv_push_all(argv, strv_array(&job->act.options));
        strv_push(argv, "--");
        strv_push(argv, url);
        strv_pushf(argv, "%s:%s", job->commit, job->ref);
        break;
    case BROKER_READ:
    case BROKER_WRITE:
        add_api(argv, job);
        break;
    }
}
