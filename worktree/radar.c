#include "worktree/radar.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/graft.h"
#include "worktree/hunks.h"
#include "worktree/markers.h"
#include "worktree/quarantine.h"
#include "worktree/refs.h"
#include "worktree/shapes.h"

enum { MERGES_MAX = 64, LINES_MAX = 20 };

/* One look at one repository. sets: of each tip, then of each tip's target. */
struct scan {
    const char *common_dir;
    const struct radar_tip *tips;
    size_t n;
    char (*targets)[65]; /* "" where there is none */
    size_t *same;        /* the first tip with the same base and target */
    bool *is_ahead;      /* the tip's base is below its target: their hunks compare */
    struct hunk_set *sets;
    struct shape *shapes; /* of the sets */
    char *quarantine;     /* made when the first merge is tried */
    struct strv env;
    struct radar result;
};

void radar_release(struct radar *r)
{
    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0; k < r->v[i].n; k++)
            free(r->v[i].v[k].path);
        free(r->v[i].v);
    }
    free(r->v);
    *r = (struct radar)RADAR_INIT;
}

static void scan_release(struct scan *s)
{
    struct err ignored = ERR_INIT; /* what stays has a name that git's own prune clears away */
    if (s->quarantine)
        (void)!fs_remove_tree(AT_FDCWD, s->quarantine, &ignored);
    for (size_t i = 0; s->sets && i < 2 * s->n; i++)
        hunk_set_release(&s->sets[i]);
    for (size_t i = 0; s->shapes && i < 2 * s->n; i++)
        shape_release(&s->shapes[i]);
    free(s->shapes);
    free(s->sets);
    free(s->targets);
    free(s->is_ahead);
    free(s->same);
    free(s->quarantine);
    strv_release(&s->env);
    radar_release(&s->result);
}

#define AUTO_SCAN __attribute__((cleanup(scan_release)))

/* ---- targets ---- */

static bool find_targets(struct scan *s, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = s->common_dir};
    if (!gitrun(&r, &g, GIT_ARGS("rev-parse", "-q", "--verify", "HEAD^{commit}"), err) ||
        !refs_list(&refs, s->common_dir, GIT_ARGS("refs/heads"), err))
        return false;
    buf_rtrim(&r.out);
    for (size_t i = 0; i < s->n; i++) {
        AUTO_FREE char *full = xasprintf("refs/heads/%s", s->tips[i].into ? s->tips[i].into : "");
        const char *oid = s->tips[i].into ? refs_oid(&refs, full) : r.status == 0 ? r.out.ptr : "";
        if (*oid && gitrun_is_oid(oid))
            memcpy(s->targets[i], oid, strlen(oid) + 1);
    }
    return true;
}

/* Whether the target has everything that the tip started from. */
static bool is_below(bool *ret, const struct scan *s, size_t i, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = s->common_dir};
    if (!gitrun(&r, &g, GIT_ARGS("merge-base", "--is-ancestor", s->tips[i].base, s->targets[i]),
                err))
        return false;
    *ret = r.status == 0;
    return true;
}

/* Asked once for each base and target. */
static bool compare_with_targets(struct scan *s, struct err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        size_t first = 0;
        while (strcmp(s->tips[first].base, s->tips[i].base) != 0 ||
               strcmp(s->targets[first], s->targets[i]) != 0)
            first++;
        s->same[i] = first;
        if (first < i)
            s->is_ahead[i] = s->is_ahead[first];
        else if (*s->targets[i] && !is_below(&s->is_ahead[i], s, i, err))
            return false;
    }
    return true;
}

static bool read_hunks(struct scan *s, struct err *err)
{
    AUTO_FREE struct hunk_pair *pairs = xcalloc(2 * s->n, sizeof(*pairs));
    for (size_t i = 0; i < s->n; i++) {
        const char *base = s->tips[i].base;
        bool has_target = s->same[i] == i && s->is_ahead[i];
        pairs[i] = (struct hunk_pair){base, s->tips[i].oid};
        pairs[s->n + i] = (struct hunk_pair){base, has_target ? s->targets[i] : base};
    }
    if (!hunks_get(s->sets, pairs, s->n, s->common_dir, err) ||
        !hunks_get(s->sets + s->n, pairs + s->n, s->n, s->common_dir, err))
        return false;
    for (size_t i = 0; i < 2 * s->n; i++)
        shape_of(&s->shapes[i], &s->sets[i]);
    return true;
}

/* ---- one pair ---- */

enum verdict { CLEAN, CLASHES, UNSURE };

static bool is_absent(const char *oid)
{
    return !oid || strspn(oid, "0") == strlen(oid);
}

static void add_clash(struct radar_trial *t, const char *path, long line)
{
    t->v = xreallocarray(t->v, t->n + 1, sizeof(*t->v));
    t->v[t->n++] = (struct radar_clash){.path = xstrdup(path), .line = line};
}

static void drop_clashes(struct radar_trial *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i].path);
    t->n = 0;
}

/* Every place where lines clash, once; of very many the first. */
static enum verdict compare_lines(struct radar_trial *t, const struct hunk_file *a,
                                  const struct hunk_file *b)
{
    size_t before = t->n;
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++) {
            long line = (a->v[i].start > b->v[k].start ? a->v[i].start : b->v[k].start) + 1;
            bool is_known = t->n > before && t->v[t->n - 1].line == line;
            if (hunks_clash(&a->v[i], &b->v[k]) && !is_known && t->n - before < LINES_MAX)
                add_clash(t, a->path, line);
        }
    return t->n > before ? CLASHES : CLEAN;
}

/* may_rename: what one of the two removed it may have moved, and then the other one's removal or
 * move is a conflict. */
static enum verdict compare_file(struct radar_trial *t, const struct hunk_file *a,
                                 const struct hunk_file *b, bool may_rename)
{
    bool is_gone = is_absent(a->new_oid), is_new = is_absent(a->old_oid) && is_absent(b->old_oid);
    if (!a->old_oid || !b->old_oid || a->has_mode_change || b->has_mode_change)
        return UNSURE;
    if (strcmp(a->new_oid, b->new_oid) == 0)
        return is_gone && may_rename ? UNSURE : CLEAN;
    if (!is_new && (is_gone || is_absent(b->new_oid) || strcmp(a->old_oid, b->old_oid) != 0))
        return UNSURE;
    if (!is_new && !a->is_binary && !b->is_binary)
        return compare_lines(t, a, b);
    add_clash(t, a->path, 0);
    return CLASHES;
}

/* One side of a pair. */
struct side {
    const struct hunk_set *set;
    const struct shape *shape;
};

/* Both lists are sorted: one pass. *ret_common: what both have to do with. */
static enum verdict compare(struct radar_trial *t, const struct side *a, const struct side *b,
                            size_t *ret_common)
{
    bool is_cut = a->set->is_cut || b->set->is_cut;
    bool may_rename = a->shape->may_rename || b->shape->may_rename;
    *ret_common = is_cut || shapes_meet(a->shape, a->set, b->shape, b->set);
    enum verdict verdict = *ret_common ? UNSURE : CLEAN;
    for (size_t i = 0, k = 0; i < a->set->n && k < b->set->n;) {
        const struct hunk_file *x = &a->set->v[i], *y = &b->set->v[k];
        int order = strcmp(x->path, y->path);
        if (order == 0) {
            enum verdict one = compare_file(t, x, y, may_rename);
            ++*ret_common;
            if (one > verdict)
                verdict = one;
        }
        i += order <= 0;
        k += order >= 0;
    }
    return verdict;
}

static bool make_quarantine(struct scan *s, struct err *err)
{
    if (s->quarantine)
        return true;
    AUTO_FREE char *key = xasprintf("radar of %d at %p", (int)getpid(), (void *)s);
    s->quarantine = quarantine_path(s->common_dir, key);
    quarantine_add_env(&s->env, s->quarantine, s->common_dir);
    return fs_mkdirs(s->quarantine, 0755, err);
}

struct finding {
    struct radar_trial *trial;
    const struct strv *paths;
};

static void add_marker(void *arg, size_t path, long line)
{
    struct finding *f = arg;
    if (f->trial->n < LINES_MAX)
        add_clash(f->trial, f->paths->v[path], line);
}

/* The paths that git names, each with the lines that have its markers. */
static void take_conflicts(struct scan *s, struct radar_trial *t, const struct strv *paths,
                           const char *tree)
{
    struct finding f = {t, paths};
    drop_clashes(t);
    markers_each(s->common_dir, &s->env, tree, paths, add_marker, &f);
    for (size_t i = 0; i < paths->n; i++) {
        bool is_there = false;
        for (size_t k = 0; k < t->n; k++)
            is_there |= strcmp(t->v[k].path, paths->v[i]) == 0;
        if (!is_there)
            add_clash(t, paths->v[i], 0);
    }
}

static bool try_merge(struct scan *s, struct radar_trial *t, const char *ours, const char *theirs,
                      struct err *err)
{
    AUTO_STRV struct strv paths = STRV_INIT;
    struct graft g = {.common_dir = s->common_dir, .env = &s->env};
    struct err why = ERR_INIT;
    char tree[65];
    if (s->result.n_merged >= MERGES_MAX) {
        s->result.n_open++;
        t->is_open = true;
        return true;
    }
    s->result.n_merged++;
    if (!make_quarantine(s, err))
        return false;
    if (!graft_merge_trees(tree, &paths, &g, ours, theirs, &why)) {
        s->result.n_open++; /* unrelated histories and the like: nothing is known */
        t->is_open = true;
        return true;
    }
    take_conflicts(s, t, &paths, tree);
    return true;
}

static bool try_pair(struct scan *s, size_t a, size_t b, struct err *err)
{
    struct radar_trial t = {.a = a, .b = b};
    size_t n_common = 0;
    bool is_target = b == RADAR_TARGET;
    size_t other = is_target ? s->n + s->same[a] : b;
    const struct side mine = {&s->sets[a], &s->shapes[a]};
    const struct side others = {&s->sets[other], &s->shapes[other]};
    const char *theirs = is_target ? s->targets[a] : s->tips[b].oid;
    enum verdict verdict = compare(&t, &mine, &others, &n_common);
    if (is_target && !s->is_ahead[a])
        verdict = UNSURE;
    if (n_common == 0 && !is_target)
        return true;
    bool ok = verdict != UNSURE || try_merge(s, &t, theirs, s->tips[a].oid, err);
    s->result.v = xreallocarray(s->result.v, s->result.n + 1, sizeof(*s->result.v));
    s->result.v[s->result.n++] = t;
    return ok;
}

bool radar_scan(struct radar *ret, const char *common_dir, const struct radar_tip *tips, size_t n,
                struct err *err)
{
    AUTO_SCAN struct scan s = {
        .common_dir = common_dir,
        .tips = tips,
        .n = n,
        .targets = xcalloc(n + 1, sizeof(*s.targets)),
        .same = xcalloc(n + 1, sizeof(*s.same)),
        .is_ahead = xcalloc(n + 1, sizeof(*s.is_ahead)),
        .sets = xcalloc(2 * n + 1, sizeof(*s.sets)),
        .shapes = xcalloc(2 * n + 1, sizeof(*s.shapes)),
        .env = STRV_INIT,
        .result = RADAR_INIT,
    };
    if (n > 0 && (!find_targets(&s, err) || !compare_with_targets(&s, err) || !read_hunks(&s, err)))
        return false;
    for (size_t a = 0; a < n; a++) {
        if (*s.targets[a] && !try_pair(&s, a, RADAR_TARGET, err))
            return false;
        for (size_t b = a + 1; b < n; b++)
            if (!try_pair(&s, a, b, err))
                return false;
    }
    *ret = s.result;
    s.result = (struct radar)RADAR_INIT;
    return true;
}
