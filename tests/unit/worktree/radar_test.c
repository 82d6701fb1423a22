/*
 * Conflicts between branches: the same answers as git gives pair by pair, in a fraction of its
 * time.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "worktree/hunks.h"
#include "worktree/radar.h"

enum { BRANCHES = 32, BOUND_MS = 1000 };

struct branches {
    char *oids[BRANCHES];
    char *base;
    struct radar_tip tips[BRANCHES];
    size_t n;
};

static void read_branches(struct fixture *f, struct branches *b, size_t n)
{
    b->n = n;
    b->base = sh(f, f->repo, "git rev-parse base");
    for (size_t i = 0; i < n; i++) {
        b->oids[i] = sh(f, f->repo, "git rev-parse b%zu", i);
        b->tips[i] = (struct radar_tip){.oid = b->oids[i], .base = b->base};
    }
}

static void release(struct branches *b)
{
    for (size_t i = 0; i < b->n; i++)
        free(b->oids[i]);
    free(b->base);
}

static bool scan(const struct fixture *f, struct radar *r, const struct branches *b,
                 struct err *err)
{
    AUTO_FREE char *common = fs_join(f->repo, ".git");
    return radar_scan(r, common, b->tips, b->n, err);
}

static const struct radar_trial *find(const struct radar *r, size_t a, size_t b)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].a == a && r->v[i].b == b)
            return &r->v[i];
    return NULL;
}

static void compare_with_git(struct fixture *f, const struct branches *b, const struct radar *r)
{
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = i; k < b->n; k++) {
            AUTO_FREE char *other = k == i ? xstrdup("main") : xasprintf("b%zu", k);
            const struct radar_trial *t = find(r, i, k == i ? RADAR_TARGET : k);
            bool clashes = sh_status(f, f->repo, "git merge-tree --write-tree %s b%zu >/dev/null",
                                     other, i) == 1;
            if (clashes != (t && t->n > 0))
                fail_msg("b%zu and %s: git says %s", i, other, clashes ? "conflict" : "clean");
        }
}

/* Every branch edits a file of sixty lines at random: replaced, inserted, removed lines, often near
 * those of others, and often the very same. */
static void agrees_with_git(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct branches b = {.n = 0};
    AUTO_RADAR struct radar r = RADAR_INIT;
    in_repo(
        f,
        "seq 60 >lines && seq 9 >moved && seq 9 >gone && git add . && git commit -qm base && git "
        "tag base && "
        "edit() { awk -v seed=$1 'BEGIN { srand(seed); for (i = 0; i < 3; i++) at[int(rand() * 60) "
        "+ 1] = "
        "int(rand() * 3) } { if (!(NR in at)) print; else if (at[NR] == 0) print \"x\" NR %% 2; "
        "else if (at[NR] == 1) { print; print \"new\" seed %% 2 } }' lines >l && mv l lines; } && "
        "for i in $(seq 0 9); do git checkout -q -b b$i base && edit $i && git commit -qam $i; "
        "done && "
        "git checkout -q -b b10 base && git mv moved there && git commit -qm mv && "
        "git checkout -q -b b11 base && echo m >>moved && git rm -q gone && git commit -qam edit "
        "&& "
        "git checkout -q -b b12 base && echo g >>gone && git commit -qam gone && "
        "git checkout -q -b b13 base && echo a >added && printf 'b\\000' >bin && git add . && git "
        "commit -qm a && "
        "git checkout -q -b b14 base && echo b >added && chmod +x lines && git add . && git commit "
        "-qm b && "
        "git checkout -q -b b15 base && edit 3 && git commit -qam same && "
        "git checkout -q main && edit 99 && git commit -qam main");
    read_branches(f, &b, 16);
    assert_ok(scan(f, &r, &b, &err), &err);
    compare_with_git(f, &b, &r);
    assert_int_equal(r.n_open, 0);
    const struct radar_trial *add = find(&r, 13, 14);
    assert_non_null(add);
    assert_string_equal(add->v[0].path, "added");
    assert_null(find(&r, 3, 12)); /* nothing in common */
    release(&b);
}

/* Folders that are moved, emptied, made of a file; files that two move, or one moves and the other
 * removes. No two of these have to change a file in common. */
static void agrees_with_git_on_folders(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct branches b = {.n = 0};
    AUTO_RADAR struct radar r = RADAR_INIT;
    in_repo(
        f, "mkdir -p lib/deep && for i in a b c d; do seq 20 >lib/$i; echo $i >>lib/$i; done && "
           "seq 30 >lib/deep/x && seq 40 >one && seq 7 >top && git add . && git commit -qm base && "
           "git tag base && n=0 && "
           "branch() { git checkout -q -b b$n base && eval \"$1\" && git add -A && git commit -qm "
           "$n && n=$((n + 1)); } && "
           "branch 'git mv lib moved' && branch 'echo n >lib/new' && branch 'git mv lib other' && "
           "branch 'git rm -rq lib' && branch 'git mv lib/a lib/z' && "
           "branch 'git mv one two' && branch 'git rm -q one' && branch 'git mv one three' && "
           "branch 'echo f >box' && branch 'mkdir box && echo f >box/in' && "
           "branch 'mkdir -p lib/deep/er && echo n >lib/deep/er/n' && branch 'git mv lib/deep far' "
           "&& branch 'git rm -q one && echo unlike >four' && branch 'seq 99 >lib/deep/x' && "
           "git checkout -q main && echo m >lib/main && git add . && git commit -qm main");
    read_branches(f, &b, 14);
    assert_ok(scan(f, &r, &b, &err), &err);
    compare_with_git(f, &b, &r);
    assert_int_equal(r.n_open, 0);
    assert_true(find(&r, 0, 1)->n > 0); /* a folder moved, and a file more in it */
    assert_true(find(&r, 5, 7)->n > 0); /* one file moved to two places */
    assert_true(find(&r, 8, 9)->n > 0); /* a file and a folder of one name */
    assert_null(find(&r, 1, 8));
    release(&b);
}

/* Every place, and also where the two began at different commits: then by git's own markers. */
static void names_every_place(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct branches b = {.n = 0};
    AUTO_RADAR struct radar r = RADAR_INIT;
    in_repo(f, "seq 90 >lines && git add . && git commit -qm base && git tag base && "
               "git checkout -q -b b0 && sed -i '10s/.*/b0/; 40s/.*/b0/; 70s/.*/b0/' lines && "
               "git commit -qam b0 && git checkout -q -b b1 base && "
               "sed -i '10s/.*/b1/; 40s/.*/b1/; 80s/.*/b1/' lines && git commit -qam b1 && "
               "git checkout -q main && seq 5 | sed s/^/top/ | cat - lines >l && mv l lines && "
               "git commit -qam main && git checkout -q -b b2 && sed -i '45s/.*/b2/; 75s/.*/b2/' "
               "lines && git commit -qam b2 && git checkout -q main");
    read_branches(f, &b, 3);
    AUTO_FREE char *later = sh(f, f->repo, "git rev-parse main");
    b.tips[2].base = later;
    assert_ok(scan(f, &r, &b, &err), &err);
    static const struct {
        size_t a, b, n;
        long lines[2];
    } cases[] = {{0, 1, 2, {10, 40}}, {0, 2, 2, {45, 75}}, {1, 2, 1, {45, 0}}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct radar_trial *t = find(&r, cases[i].a, cases[i].b);
        assert_non_null(t);
        assert_int_equal(t->n, cases[i].n);
        for (size_t k = 0; k < t->n; k++) {
            assert_string_equal(t->v[k].path, "lines");
            assert_int_equal(t->v[k].line, cases[i].lines[k]);
        }
    }
    release(&b);
}

static void names_the_line(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct branches b = {.n = 0};
    AUTO_RADAR struct radar r = RADAR_INIT;
    in_repo(f, "seq 60 >'a \\\"b' && git add . && git commit -qm base && git tag base && "
               "for i in 0 1; do git checkout -q -b b$i base && sed -i \"40s/.*/$i/\" 'a \\\"b' && "
               "git commit -qam $i; done && git checkout -q main");
    read_branches(f, &b, 2);
    assert_ok(scan(f, &r, &b, &err), &err);
    const struct radar_trial *t = find(&r, 0, 1);
    assert_non_null(t);
    assert_int_equal(t->n, 1);
    assert_string_equal(t->v[0].path, "a \\\"b");
    assert_int_equal(t->v[0].line, 40);
    assert_int_equal(r.n_merged, 0);
    assert_int_equal(find(&r, 0, RADAR_TARGET)->n, 0);
    release(&b);
}

/* A target that moved on, one that is a branch of its own, and one that is gone. */
static void follows_each_target(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct branches b = {.n = 0};
    AUTO_RADAR struct radar r = RADAR_INIT;
    in_repo(
        f,
        "seq 60 >lines && git add . && git commit -qm base && git tag base && "
        "git checkout -q -b b0 && sed -i '9s/.*/b/' lines && git commit -qam b && git branch b1 && "
        "git branch b2 && git checkout -q -b release base && sed -i '9s/.*/r/' lines && "
        "git commit -qam r && git checkout -q main && sed -i '50s/.*/m/' lines && git commit -qam "
        "m");
    read_branches(f, &b, 3);
    b.tips[1].into = "release";
    b.tips[2].into = "nowhere";
    assert_ok(scan(f, &r, &b, &err), &err);
    assert_int_equal(find(&r, 0, RADAR_TARGET)->n, 0);
    assert_int_equal(find(&r, 1, RADAR_TARGET)->n, 1);
    assert_null(find(&r, 2, RADAR_TARGET));
    assert_int_equal(find(&r, 0, 1)->n, 0); /* the very same change */
    release(&b);
}

/* The worst case: all change the same file, so that every pair must be judged. */
static void thirty_two_take_no_time(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct branches b = {.n = 0};
    AUTO_RADAR struct radar r = RADAR_INIT;
    in_repo(f, "seq 2000 >lines && git add . && git commit -qm base && git tag base && "
               "for i in $(seq 0 31); do git checkout -q -b b$i base && "
               "sed -i \"$((i * 20 + 5))s/.*/x/; 1000s/.*/$((i / 2))/\" lines && git commit -qam "
               "$i; done && "
               "git checkout -q main");
    read_branches(f, &b, BRANCHES);
    int64_t start_ms = clock_mono_ms();
    assert_ok(scan(f, &r, &b, &err), &err);
    int64_t took_ms = clock_mono_ms() - start_ms;
    size_t n_clashes = 0;
    for (size_t i = 0; i < r.n; i++)
        n_clashes += r.v[i].n > 0;
    assert_int_equal(r.n, 32 + 31 * 16);
    assert_int_equal(n_clashes, 31 * 16 - 16);
    assert_int_equal(r.n_merged, 0);
    print_message("             %lld ms\n", (long long)took_ms);
    if (took_ms > BOUND_MS)
        fail_msg("32 branches took %lld ms", (long long)took_ms);
    assert_text(sh(f, f->repo, "ls .git/objects | grep -c tmp_ || true"), "0");
    release(&b);
}

static void odd_output_is_refused(void **state)
{
    (void)state;
    static const char to[] = "0123456789012345678901234567890123456789";
    const struct hunk_pair pair = {to, to};
    static const char *const bad[] = {"diff --git a\n", "diff --git a/x b/x\n@@ x @@\n",
                                      "diff --git a/x b/x\n@@ -5,-7 +1 @@\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct hunk_set set = {.v = NULL};
        struct err err = ERR_INIT;
        AUTO_FREE char *text = xasprintf("%s\n%s", to, bad[i]);
        assert_false(hunks_parse(&set, &pair, 1, text, strlen(text), &err));
        hunk_set_release(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(agrees_with_git),
        TEST(agrees_with_git_on_folders),
        TEST(names_every_place),
        TEST(names_the_line),
        TEST(follows_each_target),
        TEST(thirty_two_take_no_time),
        cmocka_unit_test(odd_output_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
