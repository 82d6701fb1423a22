#include "runner/agents/checked.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/agents/program.h"
#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { KNOWN_MAX = 16, KNOWN_BYTES = 16 * 1024 };
static const int64_t program_bytes_max = INT64_C(4) << 30;

/* The two names of one state of things. */
struct names {
    char touch[DIGEST_HEX_SIZE], content[DIGEST_HEX_SIZE];
};

static char *file_of(const char *state, const struct agent *agent)
{
    return xasprintf("%s/checked/%s", state, agent->name);
}

bool agent_is_checkable(const struct agent *agent)
{
    return agent->tested != NULL;
}

/* The program, what names its version where it is a script, and the programs of ours that have a
 * part in it. */
static void add_files(struct strv *out, const char *program)
{
    static const char *const ours[] = {"headgate-hook", "headgate-drive", "headgate-keep",
                                       "headgate-box"};
    struct err ignored = ERR_INIT;
    AUTO_FREE char *self = fs_realpath("/proc/self/exe", &ignored);
    AUTO_FREE char *real = fs_realpath(program, &ignored);
    AUTO_FREE char *folder = fs_dirname(real ? real : program);
    strv_push(out, real ? real : program);
    if (!program_is_native(out->v[0])) {
        strv_pushf(out, "%s/package.json", folder);
        strv_pushf(out, "%s/../package.json", folder);
    }
    strv_push(out, self ? self : "headgate");
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        AUTO_FREE char *path = paths_program(ours[i], &ignored);
        if (path)
            strv_push(out, path);
    }
}

struct settings {
    struct buf *out;
    char *own; /* "agent.NAME." */
};

static void add_setting(const char *key, const char *value, void *arg)
{
    const struct settings *s = arg;
    if (strncmp(key, "box.", 4) == 0 || strncmp(key, s->own, strlen(s->own)) == 0)
        buf_addf(s->out, "%s=%s\n", key, value);
}

static void add_settings(struct buf *out, const struct agent *agent, const struct config *config)
{
    AUTO_FREE char *own = xasprintf("agent.%s.", agent->name);
    struct settings s = {out, own};
    buf_addf(out, "%s %s\n", HEADGATE_VERSION, agent->tested);
    config_each(config, add_setting, &s);
}

static void name_touch(struct names *ret, const struct strv *files, const struct buf *settings)
{
    AUTO_BUF struct buf text = BUF_INIT;
    buf_add(&text, settings->ptr, settings->len);
    for (size_t i = 0; i < files->n; i++) {
        struct stat st;
        if (stat(files->v[i], &st) == 0)
            buf_addf(&text, "%s %ju %jd %jd.%09ld\n", files->v[i], (uintmax_t)st.st_ino,
                     (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    }
    digest_bytes(ret->touch, text.ptr, text.len);
}

static void name_content(struct names *ret, const struct strv *files, const struct buf *settings)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    buf_add(&text, settings->ptr, settings->len);
    for (size_t i = 0; i < files->n; i++) {
        AUTO_FD int fd = open(files->v[i], O_RDONLY | O_CLOEXEC);
        char hex[DIGEST_HEX_SIZE];
        if (fd >= 0 && digest_fd(hex, fd, program_bytes_max, &ignored))
            buf_addf(&text, "%zu %s\n", i, hex);
    }
    digest_bytes(ret->content, text.ptr, text.len);
}

static void read_known(struct strv *ret, const char *state, const struct agent *agent)
{
    AUTO_FREE char *file = file_of(state, agent);
    AUTO_BUF struct buf text = BUF_INIT;
    struct err absent = ERR_INIT;
    if (fs_read_file(&text, AT_FDCWD, file, KNOWN_BYTES, &absent) && text.ptr)
        strv_split(ret, text.ptr, '\n', false);
}

/* A line is the touch, a blank, the content. */
static bool knows(const struct strv *known, const char *name, size_t at)
{
    for (size_t i = 0; i < known->n; i++)
        if (strlen(known->v[i]) == 2 * (DIGEST_HEX_SIZE - 1) + 1 &&
            strncmp(known->v[i] + at, name, DIGEST_HEX_SIZE - 1) == 0)
            return true;
    return false;
}

static bool remember(const char *state, const struct agent *agent, const struct names *names,
                     struct err *err)
{
    AUTO_STRV struct strv known = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *folder = fs_join(state, "checked");
    AUTO_FREE char *file = file_of(state, agent);
    read_known(&known, state, agent);
    buf_addf(&text, "%s %s\n", names->touch, names->content);
    for (size_t i = 0; i < known.n && i < KNOWN_MAX - 1; i++)
        buf_addf(&text, "%s\n", known.v[i]);
    return fs_mkdirs(folder, 0700, err) &&
           fs_write_atomic(AT_FDCWD, file, text.ptr, text.len, 0600, err);
}

/* What there is to name: nothing is read yet but where things are. */
struct look {
    struct strv files;
    struct buf settings;
    struct names names;
};
#define AUTO_LOOK __attribute__((cleanup(look_release)))

static void look_release(struct look *l)
{
    strv_release(&l->files);
    buf_release(&l->settings);
}

/* The name by touch, which is cheap; name_content adds the other. */
static struct look look_at(const struct agent *agent, const char *program,
                           const struct config *config)
{
    struct look l = {.files = STRV_INIT, .settings = BUF_INIT};
    add_files(&l.files, program);
    add_settings(&l.settings, agent, config);
    name_touch(&l.names, &l.files, &l.settings);
    return l;
}

bool agent_checked(const char *state, const struct agent *agent, const char *program,
                   const struct config *config)
{
    AUTO_LOOK struct look l = look_at(agent, program, config);
    AUTO_STRV struct strv known = STRV_INIT;
    read_known(&known, state, agent);
    return knows(&known, l.names.touch, 0);
}

bool agent_must_be_checked(const char *state, const struct agent *agent, const char *program,
                           const struct config *config, struct err *err)
{
    return !agent_is_checkable(agent) || agent_checked(state, agent, program, config) ||
           err_set(err, ERR_REFUSED,
                   "%s has not passed its canary as it is now; 'headgate agent check --canary %s' "
                   "makes it",
                   program, agent->name);
}

bool agent_checked_content(const char *state, const struct agent *agent, const char *program,
                           const struct config *config)
{
    AUTO_LOOK struct look l = look_at(agent, program, config);
    AUTO_STRV struct strv known = STRV_INIT;
    struct err ignored = ERR_INIT;
    read_known(&known, state, agent);
    if (knows(&known, l.names.touch, 0) || known.n == 0)
        return known.n > 0;
    name_content(&l.names, &l.files, &l.settings);
    return knows(&known, l.names.content, DIGEST_HEX_SIZE) &&
           remember(state, agent, &l.names, &ignored);
}

bool agent_checked_write(const char *state, const struct agent *agent, const char *program,
                         const struct config *config, struct err *err)
{
    AUTO_LOOK struct look l = look_at(agent, program, config);
    name_content(&l.names, &l.files, &l.settings);
    return remember(state, agent, &l.names, err);
}
