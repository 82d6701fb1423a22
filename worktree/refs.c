#include "worktree/refs.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"

void refs_release(struct ref_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->v[i].name);
        free(list->v[i].oid);
        free(list->v[i].symref);
    }
    free(list->v);
    *list = (struct ref_list)REF_LIST_INIT;
}

void refs_add(struct ref_list *list, const char *name, const char *oid, const char *symref)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 64;
        list->v = xreallocarray(list->v, list->cap, sizeof(*list->v));
    }
    list->v[list->n++] = (struct ref){
        .name = xstrdup(name),
        .oid = xstrdup(oid),
        .symref = symref && *symref ? xstrdup(symref) : NULL,
    };
}

/* "OID NAME [SYMREF]" */
static void add_line(struct ref_list *list, char *line)
{
    char *name = strchr(line, ' ');
    if (!name)
        return;
    *name++ = '\0';
    char *symref = strchr(name, ' ');
    if (symref)
        *symref++ = '\0';
    refs_add(list, name, line, symref);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct ref *)a)->name, ((const struct ref *)b)->name);
}

void refs_sort(struct ref_list *list)
{
    if (list->n > 0)
        qsort(list->v, list->n, sizeof(*list->v), compare);
}

bool refs_list(struct ref_list *ret, const char *common_dir, const char *const *patterns,
               struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_STRV struct strv args = STRV_INIT;
    strv_push(&args, "for-each-ref");
    strv_push(&args, "--format=%(objectname) %(refname) %(symref)");
    for (; *patterns; patterns++)
        strv_push(&args, *patterns);
    struct gitrun g = {.git_dir = common_dir};
    if (!gitrun_out(&out, &g, (const char *const *)args.v, err))
        return false;
    struct ref_list list = REF_LIST_INIT;
    char *rest = out.ptr;
    for (char *line; (line = strsep(&rest, "\n"));)
        add_line(&list, line);
    refs_sort(&list);
    *ret = list;
    return true;
}

const struct ref *refs_find(const struct ref_list *list, const char *name)
{
    struct ref key = {.name = (char *)(uintptr_t)name};
    return list->n ? bsearch(&key, list->v, list->n, sizeof(*list->v), compare) : NULL;
}

const char *refs_oid(const struct ref_list *list, const char *name)
{
    const struct ref *ref = refs_find(list, name);
    return ref ? ref->oid : "";
}

static bool is_valid_part(const char *part, size_t len)
{
    static const char suffix[] = ".lock";
    size_t suffix_len = strlen(suffix);
    if (len == 0 || part[0] == '.' || part[len - 1] == '.')
        return false;
    return len < suffix_len || strncmp(part + len - suffix_len, suffix, suffix_len) != 0;
}

bool refs_is_valid_name(const char *name)
{
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("~^:?*[\\", *p) ||
            strncmp(p, "..", 2) == 0 || strncmp(p, "@{", 2) == 0)
            return false;
    for (const char *p = name;;) {
        size_t len = strcspn(p, "/");
        if (!is_valid_part(p, len))
            return false;
        if (!p[len])
            return strcmp(name, "@") != 0 && name[0] != '-';
        p += len + 1;
    }
}

const char *refs_attempt_part(const char *branch)
{
    size_t len = strlen(BRANCH_PREFIX);
    return strncmp(branch, BRANCH_PREFIX, len) == 0 && branch[len] ? branch + len : NULL;
}

bool refs_list_attempt(struct ref_list *ret, const char *common_dir, const char *branch,
                       struct err *err)
{
    const char *part = refs_attempt_part(branch);
    if (!part)
        return err_set(err, ERR_USAGE, "%s is not the branch of an attempt", branch);
    AUTO_FREE char *public = xasprintf("refs/heads/%s", branch);
    AUTO_FREE char *own = xasprintf(REFS_OWN "%s/", part);
    AUTO_FREE char *keep = xasprintf(REFS_KEEP "%s/", part);
    AUTO_FREE char *base = xasprintf(REFS_BASE "%s", part);
    return refs_list(ret, common_dir, GIT_ARGS(public, own, keep, base), err);
}

void refs_where(struct buf *ret_oid, const struct gitrun *in, const char *name)
{
    struct err ignored = ERR_INIT;
    buf_clear(ret_oid);
    if (!gitrun_line(ret_oid, in, GIT_ARGS("rev-parse", "-q", "--verify", name), &ignored))
        buf_clear(ret_oid);
}

static void add_field(struct buf *tx, const char *text)
{
    buf_add(tx, text, strlen(text) + 1);
}

void refs_tx_set(struct buf *tx, const char *name, const char *oid, const char *old)
{
    if (old && !*old) {
        buf_addf(tx, "create %s", name);
        buf_addch(tx, '\0');
        add_field(tx, oid);
        return;
    }
    buf_addf(tx, "update %s", name);
    buf_addch(tx, '\0');
    add_field(tx, oid);
    add_field(tx, old ? old : "");
}

void refs_tx_delete(struct buf *tx, const char *name, const char *old)
{
    buf_addf(tx, "delete %s", name);
    buf_addch(tx, '\0');
    add_field(tx, old ? old : "");
}

bool refs_tx_run(const struct buf *tx, const char *common_dir, const char *reason, struct err *err)
{
    if (tx->len == 0)
        return true;
    AUTO_BUF struct buf ignored = BUF_INIT;
    struct gitrun g = {.git_dir = common_dir, .input = tx->ptr, .input_len = tx->len};
    return gitrun_out(&ignored, &g,
                      GIT_ARGS("update-ref", "-m", reason, "--no-deref", "--stdin", "-z"), err);
}
