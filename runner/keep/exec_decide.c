#include "runner/keep/exec_decide.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"

/* One exec while it is looked at. */
struct look {
    struct exec_notice notice;
    struct exec_args args;
    struct exec_image image;
    struct exec_origin origin;
    enum exec_standing standing;
    char cwd[PATH_MAX];
};

static void look_done(struct look *k)
{
    exec_args_release(&k->args);
    exec_image_release(&k->image);
}

/* The box's root, as the first caller sees it: pid 1 itself cannot be looked at. */
static bool open_root(struct exec_gate *g, pid_t tid)
{
    char root[64];
    if (g->family.agent_pid == 0)
        exec_family_start(&g->family, g->family.init_pid, tid);
    if (g->root_fd >= 0)
        return true;
    snprintf(root, sizeof root, "/proc/%d/root", (int)tid);
    g->root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return g->root_fd >= 0;
}

static int look_at(struct look *k, struct exec_gate *g)
{
    const struct exec_notice *n = &k->notice;
    if (!open_root(g, n->tid))
        return EACCES;
    const struct exec_place place = {g->root_fd, n->tid, n->dirfd, &g->heads, g->config->path};
    int why = exec_args_read(&k->args, n->tid, n->path, n->argv);
    if (!why)
        why = exec_image_of(&k->image, &place, &k->args, n->flags);
    return why;
}

static void read_cwd(struct look *k)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)k->notice.tid);
    ssize_t len = readlink(link, k->cwd, sizeof k->cwd - 1);
    k->cwd[len > 0 ? len : 0] = '\0';
}

static void make_record(struct exec_record *ret, struct exec_gate *g, struct look *k)
{
    AUTO_STRV struct strv parents = STRV_INIT;
    exec_origin_parents(&parents, &g->family, k->notice.tid);
    if (!k->cwd[0])
        read_cwd(k);
    exec_record_make(ret, g->config, g->records, &k->image, &k->args, k->cwd, &parents,
                     exec_calls_find(&g->calls, k->image.call));
}

static void deny(struct exec_gate *g, struct look *k, const struct judgement *j)
{
    struct err err = ERR_INIT;
    AUTO_EXEC_RECORD struct exec_record record = EXEC_RECORD_INIT;
    bool is_noted = exec_gate_may_note(g);
    if (is_noted)
        make_record(&record, g, k);
    exec_gate_refuse(g, &k->notice, EACCES);
    if (!is_noted)
        return;
    json_t *body = exec_record_body(&record, j);
    jx_set_str(body, "verdict", "deny");
    bool is_kept = records_add(g->records, "decided", body, &err);
    (void)is_kept; /* it is refused, with or without a record */
}

static void ask(struct exec_gate *g, struct look *k, const struct judgement *j)
{
    AUTO_EXEC_RECORD struct exec_record record = EXEC_RECORD_INIT;
    int why = exec_content_identify(&k->image.content);
    if (why) {
        records_note(g->records, "%s was not started: it cannot be identified by its content (%s)",
                     k->image.names.all.v[0], strerror(why));
        exec_gate_refuse(g, &k->notice, why);
        return;
    }
    make_record(&record, g, k);
    if (!exec_notice_lives(&k->notice, g->listener_fd))
        return;
    if (exec_wait_remembers(&g->wait, record.action))
        exec_gate_go_on(g, &k->notice, &k->image);
    else if (!exec_wait_ask(&g->wait, &k->notice, &k->image, &record, j))
        exec_gate_refuse(g, &k->notice, EAGAIN);
}

/* Policies that ask look at who calls. */
bool exec_gate_looks_at_origin(const struct exec_gate *g)
{
    return g->config->exec == EXEC_ASK || g->config->exec == EXEC_MATCH;
}

static void find_standing(struct exec_gate *g, struct look *k)
{
    if (!exec_gate_looks_at_origin(g))
        return;
    exec_origin_of(&k->origin, &g->family, k->notice.tid);
    k->image.call = k->origin.call;
    if (!k->origin.is_own)
        return;
    k->standing = EXEC_OWN;
    k->image.is_agent = exec_calls_is_agent(&g->calls, &k->args, &k->image);
    if (g->config->exec != EXEC_MATCH)
        return;
    const struct exec_place place = {g->root_fd, k->notice.tid, k->notice.dirfd, &g->heads,
                                     g->config->path};
    read_cwd(k);
    k->standing = exec_calls_stand(&g->calls, &place, &k->args, &k->image, k->cwd, &k->image.call);
}

/*
 * A rule that lets a file of the box pass by its name means the file that it first met. Where the
 * policy would let it pass anyway, it makes no difference.
 */
static bool is_as_the_rule_met_it(struct exec_gate *g, struct look *k, const struct judgement *j)
{
    struct exec_content *content = &k->image.content;
    if (j->verdict != VERDICT_ALLOW || !j->rule || content->n == 0 || k->standing == EXEC_BELOW)
        return true;
    return exec_content_identify(content) == 0 &&
           exec_pins_hold(&g->pins, j->rule, k->image.names.all.v[0], content->digest);
}

static void judge_names(struct judgement *ret, struct exec_gate *g, struct look *k)
{
    const struct policy none = POLICY_INIT;
    const struct keep_config *c = g->config;
    const struct exec_names *names = &k->image.names;
    exec_judge(ret, g->rules, c->exec, c->agent, &names->all, &names->sure, k->standing);
    if (is_as_the_rule_met_it(g, k, ret))
        return;
    exec_judge(ret, &none, c->exec, c->agent, &names->all, &names->sure, k->standing);
    if (ret->verdict == VERDICT_ASK)
        snprintf(ret->reason, sizeof ret->reason,
                 "it has changed since a rule first let it pass by its name");
}

static void judge(struct exec_gate *g, struct look *k)
{
    struct judgement j = {0};
    find_standing(g, k);
    if (!exec_notice_lives(&k->notice, g->listener_fd))
        return; /* all of the above may have been another's */
    judge_names(&j, g, k);
    k->image.is_carrying = k->standing == EXEC_CALLED;
    if (k->image.is_carrying && j.verdict != VERDICT_DENY)
        exec_calls_take(&g->calls, k->image.call);
    switch (j.verdict) {
    case VERDICT_ALLOW:
        exec_gate_go_on(g, &k->notice, &k->image);
        break;
    case VERDICT_DENY:
        deny(g, k, &j);
        break;
    case VERDICT_ASK:
        ask(g, k, &j);
        break;
    }
}

void exec_decide(struct exec_gate *g, const struct exec_notice *notice)
{
    __attribute__((cleanup(look_done))) struct look k = {
        .notice = *notice, .args = EXEC_ARGS_INIT, .image = EXEC_IMAGE_INIT};
    int why = look_at(&k, g);
    if (why == EACCES && !g->has_begun)
        records_note(g->records, "the exec gate could not look at the agent's start; where this "
                                 "host lets it never do so, --exec off goes without");
    if (why)
        exec_notice_answer(&k.notice, g->listener_fd, why);
    else
        judge(g, &k);
}
