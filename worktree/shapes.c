#include "worktree/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

/* A few files at the top are no move of everything. */
enum { TOP_MIN = 2 };

void shape_release(struct shape *s)
{
    strv_release(&s->left);
    strv_release(&s->above);
}

static bool is_absent(const char *oid)
{
    return !oid || strspn(oid, "0") == strlen(oid);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(struct strv *s)
{
    size_t kept = 0;
    if (s->n > 1)
        qsort(s->v, s->n, sizeof(*s->v), compare_names);
    for (size_t i = 0; i < s->n; i++) {
        if (kept > 0 && strcmp(s->v[kept - 1], s->v[i]) == 0)
            free(s->v[i]);
        else
            s->v[kept++] = s->v[i];
    }
    if (kept < s->n)
        s->v[kept] = NULL;
    s->n = kept;
}

/* The folder of a path, "" at the top. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");
}

static void add_above(struct strv *out, const char *path)
{
    strv_push(out, "");
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        AUTO_FREE char *folder = xstrndup(path, (size_t)(slash - path));
        strv_push(out, folder);
    }
}

/* Names of `from` that are not in `without`; both sorted. */
static void subtract(struct strv *ret, const struct strv *from, const struct strv *without)
{
    size_t k = 0;
    for (size_t i = 0; i < from->n; i++) {
        while (k < without->n && strcmp(without->v[k], from->v[i]) < 0)
            k++;
        if (k == without->n || strcmp(without->v[k], from->v[i]) != 0)
            strv_push(ret, from->v[i]);
    }
}

void shape_of(struct shape *ret, const struct hunk_set *set)
{
    AUTO_STRV struct strv taken = STRV_INIT, kept = STRV_INIT;
    struct shape s = SHAPE_INIT;
    size_t n_added = 0, n_at_top = 0;
    for (size_t i = 0; i < set->n; i++) {
        const struct hunk_file *file = &set->v[i];
        AUTO_FREE char *folder = folder_of(file->path);
        bool is_gone = is_absent(file->new_oid), is_new = is_absent(file->old_oid);
        strv_push(is_gone ? &taken : &kept, folder);
        n_at_top += is_gone && !*folder;
        n_added += is_new && !is_gone;
        if (is_new && !is_gone)
            add_above(&s.above, file->path);
    }
    s.may_rename = n_added > 0 && taken.n > 0;
    if (n_at_top < TOP_MIN)
        strv_push(&kept, "");
    sort_unique(&taken);
    sort_unique(&kept);
    sort_unique(&s.above);
    if (s.may_rename)
        subtract(&s.left, &taken, &kept);
    *ret = s;
}

static bool have_common(const struct strv *a, const struct strv *b)
{
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        int order = strcmp(a->v[i], b->v[k]);
        if (order == 0)
            return true;
        i += order < 0;
        k += order > 0;
    }
    return false;
}

/* A file of one where the other adds a folder. */
static bool is_in_the_way(const struct hunk_set *files, const struct strv *folders)
{
    for (size_t i = 0, k = 0; i < files->n && k < folders->n;) {
        int order = strcmp(files->v[i].path, folders->v[k]);
        if (order == 0 && !is_absent(files->v[i].new_oid))
            return true;
        i += order <= 0;
        k += order > 0;
    }
    return false;
}

bool shapes_meet(const struct shape *a, const struct hunk_set *a_set, const struct shape *b,
                 const struct hunk_set *b_set)
{
    return have_common(&a->left, &b->above) || have_common(&b->left, &a->above) ||
           is_in_the_way(a_set, &b->above) || is_in_the_way(b_set, &a->above);
}
