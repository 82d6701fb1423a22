/*
 * agent: what Headgate must know of one kind of agent: one adapter, one file, as data where
 * possible.
 *
 * An adapter neither starts nor watches processes: it fills the box spec (argv, environment, files
 * in the private home, masks, read-only settings) before the start, and turns a line of output into
 * what a person wants to read.
 */
#ifndef AGENTS_AGENT_H
#define AGENTS_AGENT_H

#include "runner/agents/provider.h"
#include "runner/base/config.h"
#include "runner/base/digest.h"
#include "sandbox/box.h"

struct agent_start {
    const char *attempt;        /* "3.2" */
    const char *prompt;         /* the task's text */
    const struct strv *command; /* `-- COMMAND`: the words, else NULL */
    bool interactive;
    bool resume;
    bool is_heard; /* there is somebody who speaks on its standard input, as `hears` says */
    const char
        *dir; /* the attempt's folder on the host: adapters may add files for read-only binds */
    const char *home_host; /* the private home on the host */
    const char *home_inside;
    const char *worktree;
    const char *profile;     /* text of a start-up file with which a login shell finds what the
                                box has in front of its PATH; NULL: nothing */
    const char *hook_inside; /* path of headgate-hook inside the box */
    const char *gate_inside; /* path of the gate's socket inside the box */
    const struct strv *caller_env; /* the person's environment (allow-listed names only are passed
                                      by the profile) */
    const struct config *config;
    const char *agent_name; /* as the person named it */
};

/* How an agent starts programs, as forms of gate/exec_form.h; in them %h is its private home, %k
 * the hook client and %g the gate's socket inside the box. */
enum { AGENT_FORM_WORDS = 12 };
struct agent_form {
    const char *words[AGENT_FORM_WORDS]; /* NULL after the last; none: the end of the table */
};

struct agent {
    const char *name;    /* "claude" */
    const char *title;   /* "Claude Code" */
    const char *program; /* looked up in the person's PATH; NULL: none (command) */
    const char *tested;  /* version that was tested, NULL */
    const char *gated;   /* how its calls reach the gate: sentences for `agent check` */
    const char *gaps;    /* what is not covered, said plainly; NULL: nothing that is known */
    const char *wants;   /* a program of the person's PATH without which it does less; NULL: none */
    const char *without; /* what is so without, as a sentence */
    const char *output;  /* "lines", "claude", "codex", "gemini" or "opencode": how a keeper finds
                            the last line to show */
    const char *const *needs_env;        /* credentials that are passed when set, NULL-terminated */
    const struct agent_form *exec_calls; /* what carries out a shell call, ended by an empty form */
    const struct agent_form *exec_helpers; /* what it starts by itself */
    const struct agent_form
        *exec_selves; /* what of that is the agent as well: its driver starts it; NULL: none */
    /* Files and folders of a project in which it would look for settings, and for programs to run
     * as itself: covered in the box, in each folder from the repository's top to where it starts;
     * NULL: nothing that counts. */
    const char *const *project_settings;
    bool is_gated_apart; /* what a project sets cannot switch its gate off: it is covered for what
                            it starts without a call, and may count where the person says so
                            (agent.NAME.projectSettings) */
    bool has_hook;       /* its hook is a program, and what that says without having asked is not to
                            count: the keeper watches how its hooks end (runner/keep/hook_guard.h) */
    bool needs_guard;    /* in its own terminal nothing but its hook asks, and it runs a call whose
                            hook was killed: strictly */
    bool greets; /* its hook shakes hands with the gate before it asks its model: until then it
                    reaches nobody */
    const char
        *stub_model; /* the model that its canary names; NULL: the person's, or its own choice */
    const struct provider *const *providers; /* of its model, NULL-terminated; NULL: none, or the
                                                configuration says (provider.h) */
    const struct provider_login
        *login; /* for a login of the person's, held outside of the box; NULL: not known */
    /* How a running headless one is spoken to (runner/keep/speech.h), "claude" or "lines"; NULL: it
     * takes no messages, they are its next turn. With "claude" its task comes that way too. */
    const char *hears;
    /* Add argv, environment, seeded files and binds to spec. */
    bool (*prepare)(struct box_spec *spec, const struct agent_start *start, struct err *err);
};

/* NULL-terminated, the command adapter last. */
extern const struct agent *const agents[];
/* A built-in one, or NULL. */
const struct agent *agent_find(const char *name);
/* The same for an attempt that was made with it: the person's own are one kind. */
const struct agent *agent_kind(const char *name);
/* A built-in one, or the person's own of the configuration. own: memory for the latter; its texts
 * are those of name and config. False: there is none. */
bool agent_named(const struct agent **ret, struct agent *own, const char *name,
                 const struct config *config) WARN_UNUSED;
/* Call visit for each of the person's own, in order. */
void agent_each_own(const struct config *config, void (*visit)(const struct agent *own, void *arg),
                    void *arg);
/* Append the names of all kinds, the person's own too: "claude, codex, ...". */
void agent_add_names(struct buf *out, const struct config *config);
/* Letters, digits, `-` and `_`. */
bool agent_name_is_valid(const char *name);
/* Absolute path of the agent's program in PATH of env, allocated; NULL when not installed. */
char *agent_program_path(const struct agent *agent, const struct strv *env);
/* What is so because a program that the agent wants is not in PATH of env; NULL: nothing. */
const char *agent_lack(const struct agent *agent, const struct strv *env);
/* The agent of a run that names none: `agent.default`, else the only one installed, else an error
 * that names them. */
bool agent_default(const struct agent **ret, struct agent *own, const struct config *config,
                   const struct strv *env, struct err *err) WARN_UNUSED;
/* An agent's output as it is read, line by line: Claude Code tells its last answer once more in its
 * result, and a person is shown it once. */
struct agent_output {
    const char *kind;             /* as struct agent's output; borrowed */
    char answer[DIGEST_HEX_SIZE]; /* what it said last; "": nothing, or its result was told */
};
/* Turn one line of an agent's output into a short line for a person, or nothing (false). Pure; not
 * sanitised. */
bool agent_output_line(struct buf *out, struct agent_output *o, const char *line, size_t len);

#endif
