/* broker_job: what headgate-broker is told on its standard input, and what it finds out for itself.
 */
#ifndef CMD_BROKER_JOB_H
#define CMD_BROKER_JOB_H

#include <sys/types.h>

#include "gate/broker.h"
#include "gate/broker_url.h"
#include "runner/base/jx.h"

#define BROKER_INSIDE "/run/headgate/broker" /* the scratch folder, read-only */
#define BROKER_INSIDE_REPO "/run/headgate/repo"
#define BROKER_INSIDE_HOOK "/run/headgate/bin/headgate-hook"

struct broker_job {
    json_t *message; /* owns the strings below */
    struct broker_act act;
    struct broker_url url; /* where it leads */
    const char *remote, *ref, *commit, *project;
    const char *common_dir, *repo, *scratch, *keys, *hostname;
    struct strv objects;
    uid_t uid;
    gid_t gid;
    bool is_other; /* the box is another account than this process */

    struct strv hosts; /* patterns of gate/host.h that the box may reach */
    struct strv env;   /* of the box's, over its profile's: the credential too */
    struct strv show;  /* host paths that the box may read, at their own paths */
};

/* Read and check. ERR_FORMAT: not from the server of this version. */
bool broker_job_read(struct broker_job *ret, const char *text, size_t len,
                     struct err *err) WARN_UNUSED;
void broker_job_release(struct broker_job *job);
/* Run a program of the person's on this host, with the person's environment and nothing to ask on;
 * its output without the last newline, allocated. NULL: it failed. args end with NULL. */
char *broker_job_ask(const char *const *args, const char *input);
/* The same, in the person's repository: `git --git-dir=... ARGS`. */
char *broker_job_git(const struct broker_job *job, const char *const *args, const char *input);
/* List a host with a port: its name and, since it is the person's own remote, whatever addresses it
 * has, private ones too. */
bool broker_job_reach(struct broker_job *job, const char *host, uint16_t port,
                      struct err *err) WARN_UNUSED;
/* Write a file into the scratch folder that the box reads. */
bool broker_job_write(const struct broker_job *job, const char *name, const char *text,
                      struct err *err) WARN_UNUSED;

/* broker_secret.c: the one credential: for git over https, and for the API of GitHub or GitLab. */
bool broker_secret_git(struct broker_job *job, struct err *err) WARN_UNUSED;
bool broker_secret_api(struct broker_job *job, struct err *err) WARN_UNUSED;
/* broker_ssh.c: the person's ssh for this host: agent, keys, known hosts, host name and port. */
bool broker_ssh(struct broker_job *job, struct err *err) WARN_UNUSED;
/* broker_command.c: the command that the box runs. Pure. */
void broker_command(struct strv *argv, const struct broker_job *job);

#endif
