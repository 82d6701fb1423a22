/* Calls of source `broker`: what was typed, with where it leads. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gate/broker.h"
#include "gate/broker_url.h"
#include "runner/base/mem.h"

bool broker_is_call(const struct call_request *r)
{
    return strcmp(r->source, "broker") == 0;
}

bool broker_asks_later(const struct call_request *r)
{
    return !broker_is_call(r) && strcmp(r->source, "shim") != 0;
}

bool broker_of_call(struct broker_act *ret, const struct call_request *r, struct err *err)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    const json_t *list = jx_arr(r->args, "argv");
    jx_strv(&argv, r->args, "argv");
    if (argv.n == 0 || argv.n != json_array_size(list))
        return err_set(err, ERR_FORMAT, "'argv' is no list of words");
    return broker_read(ret, argv.v, argv.n, err);
}

static const json_t *find_remote(const json_t *remotes, const char *name)
{
    size_t i;
    const json_t *remote;
    json_array_foreach(remotes, i, remote)
    {
        if (strcmp(jx_str(remote, "name", ""), name) == 0)
            return remote;
    }
    return NULL;
}

static bool refuse_remote(const json_t *remotes, const char *name, struct err *err)
{
    AUTO_BUF struct buf names = BUF_INIT;
    size_t i;
    const json_t *remote;
    json_array_foreach(remotes, i, remote)
    {
        buf_addf(&names, "%s%s", i ? ", " : "", jx_str(remote, "name", ""));
    }
    if (names.len == 0)
        return err_set(err, ERR_REFUSED, "the person's repository has no remote");
    return err_set(err, ERR_REFUSED, "the person's repository has no remote '%s', only: %.200s",
                   name, names.ptr);
}

/* The named one; else origin, else the only one. */
static const json_t *choose_remote(const struct broker_act *act, const json_t *remotes,
                                   struct err *err)
{
    const json_t *remote = find_remote(remotes, act->remote ? act->remote : "origin");
    if (!remote && !act->remote && json_array_size(remotes) == 1)
        remote = json_array_get(remotes, 0);
    if (!remote)
        refuse_remote(remotes, act->remote ? act->remote : "origin", err);
    return remote;
}

static bool set_ref(json_t *args, const struct broker_act *act, const struct call_request *r,
                    struct err *err)
{
    const char *commit = jx_str(r->args, "commit", "");
    const char *branch = jx_str(r->args, "branch", "");
    size_t digits = strspn(commit, "0123456789abcdef");
    if ((digits != 40 && digits != 64) || commit[digits])
        return err_set(err, ERR_FORMAT, "'commit' is no commit's whole name");
    if (!act->dst && !broker_is_branch(branch))
        return err_set(err, ERR_USAGE, "name the branch to push to: git push origin HEAD:NAME");
    AUTO_FREE char *ref = act->dst ? xstrdup(act->dst) : xasprintf("refs/heads/%s", branch);
    jx_set_str(args, "ref", ref);
    jx_set_str(args, "commit", commit);
    return true;
}

/* gh and glab work on the project behind a remote; another one that is named is another repository.
 */
static bool set_repo(json_t *args, const struct broker_act *act, const json_t *remotes,
                     struct err *err)
{
    size_t i;
    const json_t *remote;
    const json_t *first = act->repo ? NULL : choose_remote(act, remotes, err);
    if (!act->repo && !first)
        return false;
    json_array_foreach(remotes, i, remote)
    {
        AUTO_BROKER_URL struct broker_url url = BROKER_URL_INIT;
        struct err ignored = ERR_INIT;
        if ((first && remote != first) ||
            !broker_url_parse(&url, jx_str(remote, "url", ""), &ignored))
            continue;
        AUTO_FREE char *project = broker_url_project(&url);
        AUTO_FREE char *with_host = project ? xasprintf("%s/%s", url.host, project) : NULL;
        if (!project || (act->repo && strcasecmp(act->repo, project) != 0 &&
                         strcasecmp(act->repo, with_host) != 0))
            continue;
        jx_set_str(args, "remote", jx_str(remote, "name", ""));
        jx_set_str(args, "url", jx_str(remote, "url", ""));
        jx_set_str(args, "repo", project);
        return true;
    }
    return act->repo ? err_set(err, ERR_REFUSED, "no remote of the person's repository is '%.100s'",
                               act->repo)
                     : err_set(err, ERR_REFUSED, "the remote is no project of %s",
                               strcmp(act->program, "gh") == 0 ? "GitHub" : "GitLab");
}

static bool set_remote(json_t *args, const struct broker_act *act, const json_t *remotes,
                       struct err *err)
{
    AUTO_BROKER_URL struct broker_url url = BROKER_URL_INIT;
    const json_t *remote = choose_remote(act, remotes, err);
    if (!remote)
        return false;
    const char *address = jx_str(remote, act->kind == BROKER_PUSH ? "push" : "url", "");
    if (!broker_url_parse(&url, address, err))
        return false;
    jx_set_str(args, "remote", jx_str(remote, "name", ""));
    jx_set_str(args, "url", address);
    return true;
}

bool broker_complete(struct call_request *r, const json_t *remotes, struct err *err)
{
    AUTO_BROKER_ACT struct broker_act act = BROKER_ACT_INIT;
    AUTO_JSON json_t *args = json_object();
    if (!broker_of_call(&act, r, err))
        return false;
    jx_set(args, "argv", json_incref(jx_arr(r->args, "argv")));
    bool is_git = strcmp(act.program, "git") == 0;
    if (!(is_git ? set_remote(args, &act, remotes, err) : set_repo(args, &act, remotes, err)) ||
        (act.kind == BROKER_PUSH && !set_ref(args, &act, r, err)))
        return false;
    json_decref(r->args);
    r->args = steal_ptr(&args);
    free(r->tool);
    r->tool = broker_tool(&act);
    return true;
}
