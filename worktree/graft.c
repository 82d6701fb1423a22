#include "worktree/graft.h"

#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/patchid.h"

static struct gitrun git_of(const struct graft *g)
{
    return (struct gitrun){.git_dir = g->common_dir, .bare = true, .env = g->env};
}

static bool take_oid(char ret[65], const char *text, struct err *err)
{
    if (!gitrun_is_oid(text))
        return err_set(err, ERR_FAILED, "git answered with something else than an object's name");
    memcpy(ret, text, strlen(text) + 1);
    return true;
}

static bool ask_oid(char ret[65], const struct gitrun *run, const char *const *args,
                    struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT;
    return gitrun_line(&line, run, args, err) && take_oid(ret, line.ptr, err);
}

bool graft_tree_of(char ret_tree[65], const struct graft *g, const char *commit, struct err *err)
{
    struct gitrun run = git_of(g);
    AUTO_FREE char *spec = xasprintf("%s^{tree}", commit);
    return ask_oid(ret_tree, &run, GIT_ARGS("rev-parse", "--verify", spec), err);
}

bool graft_merge_trees(char ret_tree[65], struct strv *conflicts, const struct graft *g,
                       const char *ours, const char *theirs, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun run = git_of(g);
    const char *const *args =
        GIT_ARGS("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs);
    if (!gitrun(&r, &run, args, err))
        return false;
    if (r.status != 0 && r.status != 1)
        return gitrun_failed(&r, args, err);
    if (r.status == 0)
        return take_oid(ret_tree, r.out.ptr, err);
    const char *end = r.out.ptr + r.out.len;
    if (!take_oid(ret_tree, r.out.ptr, err))
        return false;
    for (const char *p = r.out.ptr + strlen(r.out.ptr) + 1; p < end && *p; p += strlen(p) + 1)
        if (!strv_has(conflicts, p))
            strv_push(conflicts, p);
    return conflicts->n > 0 || err_set(err, ERR_FAILED, "git merge-tree found an unnamed conflict");
}

/* author: NAME=VALUE settings of the author, NULL: the person. */
static bool commit(char ret_oid[65], const struct graft *g, const char *tree,
                   const char *const parents[2], const char *message, const struct strv *author,
                   bool is_signed, struct err *err)
{
    AUTO_STRV struct strv args = STRV_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    strv_push(&args, "commit-tree");
    if (is_signed)
        strv_push(&args, "-S");
    for (size_t i = 0; i < 2 && parents[i]; i++) {
        strv_push(&args, "-p");
        strv_push(&args, parents[i]);
    }
    strv_push(&args, tree);
    strv_push_all(&env, strv_array(g->env));
    if (author)
        strv_push_all(&env, strv_array(author));
    struct gitrun run = git_of(g);
    run.env = &env;
    run.input = message;
    run.input_len = strlen(message);
    return ask_oid(ret_oid, &run, (const char *const *)args.v, err);
}

/* The message with the trailers that were asked for, ended by a newline. */
static bool add_trailers(struct buf *out, const struct graft *g, const char *message,
                         struct err *err)
{
    AUTO_STRV struct strv args = STRV_INIT;
    struct gitrun run = git_of(g);
    size_t len = strlen(message);
    AUTO_FREE char *whole =
        xasprintf("%s%s", message, len > 0 && message[len - 1] == '\n' ? "" : "\n");
    if (!g->trailers) {
        buf_adds(out, whole);
        return true;
    }
    strv_push(&args, "interpret-trailers");
    strv_push(&args, "--if-exists=addIfDifferent");
    for (size_t i = 0; i < g->trailers->n; i++) {
        strv_push(&args, "--trailer");
        strv_push(&args, g->trailers->v[i]);
    }
    run.input = whole;
    run.input_len = strlen(whole);
    return gitrun_out(out, &run, (const char *const *)args.v, err);
}

bool graft_commit(char ret_oid[65], const struct graft *g, const char *tree, const char *parent,
                  const char *parent2, const char *message, const struct strv *author,
                  struct err *err)
{
    const char *const parents[] = {parent, parent2};
    AUTO_BUF struct buf whole = BUF_INIT;
    return add_trailers(&whole, g, message, err) &&
           commit(ret_oid, g, tree, parents, whole.ptr, author, g->is_signed, err);
}

/* Make a commit that only lends its parent to the merge below. */
static bool make_stand_in(char ret_oid[65], const struct graft *g, const char *tree,
                          const char *parent, struct err *err)
{
    AUTO_STRV struct strv author = STRV_INIT;
    static const char *const who[] = {"AUTHOR", "COMMITTER"};
    for (size_t i = 0; i < ARRAY_LEN(who); i++) {
        strv_pushf(&author, "GIT_%s_NAME=Headgate", who[i]);
        strv_pushf(&author, "GIT_%s_EMAIL=headgate@localhost", who[i]);
        strv_pushf(&author, "GIT_%s_DATE=@0 +0000", who[i]);
    }
    const char *const parents[] = {parent, NULL};
    return commit(ret_oid, g, tree, parents, "", &author, false, err);
}

/* One commit to be carried over. */
struct pick {
    char tree[65], parent_tree[65], parent[65];
    char *message;
    struct strv author;
};

static void pick_release(struct pick *p)
{
    auto_free_(&p->message);
    strv_release(&p->author);
}

#define AUTO_PICK __attribute__((cleanup(pick_release)))

static bool read_parent(struct pick *p, const struct graft *g, const char *parents, struct err *err)
{
    size_t len = strcspn(parents, " \n");
    if (len == 0) { /* a root: what it adds is everything it holds */
        struct gitrun run = git_of(g);
        run.input = "";
        return ask_oid(p->parent_tree, &run, GIT_ARGS("mktree"), err);
    }
    AUTO_FREE char *parent = xstrndup(parents, len);
    return take_oid(p->parent, parent, err) && graft_tree_of(p->parent_tree, g, parent, err);
}

static bool read_pick(struct pick *p, const struct graft *g, const char *oid, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct gitrun run = git_of(g);
    const char *const *args = GIT_ARGS("log", "-1", "--date=raw", "--encoding=UTF-8",
                                       "--format=%T%x00%P%x00%an%x00%ae%x00%ad%x00%B", oid);
    if (!gitrun_out(&out, &run, args, err))
        return false;
    const char *fields[6];
    const char *at = out.ptr, *end = out.ptr + out.len;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (at > end)
            return err_set(err, ERR_INTERNAL, "git log answered in an unknown form");
        fields[i] = at;
        at += strlen(at) + 1;
    }
    strv_pushf(&p->author, "GIT_AUTHOR_NAME=%s", fields[2]);
    strv_pushf(&p->author, "GIT_AUTHOR_EMAIL=%s", fields[3]);
    strv_pushf(&p->author, "GIT_AUTHOR_DATE=@%s", fields[4]);
    p->message = xstrdup(fields[5]);
    return take_oid(p->tree, fields[0], err) && read_parent(p, g, fields[1], err);
}

/* git 2.39 has no `merge-tree --merge-base`: three stand-in commits give the same three trees to
 * merge. */
static bool merge_three(char ret_tree[65], struct strv *conflicts, const struct graft *g,
                        const char *base_tree, const char *our_tree, const char *their_tree,
                        struct err *err)
{
    char base[65], ours[65], theirs[65];
    return make_stand_in(base, g, base_tree, NULL, err) &&
           make_stand_in(ours, g, our_tree, base, err) &&
           make_stand_in(theirs, g, their_tree, base, err) &&
           graft_merge_trees(ret_tree, conflicts, g, ours, theirs, err);
}

bool graft_merge_on(char ret_tree[65], struct strv *conflicts, const struct graft *g,
                    const char *base, const char *ours, const char *theirs, struct err *err)
{
    char trees[3][65];
    const char *const commits[] = {base, ours, theirs};
    for (size_t i = 0; i < ARRAY_LEN(commits); i++)
        if (!graft_tree_of(trees[i], g, commits[i], err))
            return false;
    return merge_three(ret_tree, conflicts, g, trees[0], trees[1], trees[2], err);
}

/* What the tip has and the target has not, as arguments of rev-list. */
static void add_range(struct strv *args, const struct graft *g, bool is_symmetric)
{
    strv_pushf(args, "%s%s%s", g->target, is_symmetric ? "..." : "..", g->tip);
    if (g->leave_out)
        strv_pushf(args, "^%s", g->leave_out);
    strv_push(args, "--");
}

/* What the tip would be without its own work: the target and what is left out together. Where these
 * two do not fit, what is left out alone. */
static bool make_ground(char ret_tree[65], const struct graft *g, struct err *err)
{
    AUTO_STRV struct strv conflicts = STRV_INIT;
    return graft_merge_trees(ret_tree, &conflicts, g, g->target, g->leave_out, err) &&
           (conflicts.n == 0 || graft_tree_of(ret_tree, g, g->leave_out, err));
}

bool graft_squash(char ret_tree[65], struct strv *conflicts, const struct graft *g, bool is_ahead,
                  struct err *err)
{
    char ground[65];
    if (!g->leave_out)
        return is_ahead ? graft_tree_of(ret_tree, g, g->tip, err)
                        : graft_merge_trees(ret_tree, conflicts, g, g->target, g->tip, err);
    if (!is_ahead)
        return graft_merge_on(ret_tree, conflicts, g, g->leave_out, g->target, g->tip, err);
    return make_ground(ground, g, err) &&
           graft_merge_on(ret_tree, conflicts, g, ground, g->target, g->tip, err);
}

bool graft_has_merges(bool *ret, const struct graft *g, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_STRV struct strv args = STRV_INIT;
    struct gitrun run = git_of(g);
    const char *const *words = GIT_ARGS("rev-list", "--count", "--merges");
    for (; *words; words++)
        strv_push(&args, *words);
    add_range(&args, g, false);
    if (!gitrun_line(&out, &run, (const char *const *)args.v, err))
        return false;
    *ret = strcmp(out.ptr, "0") != 0;
    return true;
}

bool graft_only_author(struct strv *author, const struct graft *g, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_STRV struct strv args = STRV_INIT, lines = STRV_INIT, fields = STRV_INIT;
    struct gitrun run = git_of(g);
    const char *const *words = GIT_ARGS("log", "--no-merges", "--date=raw", "--encoding=UTF-8",
                                        "--format=%an%x01%ae%x01%ad");
    for (; *words; words++)
        strv_push(&args, *words);
    add_range(&args, g, false);
    if (!gitrun_out(&out, &run, (const char *const *)args.v, err))
        return false;
    strv_split(&lines, out.ptr, '\n', false);
    if (lines.n == 0)
        return true;
    strv_split(&fields, lines.v[0], '\1', true);
    if (fields.n != 3)
        return true;
    size_t len = strlen(fields.v[0]) + strlen(fields.v[1]) + 2;
    for (size_t i = 1; i < lines.n; i++)
        if (strncmp(lines.v[i], lines.v[0], len) != 0)
            return true;
    strv_pushf(author, "GIT_AUTHOR_NAME=%s", fields.v[0]);
    strv_pushf(author, "GIT_AUTHOR_EMAIL=%s", fields.v[1]);
    strv_pushf(author, "GIT_AUTHOR_DATE=@%s", fields.v[2]);
    return true;
}

/* Carry one commit over; onto moves. A commit that has become empty is left out. */
static bool carry_over(char onto[65], struct strv *conflicts, const struct graft *g,
                       const char *oid, struct err *err)
{
    AUTO_PICK struct pick p = {.message = NULL, .author = STRV_INIT};
    char onto_tree[65], tree[65] = "";
    if (!read_pick(&p, g, oid, err))
        return false;
    if (strcmp(p.parent, onto) == 0 && !g->trailers && !g->is_signed)
        return take_oid(onto, oid, err);
    if (!graft_tree_of(onto_tree, g, onto, err) ||
        !merge_three(tree, conflicts, g, p.parent_tree, onto_tree, p.tree, err))
        return false;
    bool was_empty = strcmp(p.tree, p.parent_tree) == 0;
    if (conflicts->n > 0 || (strcmp(tree, onto_tree) == 0 && !was_empty))
        return true;
    char made[65];
    return graft_commit(made, g, tree, onto, NULL, p.message, &p.author, err) &&
           take_oid(onto, made, err);
}

/* A merge commit may change what neither side did, and is not carried over. */
static bool check_merges(const struct graft *g, const char *onto, struct err *err)
{
    AUTO_STRV struct strv ignored = STRV_INIT; /* conflicts: nothing to compare with */
    char whole[65] = "", carried[65];
    bool has_merges = false;
    if (!graft_has_merges(&has_merges, g, err))
        return false;
    if (!has_merges)
        return true;
    if (!graft_tree_of(carried, g, onto, err) || !graft_squash(whole, &ignored, g, false, err))
        return false;
    return ignored.n > 0 || strcmp(whole, carried) == 0 ||
           err_set(err, ERR_REFUSED,
                   "merge commits of the branch hold changes of their own, which a rebase would "
                   "lose; nothing was changed. Merge it with --squash, or as it is");
}

bool graft_rebase(char ret_oid[65], struct strv *conflicts, const struct graft *g, struct err *err)
{
    AUTO_BUF struct buf list = BUF_INIT;
    AUTO_STRV struct strv args = STRV_INIT, range = STRV_INIT, known = STRV_INIT;
    struct gitrun run = git_of(g);
    struct patchid_ask same = {.common_dir = g->common_dir, .env = g->env, .range = &range};
    const char *const *words =
        GIT_ARGS("rev-list", "--reverse", "--topo-order", "--no-merges", "--right-only");
    add_range(&range, g, true);
    if (!patchid_equals(&known, &same, err))
        return false;
    for (; *words; words++)
        strv_push(&args, *words);
    add_range(&args, g, true);
    if (!gitrun_out(&list, &run, (const char *const *)args.v, err))
        return false;
    char onto[65];
    memcpy(onto, g->target, sizeof(onto));
    char *rest = list.ptr;
    for (char *oid; (oid = strsep(&rest, "\n")) && *oid && conflicts->n == 0;)
        if (!strv_has(&known, oid) && !carry_over(onto, conflicts, g, oid, err))
            return false;
    if (conflicts->n == 0 && !check_merges(g, onto, err))
        return false;
    memcpy(ret_oid, onto, sizeof(onto));
    return true;
}
