#include "worktree/patchid.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"

enum { PATCHES_MAX_BYTES = 256 * 1024 * 1024 };

/* What git prints; "" when it fails, takes too long or prints too much. */
static bool run(struct buf *out, const struct patchid_ask *ask, const struct buf *input,
                const char *const *args, struct err *err)
{
    struct gitrun g = {
        .git_dir = ask->common_dir,
        .bare = true,
        .env = ask->env,
        .timeout_ms = ask->timeout_ms,
        .max_output_bytes = PATCHES_MAX_BYTES,
        .input = input ? input->ptr : NULL,
        .input_len = input ? input->len : 0,
    };
    return gitrun_told(out, &g, args, err);
}

/* Those that git takes for equal, one a line. */
static bool list_candidates(struct buf *out, const struct patchid_ask *ask, const char *side,
                            struct err *err)
{
    AUTO_BUF struct buf marked = BUF_INIT;
    AUTO_STRV struct strv args = STRV_INIT;
    const char *const *words = GIT_ARGS("rev-list", "--no-merges", "--cherry-mark", side);
    for (; *words; words++)
        strv_push(&args, *words);
    strv_push_all(&args, strv_array(ask->range));
    if (!run(&marked, ask, NULL, (const char *const *)args.v, err))
        return false;
    for (const char *line = marked.ptr; marked.len > 0 && *line;) {
        size_t len = strcspn(line, "\n");
        if (*line == '=')
            buf_addf(out, "%.*s\n", (int)len - 1, line + 1);
        line += len + (line[len] == '\n');
    }
    return true;
}

/* "PATCH COMMIT" for each of them. */
static bool list_patches(struct strv *ret, const struct patchid_ask *ask, const char *side,
                         struct err *err)
{
    AUTO_BUF struct buf candidates = BUF_INIT, patches = BUF_INIT, ids = BUF_INIT;
    if (!list_candidates(&candidates, ask, side, err))
        return false;
    if (candidates.len == 0)
        return true;
    if (!run(&patches, ask, &candidates,
             GIT_ARGS("diff-tree", "--stdin", "--root", "-p", "--full-index", "--no-renames",
                      "--no-ext-diff", "--no-textconv"),
             err) ||
        !run(&ids, ask, &patches, GIT_ARGS("patch-id", "--verbatim"), err))
        return false;
    if (ids.len > 0)
        strv_split(ret, ids.ptr, '\n', false);
    return true;
}

static bool has_patch(const struct strv *lines, const char *line)
{
    size_t len = strcspn(line, " ");
    for (size_t i = 0; i < lines->n; i++)
        if (strncmp(lines->v[i], line, len + 1) == 0)
            return true;
    return false;
}

bool patchid_equals(struct strv *ret_oids, const struct patchid_ask *ask, struct err *err)
{
    AUTO_STRV struct strv left = STRV_INIT, right = STRV_INIT;
    if (!list_patches(&right, ask, "--right-only", err) ||
        (right.n > 0 && !list_patches(&left, ask, "--left-only", err)))
        return false;
    for (size_t i = 0; i < right.n; i++) {
        const char *oid = strchr(right.v[i], ' ');
        if (oid && has_patch(&left, right.v[i]))
            strv_push(ret_oids, oid + 1);
    }
    return true;
}
