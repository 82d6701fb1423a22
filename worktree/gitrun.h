/*
 * gitrun: one call of git(1) on the host, with nothing in its way.
 *
 * The environment is the caller's without GIT_* variables (but for those that name the
 * person's configuration files), so that a variable of the person's shell cannot
 * send a command to another repository. Hooks, fsmonitor, background maintenance and prompts are
 * off. With git_dir given, nothing is discovered: git reads that repository's configuration and no
 * other's. Never point git_dir at an attempt's private gitdir: an agent can write its
 * configuration, and configuration is code.
 */
#ifndef WORKTREE_GITRUN_H
#define WORKTREE_GITRUN_H

#include "runner/base/proc.h"
#include "runner/base/strv.h"

struct gitrun {
    const char *git_dir; /* NULL: discovered from cwd */
    const char *work_tree;
    bool bare;                 /* as in a bare repository: no file of any tree gives attributes */
    const char *cwd;           /* NULL: work_tree, else git_dir, else the caller's */
    const char *index_file;    /* GIT_INDEX_FILE, NULL: git's own */
    const struct strv *env;    /* NAME=VALUE, the last word, NULL: none */
    const struct strv *config; /* further KEY=VALUE settings, NULL: none */
    bool as_person; /* hooks and settings as the person has them: only where their own checkout is
                       updated */
    bool plain_config; /* no setting added: the configuration itself is to be listed */
    const void *input; /* NULL: none */
    size_t input_len;
    int input_fd;  /* used when > 0 and input is NULL; borrowed */
    int output_fd; /* standard output goes here when > 0, and is not in the result; borrowed */
    size_t max_output_bytes; /* 0: LIMIT_CAPTURE_BYTES */
    int64_t max_data_bytes;  /* of memory of its own, RLIMIT_DATA; 0: no limit */
    int64_t timeout_ms;      /* 0: none, as for work on what the person has made */
};

/* The arguments behind `git`, for the functions below. */
#define GIT_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Run to the end; any exit status is success of this function. */
bool gitrun(struct proc_result *ret, const struct gitrun *g, const char *const *args,
            struct err *err) WARN_UNUSED;
/* Run and append standard output to out; a status other than 0 is ERR_FAILED with git's own words.
 */
bool gitrun_out(struct buf *out, const struct gitrun *g, const char *const *args,
                struct err *err) WARN_UNUSED;
/* The same for one line, its newline removed. */
bool gitrun_line(struct buf *out, const struct gitrun *g, const char *const *args,
                 struct err *err) WARN_UNUSED;
/* For questions that may stay open: the same, but where git fails, takes too long or prints too
 * much nothing is appended, and that is success. */
bool gitrun_told(struct buf *out, const struct gitrun *g, const char *const *args,
                 struct err *err) WARN_UNUSED;
/* ERR_FAILED from the standard error of a call: its first lines, sanitised. Always false. */
bool gitrun_failed(const struct proc_result *r, const char *const *args, struct err *err);
/* Append path as git reads it in a list of object folders: in double quotes, with C escapes. */
void gitrun_quote_path(struct buf *out, const char *path);
/* True when oid is 40 or 64 lower-case hexadecimal digits. */
bool gitrun_is_oid(const char *oid);

#endif
