/* Whether a push of commits alone would leave LFS files behind. */
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/lfs.h"
#include "worktree/treediff.h"
#include "worktree/worktree.h"

enum { POINTER_BYTES = 1024, REGULAR = 0100000, KIND = 0170000 };

static bool is_file(const struct treediff_entry *e)
{
    return (e->new_mode & KIND) == REGULAR;
}

/* sizes[i]: of the new file of entry i; -1: it is none. */
static bool find_sizes(int64_t *sizes, const struct treediff *diff, const char *common_dir,
                       struct err *err)
{
    AUTO_BUF struct buf input = BUF_INIT, out = BUF_INIT;
    for (size_t i = 0; i < diff->n; i++)
        if (is_file(&diff->v[i]))
            buf_addf(&input, "%s\n", diff->v[i].new_oid);
    struct gitrun g = {.git_dir = common_dir, .input = input.ptr, .input_len = input.len};
    if (input.len > 0 &&
        !gitrun_out(&out, &g, GIT_ARGS("cat-file", "--batch-check=%(objectsize)"), err))
        return false;
    const char *line = out.ptr;
    for (size_t i = 0; i < diff->n; i++) {
        sizes[i] = -1;
        if (!is_file(&diff->v[i]) || !*line)
            continue;
        sizes[i] = strtoll(line, NULL, 10);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return true;
}

static bool is_pointer(bool *ret, const char *common_dir, const char *oid, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    char object[65];
    int64_t size;
    struct gitrun g = {.git_dir = common_dir};
    if (!gitrun_out(&text, &g, GIT_ARGS("cat-file", "blob", oid), err))
        return false;
    *ret = lfs_parse_pointer(object, &size, text.ptr, text.len);
    return true;
}

/* A repository without such files is told by one look at its attributes. */
static bool uses_lfs(bool *ret, const char *common_dir, const char *commit, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = common_dir};
    const char *const *args =
        GIT_ARGS("grep", "-q", "-e", "filter=lfs", commit, "--", ":(glob)**/.gitattributes");
    if (!gitrun(&r, &g, args, err))
        return false;
    *ret = r.status == 0;
    return r.status <= 1 || gitrun_failed(&r, args, err);
}

bool wt_new_lfs_file(char **ret, const char *common_dir, const char *from, const char *to,
                     struct err *err)
{
    AUTO_TREEDIFF struct treediff diff = TREEDIFF_INIT;
    bool has_lfs, found = false;
    *ret = NULL;
    if (!uses_lfs(&has_lfs, common_dir, to, err))
        return false;
    if (!has_lfs)
        return true;
    if (!treediff_get(&diff, common_dir, from, to, err))
        return false;
    AUTO_FREE int64_t *sizes = xcalloc(diff.n + 1, sizeof(*sizes));
    if (!find_sizes(sizes, &diff, common_dir, err))
        return false;
    for (size_t i = 0; i < diff.n && !found; i++) {
        if (sizes[i] < 0 || sizes[i] > POINTER_BYTES)
            continue;
        if (!is_pointer(&found, common_dir, diff.v[i].new_oid, err))
            return false;
        if (found)
            *ret = xstrdup(diff.v[i].path);
    }
    return true;
}
