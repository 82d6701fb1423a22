#include "worktree/meanwhile.h"

#include <dirent.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitrun.h"

void meanwhile_release(struct meanwhile *m)
{
    strv_release(&m->packs);
}

/* What cannot be listed has no packs to lose. */
static void list_packs(struct strv *packs, const char *common_dir)
{
    static const char suffix[] = ".pack";
    AUTO_FREE char *folder = fs_join(common_dir, "objects/pack");
    AUTO_DIR DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        size_t len = strlen(e->d_name);
        if (len >= strlen(suffix) && strcmp(e->d_name + len - strlen(suffix), suffix) == 0)
            strv_push(packs, e->d_name);
    }
}

void meanwhile_begin(struct meanwhile *m, const char *common_dir)
{
    strv_release(&m->packs);
    list_packs(&m->packs, common_dir);
}

static bool lost_a_pack(const struct meanwhile *m, const char *common_dir)
{
    AUTO_STRV struct strv now = STRV_INIT;
    list_packs(&now, common_dir);
    for (size_t i = 0; i < m->packs.n; i++)
        if (!strv_has(&now, m->packs.v[i]))
            return true;
    return false;
}

bool meanwhile_is_different(const struct meanwhile *m, const char *common_dir,
                            const struct ref_list *refs, const char *but)
{
    AUTO_REF_LIST struct ref_list now = REF_LIST_INIT;
    struct err ignored = ERR_INIT;
    const char *const *patterns = GIT_ARGS("refs/heads", "refs/remotes", "refs/tags");
    if (lost_a_pack(m, common_dir))
        return true;
    if (!refs_list(&now, common_dir, patterns, &ignored))
        return false;
    for (size_t i = 0; i < refs->n; i++) {
        const struct ref *ref = &refs->v[i];
        bool is_listed = strncmp(ref->name, REFS_OWN, strlen(REFS_OWN)) != 0;
        if (is_listed && strcmp(ref->name, but) != 0 &&
            strcmp(refs_oid(&now, ref->name), ref->oid) != 0)
            return true;
    }
    return false;
}
