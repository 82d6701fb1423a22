/* The box as a call's judgement sees it. What is told was true when it was asked; a link or a file
 * may change before the tool acts, which is the box's business: the box is the boundary. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "gate/floor.h"
#include "runner/base/mem.h"
#include "runner/base/real.h"
#include "runner/keep/door.h"

enum { ROOT_BYTES = 64 };

static bool is_open(const struct door *d)
{
    return d->root_fd && *d->root_fd >= 0;
}

static void root_of(char ret[ROOT_BYTES], const struct door *d)
{
    snprintf(ret, ROOT_BYTES, "/proc/self/fd/%d", *d->root_fd);
}

static char *resolve(void *arg, const char *path)
{
    char root[ROOT_BYTES];
    root_of(root, arg);
    return real_path(root, path);
}

/* Whether the mount is one that nobody in the box can write. */
static bool is_read_only(const char *root, const char *path)
{
    struct statvfs st;
    AUTO_FREE char *whole = xasprintf("%s%s", root, path);
    AUTO_FD int fd = open(whole, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && fstatvfs(fd, &st) == 0 && (st.f_flag & ST_RDONLY);
}

/* Neither the file nor the folder that names it may be the agent's. */
static bool is_out_of_reach(const char *root, const char *program)
{
    AUTO_FREE char *folder = xstrndup(program, (size_t)(strrchr(program, '/') - program));
    AUTO_FREE char *real = real_path(root, program);
    AUTO_FREE char *real_folder = real_path(root, folder[0] ? folder : "/");
    return real && real_folder && is_read_only(root, real) && is_read_only(root, real_folder);
}

/* PATH as text: a folder of the agent's own in it may hold anything. */
static bool has_own_folder(const struct door *d)
{
    const struct policy_place own = {.worktree = d->config->worktree, .home = d->config->home};
    AUTO_STRV struct strv folders = STRV_INIT;
    strv_split(&folders, d->config->path, ':', true);
    for (size_t i = 0; i < folders.n; i++)
        if (folders.v[i][0] != '/' || floor_is_own(&own, folders.v[i]))
            return true;
    return false;
}

static enum policy_program find_program(void *arg, const char *name)
{
    const struct door *d = arg;
    char root[ROOT_BYTES];
    bool is_relative;
    if (!is_open(d))
        return has_own_folder(d) ? PROGRAM_UNTOLD : PROGRAM_OUT_OF_REACH;
    root_of(root, d);
    AUTO_FREE char *program = real_program(root, d->config->path, name, &is_relative);
    if (!program)
        return is_relative ? PROGRAM_UNTOLD : PROGRAM_ABSENT;
    return is_out_of_reach(root, program) ? PROGRAM_OUT_OF_REACH : PROGRAM_IN_REACH;
}

void door_place(struct policy_place *ret, struct door *d)
{
    *ret = (struct policy_place){.worktree = d->config->worktree,
                                 .home = d->config->home,
                                 .resolve = is_open(d) ? resolve : NULL,
                                 .program = find_program,
                                 .arg = d,
                                 .has_broker = d->config->remotes != NULL};
}
