#include "worktree/places.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/repo.h"

void places_release(struct places *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->v[i].path);
        free(p->v[i].git_dir);
        free(p->v[i].head);
    }
    free(p->v);
    *p = (struct places)PLACES_INIT;
}

/* Of a git folder that lies elsewhere (git init --separate-git-dir), git lists the folder itself.
 */
static const char *main_folder(const struct wt_repo *repo, const char *listed)
{
    bool is_main = repo->toplevel && strcmp(repo->git_dir, repo->common_dir) == 0;
    return is_main && strcmp(listed, repo->common_dir) == 0 ? repo->toplevel : listed;
}

/* The folder of a linked worktree as its git folder names it; newer gits may do so relative to it.
 */
static char *folder_named_by(const char *git_dir)
{
    static const char own[] = "/.git";
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *pointer = fs_join(git_dir, "gitdir");
    struct err ignored = ERR_INIT;
    if (!fs_read_file(&text, AT_FDCWD, pointer, LIMIT_PATH_BYTES, &ignored))
        return NULL;
    buf_rtrim(&text);
    if (text.len > strlen(own) && strcmp(text.ptr + text.len - strlen(own), own) == 0)
        text.ptr[text.len - strlen(own)] = '\0';
    if (text.ptr[0] == '/')
        return xstrdup(text.ptr);
    AUTO_FREE char *from = fs_join(git_dir, text.ptr);
    return fs_realpath(from, &ignored);
}

static bool find_linked(struct place *p, const char *common_dir, struct err *err)
{
    AUTO_FREE char *parent = fs_join(common_dir, "worktrees");
    AUTO_DIR DIR *entries = opendir(parent);
    for (const struct dirent *e; entries && (e = readdir(entries));) {
        AUTO_FREE char *git_dir = fs_join(parent, e->d_name);
        AUTO_FREE char *folder = e->d_name[0] == '.' ? NULL : folder_named_by(git_dir);
        if (!folder || strcmp(folder, p->path) != 0)
            continue;
        p->git_dir = steal_ptr(&git_dir);
        p->head = xasprintf("worktrees/%s/HEAD", e->d_name);
        return true;
    }
    AUTO_FREE char *shown = text_clean(p->path);
    return err_set(err, ERR_FAILED,
                   "the git folder of the checkout at %s cannot be found, nothing was changed; "
                   "git worktree repair there may help",
                   shown);
}

static bool add(struct places *list, const struct wt_repo *repo, const char *path, bool is_main,
                struct err *err)
{
    list->v = xreallocarray(list->v, list->n + 1, sizeof(*list->v));
    struct place *p = &list->v[list->n++];
    *p = (struct place){.path = xstrdup(is_main ? main_folder(repo, path) : path)};
    p->is_there = fs_is_dir(p->path);
    if (!is_main)
        return find_linked(p, repo->common_dir, err);
    p->git_dir = xstrdup(repo->common_dir);
    p->head = xstrdup("main-worktree/HEAD");
    return true;
}

bool places_of(struct places *ret, const struct wt_repo *repo, const char *full_ref,
               struct err *err)
{
    static const char path_key[] = "worktree ", branch_key[] = "branch ";
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_PLACES struct places list = PLACES_INIT;
    const char *path = NULL;
    size_t n_seen = 0;
    if (!repo_list_worktrees(&out, repo->common_dir, err))
        return false;
    for (const char *p = out.ptr; p < out.ptr + out.len; p += strlen(p) + 1) {
        if (strncmp(p, path_key, strlen(path_key)) == 0) {
            path = p + strlen(path_key);
            n_seen++;
        }
        if (path && strncmp(p, branch_key, strlen(branch_key)) == 0 &&
            strcmp(p + strlen(branch_key), full_ref) == 0 &&
            !add(&list, repo, path, n_seen == 1, err))
            return false;
    }
    *ret = list;
    list = (struct places)PLACES_INIT;
    return true;
}

bool places_are_same(const struct places *a, const struct places *b)
{
    bool is_same = a->n == b->n;
    for (size_t i = 0; is_same && i < a->n; i++)
        is_same = strcmp(a->v[i].head, b->v[i].head) == 0;
    return is_same;
}

const char *places_doing(const struct place *p)
{
    static const struct {
        const char *file, *doing;
    } traces[] = {
        {"MERGE_HEAD", "merge"},
        {"CHERRY_PICK_HEAD", "cherry-pick"},
        {"REVERT_HEAD", "revert"},
        {"rebase-apply/applying", "am"},
    };
    for (size_t i = 0; i < ARRAY_LEN(traces); i++) {
        AUTO_FREE char *path = fs_join(p->git_dir, traces[i].file);
        if (fs_exists(path))
            return traces[i].doing;
    }
    return NULL;
}
