/*
 * Parts of an attempt's work: any hunk or file, and then the rest, give the whole again.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "worktree/patch.h"

struct work {
    char *base, *tip;
    struct patch patch;
    struct buf text;
};

static void release(struct work *w)
{
    free(w->base);
    free(w->tip);
    patch_release(&w->patch);
    buf_release(&w->text);
}

/* A branch headgate/1/1 with every kind of change; blocks that repeat, so that a hunk could land at
 * a wrong place. */
static void make_work(struct fixture *f, struct work *w)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *common = fs_join(f->repo, ".git");
    *w = (struct work){.text = BUF_INIT};
    in_repo(
        f,
        "for i in $(seq 9); do printf \"begin $i\\n  body\\n  body\\nend\\n\\n\"; done >blocks && "
        "seq 90 >moved && "
        "seq 40 >script && printf 'no newline' >bare && printf 'a\\000b' >bin && seq 5 >gone && "
        "seq 30 >\"$(printf 'od\\td \\303\\274:3')\" && git add . && git commit -qm base && git "
        "checkout -q -b headgate/1/1 && "
        "sed -i '12s/body/other/; 22s/.*/added\\n&/; 38s/body/third/' blocks && git mv moved "
        "'to here' && "
        "sed -i '3s/.*/x/; 80s/.*/y/' 'to here' && sed -i '5s/.*/z/; 35s/.*/w/' script && chmod "
        "+x script && "
        "printf 'still none' >bare && printf 'a\\000c' >bin && git rm -q gone && echo new >new "
        "&& : >empty && "
        "sed -i '9s/.*/o/' od* && git add . && git commit -qm work --author='Agent <a@x>' && "
        "git checkout -q main");
    w->base = sh(f, f->repo, "git rev-parse main");
    w->tip = sh(f, f->repo, "git rev-parse headgate/1/1");
    assert_ok(wt_diff(&w->text, common, w->base, w->tip, WT_DIFF_PATCH, false, NULL, &err), &err);
    assert_ok(patch_parse(&w->patch, w->text.ptr, w->text.len, &err), &err);
}

static bool take(struct fixture *f, const struct work *w, const char *pick, bool except,
                 struct wt_merge *m, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_STRV struct strv picks = STRV_INIT;
    strv_push(&picks, pick);
    const struct wt_take_ask ask = {.branch = "headgate/1/1",
                                    .base = w->base,
                                    .tip = w->tip,
                                    .picks = &picks,
                                    .except = except,
                                    .message = pick};
    assert_ok(wt_repo_open(&repo, f->repo, err), err);
    return wt_take(m, &repo, &ask, err);
}

static void take_or_fail(struct fixture *f, const struct work *w, const char *pick, bool except)
{
    struct err err = ERR_INIT;
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    if (!take(f, w, pick, except, &m, &err))
        fail_msg("%s: %s", pick, err.text);
    if (m.conflicts.n > 0 || m.up_to_date)
        fail_msg("%s: %s", pick, m.up_to_date ? "nothing was taken" : "conflicts");
}

/* First the pick, then all but the pick. */
static void take_both(struct fixture *f, const struct work *w, const char *pick)
{
    take_or_fail(f, w, pick, false);
    AUTO_FREE char *changed = sh(f, f->repo, "git diff --name-only --no-renames %s main", w->base);
    assert_int_not_equal(strlen(changed), 0);
    assert_text(sh(f, f->repo, "git status --porcelain; git log -1 --format=%%an/%%cn"),
                "Agent/Person");
    take_or_fail(f, w, pick, true);
    assert_text(sh(f, f->repo, "git diff --stat %s main", w->tip), "");
    in_repo(f, "git reset -q --hard %s", w->base);
}

static void every_part_and_the_rest_are_the_whole(void **state)
{
    struct fixture *f = *state;
    struct work w;
    size_t n = 0;
    make_work(f, &w);
    assert_int_equal(w.patch.n, 9);
    for (size_t i = 0; i < w.patch.n; i++) {
        const struct patch_file *file = &w.patch.v[i];
        take_both(f, &w, file->path);
        for (size_t k = 1; k <= file->n && file->n > 1; k++, n++) {
            AUTO_FREE char *pick = xasprintf("%s:%zu", file->path, k);
            take_both(f, &w, pick);
        }
    }
    assert_int_equal(n, 7);
    release(&w);
}

static void a_hunk_lands_where_it_was(void **state)
{
    struct fixture *f = *state;
    struct work w;
    static const struct {
        const char *pick, *place;
    } cases[] = {{"blocks:1", "@@ -12 +12 @@"},
                 {"blocks:2", "@@ -21,0 +22 @@"},
                 {"blocks:3", "@@ -38 +38 @@"}};
    make_work(f, &w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        take_or_fail(f, &w, cases[i].pick, false);
        assert_text(sh(f, f->repo, "git diff -U0 %s main -- blocks | grep -o '^@@.*@@'", w.base),
                    cases[i].place);
        in_repo(f, "git reset -q --hard %s", w.base);
    }
    release(&w);
}

static void reads_what_a_diff_says(void **state)
{
    struct fixture *f = *state;
    struct work w;
    make_work(f, &w);
    static const struct {
        const char *path, *old_path;
        char status;
        bool is_binary;
        size_t n;
    } files[] = {
        {"bare", "bare", 'M', false, 1},
        {"bin", "bin", 'M', true, 0},
        {"blocks", "blocks", 'M', false, 3},
        {"empty", "empty", 'A', false, 0},
        {"gone", "gone", 'D', false, 1},
        {"new", "new", 'A', false, 1},
        {"od\td \303\274:3", "od\td \303\274:3", 'M', false, 1},
        {"script", "script", 'M', false, 2},
        {"to here", "moved", 'R', false, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const struct patch_file *file = patch_find(&w.patch, files[i].path);
        if (!file)
            fail_msg("%s is missing", files[i].path);
        assert_string_equal(file->old_path, files[i].old_path);
        assert_int_equal(file->status, files[i].status);
        assert_int_equal(file->is_binary, files[i].is_binary);
        assert_int_equal(file->n, files[i].n);
    }
    assert_int_equal(patch_find(&w.patch, "script")->new_mode, 0100755);
    release(&w);
}

static void refuses_what_is_not_there(void **state)
{
    struct fixture *f = *state;
    struct work w;
    static const struct {
        const char *pick, *said;
    } cases[] = {
        {"nowhere", "changed no nowhere"},     {"blocks:4", "blocks has 3 hunks and no number 4"},
        {"nowhere:1", "changed no nowhere:1"}, {"run.sh", "changed no run.sh"},
        {"bin:1", "bin has no hunks"},         {"empty:1", "empty has no hunks"},
        {"block", "changed no block"},
    };
    make_work(f, &w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
        struct err err = ERR_INIT;
        assert_false(take(f, &w, cases[i].pick, false, &m, &err));
        assert_int_equal(err.code, ERR_NOT_FOUND);
        assert_has(err.text, cases[i].said);
    }
    /* A part that the person changed meanwhile conflicts, and nothing is changed. */
    in_repo(f, "sed -i '12s/.*/mine/' blocks && git commit -qam mine");
    AUTO_FREE char *before = sh(f, f->repo, "git rev-parse main; git status --porcelain; ls .git");
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    struct err err = ERR_INIT;
    assert_ok(take(f, &w, "blocks:1", false, &m, &err), &err);
    assert_int_equal(m.conflicts.n, 1);
    assert_text(sh(f, f->repo, "git rev-parse main; git status --porcelain; ls .git"), before);
    release(&w);
}

/* A file that became a link, a link that became a file, a folder that became a file and a file that
 * became a folder; a file in a folder; a mode apart from hunks. */
static void make_types(struct fixture *f, struct work *w)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *common = fs_join(f->repo, ".git");
    *w = (struct work){.text = BUF_INIT};
    in_repo(f,
            "mkdir tree sub && seq 9 >tree/x && seq 9 >tree/y && echo f >flat && echo l >file && "
            "ln -s file ptr && seq 20 >sub/a && seq 20 >sub/b && seq 40 >tool && git add . && "
            "git commit -qm base && git checkout -q -b headgate/1/1 && git rm -rq tree flat && "
            "echo now >tree && mkdir flat && echo n >flat/in && ln -sf tree file && rm ptr && "
            "echo plain >ptr && echo z >>sub/a && git mv sub/b far && echo z >>far && "
            "chmod +x tool && sed -i '2s/.*/x/; 39s/.*/y/' tool && git add . && "
            "git commit -qm work && git checkout -q main");
    w->base = sh(f, f->repo, "git rev-parse main");
    w->tip = sh(f, f->repo, "git rev-parse headgate/1/1");
    assert_ok(wt_diff(&w->text, common, w->base, w->tip, WT_DIFF_PATCH, false, NULL, &err), &err);
    assert_ok(patch_parse(&w->patch, w->text.ptr, w->text.len, &err), &err);
}

static void types_change_as_a_whole(void **state)
{
    struct fixture *f = *state;
    struct work w;
    static const struct {
        const char *pick, *changed; /* what git diff --raw shows of it, modes and names */
    } cases[] = {
        {"file", "100644 120000 T file"},
        {"./ptr", "120000 100644 T ptr"},
        {"tree/", "000000 100644 A tree,100644 000000 D tree/x,100644 000000 D tree/y"},
        {"flat", "100644 000000 D flat,000000 100644 A flat/in"},
        {"sub", "100644 100644 M sub/a,100644 000000 D sub/b,000000 100644 A far"},
        {"tool:1", "100644 100644 M tool"},
        {"tool", "100644 100755 M tool"},
    };
    make_types(f, &w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        take_or_fail(f, &w, cases[i].pick, false);
        AUTO_FREE char *got =
            sh(f, f->repo,
               "git diff --raw --no-renames %s main | tr -d : | awk '{print $1, $2, $5, $6}' | "
               "sort -k4 | paste -sd,",
               w.base);
        AUTO_FREE char *want =
            sh(f, NULL, "echo '%s' | tr , '\\n' | sort -k4 | paste -sd,", cases[i].changed);
        assert_string_equal(got, want);
        take_or_fail(f, &w, cases[i].pick, true);
        assert_text(sh(f, f->repo, "git diff --stat %s main", w.tip), "");
        in_repo(f, "git reset -q --hard %s", w.base);
    }
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    struct err err = ERR_INIT;
    assert_false(take(f, &w, "file:1", false, &m, &err));
    assert_has(err.text, "file has no hunks that could be taken apart (it became another type");
    assert_false(take(f, &w, "tree/x", true, &m, &err)); /* a file below a file */
    assert_has(err.text, "these parts do not stand without the others");
    release(&w);
}

/* Whatever name it is picked by, the file is the one that was to be looked at. */
static void what_was_not_seen_is_refused(void **state)
{
    struct fixture *f = *state;
    struct work w;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_STRV struct strv unseen = STRV_INIT;
    static const char *const names[] = {"far", "./far", "sub/b", "sub", ".", "far:1"};
    struct err err = ERR_INIT;
    strv_push(&unseen, "executable	far");
    strv_push(&unseen, "large, left out	tool");
    make_types(f, &w);
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    for (size_t i = 0; i <= ARRAY_LEN(names); i++) {
        AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
        AUTO_STRV struct strv picks = STRV_INIT;
        struct wt_take_ask ask = {.branch = "headgate/1/1",
                                  .base = w.base,
                                  .tip = w.tip,
                                  .picks = &picks,
                                  .unseen = &unseen};
        strv_push(&picks, i < ARRAY_LEN(names) ? names[i] : "tool");
        if (i == ARRAY_LEN(names)) {
            assert_ok(wt_take(&m, &repo, &ask, &err), &err);
            continue;
        }
        if (wt_take(&m, &repo, &ask, &err))
            fail_msg("taken by the name %s", names[i]);
        assert_int_equal(err.code, ERR_REFUSED);
        assert_has(err.text, "far could run on this host next (executable)");
    }
    release(&w);
}

static void odd_texts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"x", "diff --git \n", "diff --git a/x b/x\n@@ -1 @@\n",
                                      "diff --git a/x b/x\n@@ -1,-2 +1 @@\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_PATCH struct patch p = PATCH_INIT;
        struct err err = ERR_INIT;
        assert_false(patch_parse(&p, bad[i], strlen(bad[i]), &err));
        assert_int_equal(err.code, ERR_FORMAT);
    }
    /* What looks like a head inside a hunk is text. */
    static const char text[] = "diff --git a/x b/x\n@@ -1,2 +1,2 @@\n-diff --git a/y b/y\n+@@ -1 "
                               "+1 @@\n diff --git a/z b/z\n";
    AUTO_PATCH struct patch p = PATCH_INIT;
    struct err err = ERR_INIT;
    assert_ok(patch_parse(&p, text, strlen(text), &err), &err);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.v[0].n, 1);
}

/* An attempt that took its target in is compared with what both have, not with where it began. */
static void compares_with_what_the_target_has(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_FREE char *common = fs_join(f->repo, ".git");
    char got[65];
    in_repo(
        f,
        "git tag base && git checkout -q -b work && echo w >w && git add w && git commit -qm w && "
        "git checkout -q main && echo m >m && git add m && git commit -qm m && git checkout -q "
        "work && "
        "git merge -q --no-edit main && git checkout -q main && git branch release base");
    AUTO_FREE char *base = sh(f, f->repo, "git rev-parse base");
    AUTO_FREE char *tip = sh(f, f->repo, "git rev-parse work");
    assert_ok(wt_diff_base(got, common, base, tip, NULL, &err), &err);
    assert_text(sh(f, f->repo, "git rev-parse main"), got);
    assert_ok(wt_diff_base(got, common, base, tip, "release", &err), &err);
    assert_string_equal(got, base);
    assert_ok(wt_diff_base(got, common, base, tip, "nowhere", &err), &err);
    assert_string_equal(got, base);
    in_repo(f, "git merge -q --ff-only work");
    assert_ok(wt_diff_base(got, common, base, tip, NULL, &err), &err);
    assert_string_equal(got, base); /* merged: still all that it did */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_part_and_the_rest_are_the_whole),
        TEST(a_hunk_lands_where_it_was),
        TEST(reads_what_a_diff_says),
        TEST(refuses_what_is_not_there),
        TEST(types_change_as_a_whole),
        TEST(what_was_not_seen_is_refused),
        cmocka_unit_test(odd_texts_are_refused),
        TEST(compares_with_what_the_target_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
