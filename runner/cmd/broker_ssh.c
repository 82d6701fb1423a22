/* What the person's ssh would use for a host, as its own configuration says (ssh -G), for a box
 * that has none of it: a configuration of a few lines, the known hosts, the keys and the agent's
 * socket. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/broker_job.h"

enum { KNOWN_BYTES = 4 * 1024 * 1024, KEY_BYTES = 64 * 1024, KEYS_MAX = 16 };

struct ssh {
    struct broker_job *job;
    struct strv lines; /* of ssh -G: "key value" */
    struct buf config;
    size_t n_keys;
};

static const char *value_of(const struct ssh *s, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 0; i < s->lines.n; i++)
        if (strncmp(s->lines.v[i], key, len) == 0 && s->lines.v[i][len] == ' ')
            return s->lines.v[i] + len + 1;
    return NULL;
}

static bool is_none(const char *value)
{
    return !value || !value[0] || strcmp(value, "none") == 0;
}

/* The person's core.sshCommand, such as `ssh -F FILE` or `ssh -i KEY`: read as words, and only to
 * ask ssh what they mean. */
static bool person_command(struct strv *words, const struct broker_job *job, struct err *err)
{
    const char *const args[] = {"config", "--get", "core.sshCommand", NULL};
    AUTO_FREE char *text = broker_job_git(job, args, NULL);
    if (!text || !text[0]) {
        strv_push(words, "ssh");
        return true;
    }
    strv_split(words, text, ' ', false);
    const char *slash = words->n ? strrchr(words->v[0], '/') : NULL;
    if (words->n == 0 || strpbrk(text, "\"'\\$`;&|<>(){}*?\n") ||
        strcmp(slash ? slash + 1 : words->v[0], "ssh") != 0)
        return err_set(
            err, ERR_REFUSED,
            "your core.sshCommand is more than ssh with plain options, so this is yours to do");
    return true;
}

static bool look_up(struct ssh *s, struct err *err)
{
    const struct broker_url *url = &s->job->url;
    AUTO_STRV struct strv argv = STRV_INIT;
    if (!person_command(&argv, s->job, err))
        return false;
    strv_push(&argv, "-G");
    if (url->port != 22)
        strv_pushf(&argv, "-p%u", url->port);
    strv_push(&argv, "--");
    strv_pushf(&argv, "%s%s%s", url->user ? url->user : "", url->user ? "@" : "", url->host);
    AUTO_FREE char *said = broker_job_ask((const char *const *)strv_array(&argv), NULL);
    if (!said)
        return err_set(err, ERR_FAILED, "ssh cannot tell how %s is reached (ssh -G %s)", url->host,
                       url->host);
    strv_split(&s->lines, said, '\n', false);
    if (!is_none(value_of(s, "proxyjump")) || !is_none(value_of(s, "proxycommand")))
        return err_set(err, ERR_REFUSED,
                       "%s is reached through another host (ProxyJump, ProxyCommand), which is a "
                       "person's to do",
                       url->host);
    return true;
}

static char *person_path(const char *word)
{
    const char *home = getenv("HOME");
    return word[0] == '~' && word[1] == '/' ? fs_join(home ? home : "/", word + 2) : xstrdup(word);
}

static void add_known(struct ssh *s, struct buf *known, const char *key)
{
    AUTO_STRV struct strv files = STRV_INIT;
    const char *value = value_of(s, key);
    strv_split(&files, value ? value : "", ' ', false);
    for (size_t i = 0; i < files.n; i++) {
        struct err absent = ERR_INIT;
        AUTO_BUF struct buf text = BUF_INIT;
        AUTO_FREE char *path = person_path(files.v[i]);
        if (fs_read_file(&text, AT_FDCWD, path, KNOWN_BYTES, &absent))
            buf_addf(known, "%s\n", text.ptr);
    }
}

/* Where the box is another account, it gets a copy that is gone with the job; else the file itself.
 */
static bool add_key(struct ssh *s, const char *file, struct err *err)
{
    AUTO_FREE char *path = person_path(file);
    AUTO_BUF struct buf text = BUF_INIT;
    struct err absent = ERR_INIT;
    struct stat st;
    if (s->n_keys == KEYS_MAX || stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        !fs_read_file(&text, AT_FDCWD, path, KEY_BYTES, &absent))
        return true; /* ssh -G lists the usual names, whether they exist or not */
    if (!s->job->is_other) {
        buf_addf(&s->config, "IdentityFile \"%s\"\n", path);
        strv_push(&s->job->show, path);
        s->n_keys++;
        return true;
    }
    AUTO_FREE char *copy = xasprintf("%s/key-%zu", s->job->keys, s->n_keys++);
    buf_addf(&s->config, "IdentityFile \"%s\"\n", copy);
    strv_push(&s->job->show, copy);
    return fs_mkdirs(s->job->keys, 0711, err) &&
           fs_write_plain(AT_FDCWD, copy, text.ptr, text.len, 0600, err) &&
           fs_chown_tree(AT_FDCWD, copy, s->job->uid, s->job->gid, err);
}

static bool add_keys(struct ssh *s, struct err *err)
{
    static const char head[] = "identityfile ";
    for (size_t i = 0; i < s->lines.n; i++)
        if (strncmp(s->lines.v[i], head, sizeof(head) - 1) == 0 &&
            !add_key(s, s->lines.v[i] + sizeof(head) - 1, err))
            return false;
    return true;
}

/* An agent's socket lets no other account in. */
static void add_agent(struct ssh *s)
{
    const char *socket = value_of(s, "identityagent");
    struct stat st;
    if (!socket || strcmp(socket, "SSH_AUTH_SOCK") == 0 || strcmp(socket, "$SSH_AUTH_SOCK") == 0)
        socket = getenv("SSH_AUTH_SOCK");
    if (is_none(socket) || s->job->is_other)
        return;
    AUTO_FREE char *path = person_path(socket);
    if (stat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    strv_push(&s->job->show, path);
    strv_env_set(&s->job->env, "SSH_AUTH_SOCK", path);
}

static bool write_config(struct ssh *s, struct err *err)
{
    AUTO_BUF struct buf known = BUF_INIT;
    const char *user = value_of(s, "user"), *alias = value_of(s, "hostkeyalias");
    const char *only = value_of(s, "identitiesonly");
    buf_addf(
        &s->config,
        "HostName %s\nPort %s\nUserKnownHostsFile " BROKER_INSIDE "/known_hosts\n"
        "GlobalKnownHostsFile none\nStrictHostKeyChecking yes\nBatchMode yes\nForwardAgent no\n"
        "PermitLocalCommand no\nClearAllForwardings yes\nUpdateHostKeys no\nIdentitiesOnly %s\n"
        "ProxyCommand " BROKER_INSIDE_HOOK " --connect %%h:%%p\n",
        value_of(s, "hostname"), value_of(s, "port"), only ? only : "no");
    if (user)
        buf_addf(&s->config, "User %s\n", user);
    if (!is_none(alias))
        buf_addf(&s->config, "HostKeyAlias %s\n", alias);
    add_known(s, &known, "userknownhostsfile");
    add_known(s, &known, "globalknownhostsfile");
    if (s->n_keys == 0)
        buf_adds(&s->config, "IdentityFile none\n");
    return broker_job_write(s->job, "known_hosts", known.ptr, err) &&
           broker_job_write(s->job, "ssh_config", s->config.ptr, err);
}

static bool reach(struct ssh *s, struct err *err)
{
    const char *host = value_of(s, "hostname"), *port = value_of(s, "port");
    long number = port ? strtol(port, NULL, 10) : 0;
    if (!host || number < 1 || number > UINT16_MAX)
        return err_set(err, ERR_FAILED, "ssh -G names no host and port for %s", s->job->url.host);
    return broker_job_reach(s->job, host, (uint16_t)number, err);
}

bool broker_ssh(struct broker_job *job, struct err *err)
{
    struct ssh s = {.job = job, .lines = STRV_INIT, .config = BUF_INIT};
    bool ok = look_up(&s, err) && reach(&s, err) && add_keys(&s, err);
    if (ok) {
        add_agent(&s);
        ok = write_config(&s, err);
    }
    strv_env_set(&job->env, "GIT_SSH_COMMAND", "ssh -F " BROKER_INSIDE "/ssh_config");
    strv_release(&s.lines);
    buf_release(&s.config);
    return ok;
}
