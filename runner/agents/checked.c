#include "runner/agents/checked.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { CHECKED_BYTES = 4096 };

static char *file_of(const char *state, const struct agent *agent)
{
    return xasprintf("%s/checked/%s", state, agent->name);
}

/* What makes a program another one, and us. NULL: it is not there. */
static char *identity(const struct agent *agent, const char *program)
{
    struct err ignored = ERR_INIT;
    struct stat st;
    AUTO_FREE char *real = fs_realpath(program, &ignored);
    if (!real || stat(real, &st) != 0)
        return NULL;
    return xasprintf("%s %s %s %jd %jd.%09ld", HEADGATE_VERSION, agent->tested ? agent->tested : "-", real,
                     (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

bool agent_checked_write(const char *state, const struct agent *agent, const char *program, struct err *err)
{
    AUTO_FREE char *folder = fs_join(state, "checked");
    AUTO_FREE char *file = file_of(state, agent);
    AUTO_FREE char *text = identity(agent, program);
    if (!text)
        return err_set(err, ERR_NOT_FOUND, "%s is gone", program);
    return fs_mkdirs(folder, 0700, err) && fs_write_atomic(AT_FDCWD, file, text, strlen(text), 0600, err);
}

enum agent_checked agent_checked(const char *state, const struct agent *agent, const char *program)
{
    AUTO_FREE char *file = file_of(state, agent);
    AUTO_FREE char *text = identity(agent, program);
    AUTO_BUF struct buf known = BUF_INIT;
    struct err absent = ERR_INIT;
    if (!fs_read_file(&known, AT_FDCWD, file, CHECKED_BYTES, &absent))
        return AGENT_NEVER_CHECKED;
    return text && strcmp(text, known.ptr ? known.ptr : "") == 0 ? AGENT_CHECKED : AGENT_CHANGED;
}
