/*
 * keep_config: keep.json of an attempt's folder, checked, with the box plan that it names.
 */
#ifndef KEEP_CONFIG_H
#define KEEP_CONFIG_H

#include <stdint.h>
#include "gate/exec.h"
#include "gate/policy.h"
#include "runner/base/buf.h"
#include "runner/keep/speech.h"

/* One loopback port of the host that the box may reach as its own. */
struct keep_service {
    uint16_t port;   /* inside */
    uint16_t target; /* on 127.0.0.1 of the host */
};

/* Patterns of execs (gate/exec_form.h). */
struct exec_forms {
    struct strv *v;
    size_t n;
};

struct keep_config {
    char *attempt; /* "3.2" */
    char *agent;   /* the kind, "claude" */
    char *socket, *gate_socket;
    char *worktree, *home;  /* as seen inside the box */
    char *path;             /* PATH of its programs */
    char *output;           /* "lines" or "claude": how a last line is found */
    enum speech_form hears; /* how it is spoken to on its standard input */
    char *task;             /* the first words there; NULL: it has its task by other ways */
    struct buf plan;
    char *plan_name;    /* its file */
    bool has_no_canary; /* the agent has not shown that it runs no call that is denied, though it
                           could have */
    int64_t hello_ms; /* how long what it asks of anyone outside waits for its hook to shake hands;
                         0: it does not */
    bool is_unasked;  /* its terminal was opened without a task: it may shake hands only once it has
                         one */
    char *guard;      /* words of hooks whose end is watched (hook_guard.h); NULL: none are */
    bool is_guard_strict;
    bool has_setup; /* a set-up command runs before the agent */
    bool freezes;   /* it stands still while a person decides */
    bool is_interactive;
    uint16_t cols, rows;
    int64_t memory_bytes, pids, time_ms; /* 0: none */
    int64_t output_bytes;
    int64_t grace_ms;    /* between TERM and KILL */
    int64_t deadline_ms; /* how long an asked call waits for a person */
    int64_t patience_ms; /* how long it then waits on, the person told again; 0: it is denied */
    enum exec_policy exec;
    bool is_exec_required;        /* asked for by name: without a working gate nothing starts */
    bool is_exec_unverified;      /* for negative controls only: races are not excluded */
    bool may_debug;               /* an exec that a debugger in the box traces goes on unverified */
    struct exec_forms exec_calls; /* what carries out a shell call of this agent */
    struct exec_forms exec_helpers; /* what this agent starts by itself */
    struct exec_forms exec_selves;  /* what of that is the agent as well */
    int64_t exec_deadline_ms;       /* how long an asked exec waits for a person */
    int64_t linger_ms;              /* how long it waits for a server after the agent's end */
    struct keep_service *services;
    size_t n_services;
    uint16_t proxy_port;     /* inside; 0: no proxy, so no network */
    struct strv net;         /* hosts that are listed for this attempt, patterns of host.h */
    int64_t net_deadline_ms; /* how long a connection waits for a person */
    json_t *models;  /* where the relay of each port `inside` leads (runner/model); empty: the agent
                        reaches them by itself */
    json_t *remotes; /* of the person's repository, as of broker.h; NULL: there is no broker */
    struct policy policy;
};
#define KEEP_CONFIG_INIT                                          \
    {                                                             \
        .plan = BUF_INIT, .policy = POLICY_INIT, .net = STRV_INIT \
    }

/* ERR_FORMAT names the member that is wrong. */
bool keep_config_load(struct keep_config *ret, int dirfd, struct err *err) WARN_UNUSED;
void keep_config_release(struct keep_config *c);

#endif
