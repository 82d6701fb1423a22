/*
 * attempt: the blocking work of one attempt, for worker threads: make its worktree, home, box plan
 * and keep.json; start its keeper; bring its commits home; remove it. Values in, values out; no
 * store, no loop.
 *
 * The caller serialises calls for one attempt. Each function may be run again after a crash of the
 * server: what is there already is used or made anew.
 */
#ifndef ATTEMPT_ATTEMPT_H
#define ATTEMPT_ATTEMPT_H

#include "gate/exec.h"
#include "gate/policy.h"
#include "runner/attempt/model_way.h"
#include "runner/base/config.h"
#include "runner/base/jx.h"
#include "runner/base/paths.h"
#include "sandbox/layer.h"
#include "worktree/worktree.h"

struct attempt_spec {
    char *id; /* "3.2" */
    int64_t run, n;
    char *repo;        /* path that was named (toplevel or bare gitdir) */
    char *subdir;      /* where in the worktree it starts, "" */
    char *branch;      /* "headgate/3/2" */
    char *base;        /* oid */
    char *base_ref;    /* for people */
    char *into;        /* the branch that its work is for; NULL: the one that is checked out */
    bool is_base_held; /* by a ref of ours (wt_pin) */
    bool is_base_wip;  /* the base is a commit of uncommitted work */
    char *engine;      /* a name of worktree.h, or NULL: choose */
    char *agent;       /* adapter name */
    char *prompt;
    char *message;       /* what a resumed agent is told, NULL: its prompt */
    struct strv command; /* `-- COMMAND`; empty: none */
    struct strv env;     /* the person's environment */
    bool interactive, resume;
    int cols, rows;
    enum ladder ladder;
    enum exec_policy exec;
    bool
        exec_required; /* asked for by name: without a working exec gate the agent does not start */
    bool has_no_canary; /* the person wanted none, though there could be one */
    int64_t memory_bytes, pids, time_ms, output_bytes; /* 0: configured default */
    int64_t ask_ms;       /* how long an asked call waits for a person; 0: configured default */
    bool ask_waits;       /* then the person is told again, and it waits on; else it is denied */
    struct strv services; /* decimal ports of the host's loopback */
    struct strv net;      /* listed hosts, patterns of gate/host.h */
    struct strv ro, rw;   /* further host paths */
    struct strv mask; /* paths that are covered; one in the repository is that of the worktree */
    char *require;    /* layer list or NULL */
    char *teardown;   /* the same, run in the box last; NULL: none */
    char *setup;      /* a set-up command that was consented to, run in the box first; NULL: none */
    struct model_ways models; /* how it reaches its models without a key in the box */
    struct strv secrets; /* variables that only the set-up command gets: names, and NAME=VALUE where
                            it is prepared */
};
#define ATTEMPT_SPEC_INIT \
    {                     \
        0                 \
    }
void attempt_spec_release(struct attempt_spec *s);
json_t *attempt_spec_json(const struct attempt_spec *s); /* for the store; round trips */
bool attempt_spec_parse(struct attempt_spec *ret, const json_t *j, struct err *err) WARN_UNUSED;

/* What is in force on this host for the built-in profile: starts a real box once with `true`. */
bool attempt_probe_layers(struct layer_report *ret, const struct paths *paths,
                          const struct config *config, struct err *err) WARN_UNUSED;
/* The rung to use when none is named, and why (a sentence). */
enum ladder attempt_default_ladder(const struct layer_report *report, struct buf *ret_why);

/* How long an asked call waits at most, whatever is configured: agents' hooks give up after a day.
 */
extern const int64_t attempt_ask_max_ms;

struct attempt_place {
    char *tree, *engine, *engine_why; /* for the store */
};
void attempt_place_release(struct attempt_place *p);
/* Whether the engine that was asked for (NULL: of the configuration) works here, before anything is
 * made. ERR_USAGE. Blocks. */
bool attempt_check_engine(const struct paths *paths, const struct config *config, const char *asked,
                          struct err *err) WARN_UNUSED;
/* Worktree, home, adapter, plan, keep.json with this policy. source: of spec->repo. On failure
 * nothing is left but the attempt's empty folder. */
bool attempt_prepare(struct attempt_place *ret, const struct paths *paths,
                     const struct config *config, struct wt_source *source,
                     const struct attempt_spec *spec, const struct policy *policy,
                     struct err *err) WARN_UNUSED;
/* Start headgate-keep on a prepared attempt; returns when its sockets listen. keys (borrowed): what
 * stands behind the placeholders of spec->models, told to the keeper and written nowhere; NULL:
 * none. */
bool attempt_start(const struct paths *paths, const struct attempt_spec *spec, const json_t *keys,
                   struct err *err) WARN_UNUSED;
/* Bring commits home; with_snapshot only when the box has ended. */
bool attempt_harvest(struct wt_harvest *ret, const struct paths *paths, const struct config *config,
                     const struct attempt_spec *spec, bool with_snapshot,
                     struct err *err) WARN_UNUSED;
bool attempt_discard(const struct paths *paths, const struct attempt_spec *spec, bool force,
                     struct err *err) WARN_UNUSED;

#endif
