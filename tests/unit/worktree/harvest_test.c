#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worktree/pump.h"

#define WITH_ATTEMPT                                       \
    struct fixture *f = *state;                            \
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT; \
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT; \
    make_attempt(f, &a, "3.2", true, f->engine)

/* What the attempt's folder holds when nothing is half done. */
static const char *folder_of(const struct wt_attempt *a)
{
    static const char *const names[WT_ENGINES] = {
        [WT_ENGINE_OVERLAY] = "attempt git gitfile home seed tree upper work",
        [WT_ENGINE_BTRFS] = "attempt files git gitfile home seed tree",
        [WT_ENGINE_REFLINK] = "attempt files git gitfile home index seed tree",
        [WT_ENGINE_CHECKOUT] = "attempt face git gitfile home index seed tree",
    };
    return names[a->engine];
}

static void brings_commits_home(void **state)
{
    WITH_ATTEMPT;
    AUTO_FREE char *tip = inside(f, &a,
                                 "echo x >new && git add new && git commit -qm second && "
                                 "git rev-parse HEAD");
    harvest(f, &a, false, &h);
    assert_string_equal(h.tip, tip);
    assert_true(h.branch_moved);
    assert_int_equal(h.commits, 1);
    assert_int_equal(h.files, 1);
    assert_null(h.note);
    assert_text(sh(f, f->repo, "git rev-parse headgate/3/2"), tip);
    assert_text(sh(f, f->repo, "git rev-parse refs/headgate/keep/3/2/%s", tip), tip);
    free(sh(f, f->repo, "git fsck --strict && test -z \"$(git status --porcelain)\""));
    assert_text(sh(f, a.dir, "ls | tr '\\n' ' '"), folder_of(&a));
    assert_text(sh(f, f->repo, "ls -d .git/objects/tmp_* 2>/dev/null || echo none"), "none");
}

static void a_person_may_gc_and_the_box_too(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a, "echo 1 >n && git add n && git commit -qm two"));
    harvest(f, &a, false, &h);
    AUTO_FREE char *first = xstrdup(h.tip);
    wt_harvest_release(&h);
    free(inside(f, &a,
                "git gc -q --prune=now && git reset -q --hard HEAD~1 && echo 2 >n && "
                "git add n && git commit -qm other && git reflog expire --expire=now --all && "
                "git gc -q --prune=now"));
    harvest(f, &a, false, &h);
    in_repo(f, "git reflog expire --expire=now --all && git gc -q --prune=now && git fsck");
    assert_text(sh(f, f->repo, "git log -1 --format=%%s %s", first), "two");
    assert_text(sh(f, f->repo, "git log -1 --format=%%s headgate/3/2"), "other");
    free(inside(f, &a, "git fsck && git log --oneline"));
}

static void many_objects_come_as_a_pack(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a,
                "for i in $(seq 150); do echo $i >f$i; done; git add . && git commit -qm many"));
    harvest(f, &a, false, &h);
    assert_int_equal(h.files, 150);
    assert_text(sh(f, f->repo, "ls .git/objects/pack | sed 's/.*[.]//' | sort | tr '\\n' ' '"),
                "idx pack");
    free(sh(f, f->repo, "git fsck --strict"));
}

static void snapshots_uncommitted_work(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a,
                "echo c >c && git add c && git commit -qm c && echo more >>c && echo u >new && "
                "echo i >ignored.o && rm run.sh && echo staged >s && git add s"));
    harvest(f, &a, true, &h);
    assert_string_equal(h.tip, h.snapshot);
    assert_text(sh(f, f->repo, "git diff --name-status headgate/3/2~1 headgate/3/2"),
                "M\tc\nA\tnew\nD\trun.sh\nA\ts");
    assert_text(sh(f, f->repo, "git log -1 --format='%%s/%%an' refs/headgate/3/2/snapshot"),
                "Snapshot of uncommitted work/Person");
    assert_text(inside(f, &a, "git log -1 --format=%%s; git status --porcelain"),
                "c\n M c\n D run.sh\nA  s\n?? new");
    AUTO_FREE char *snapshot = xstrdup(h.snapshot);
    wt_harvest_release(&h);
    harvest(f, &a, true, &h); /* nothing has changed: no new commit */
    assert_string_equal(h.snapshot, snapshot);
    free(inside(f, &a, "git add -A && git commit -qm done"));
    wt_harvest_release(&h);
    harvest(f, &a, true, &h);
    assert_string_equal(h.snapshot, "");
    assert_true(h.branch_moved);
    assert_int_equal(sh_status(f, f->repo, "git rev-parse -q --verify refs/headgate/3/2/snapshot"),
                     1);
}

static void snapshot_records_conflicts(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a,
                "git switch -qc x && echo x >src/one.c && git commit -qam x && "
                "git switch -q headgate/3/2 && echo y >src/one.c && git commit -qam y && "
                "! git merge -q x"));
    harvest(f, &a, true, &h);
    AUTO_FREE char *text = sh(f, f->repo, "git log -1 --format=%%B headgate/3/2");
    assert_has(text, "A merge was in progress.");
    assert_has(text, "Unmerged when it was taken");
    assert_has(text, "src/one.c");
    assert_text(sh(f, f->repo, "git show headgate/3/2:src/one.c | grep -c '^[<=>]'"), "3");
}

static void other_refs_come_under_the_attempt(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a,
                "git switch -qc a && echo a >a && git add a && git commit -qm a && git tag t1 && "
                "git tag -a -m t2 t2 && echo s >>a && git stash -q && git checkout -q --detach"));
    harvest(f, &a, false, &h);
    assert_text(
        sh(f, f->repo, "git for-each-ref --format='%%(refname)' refs/headgate/3"),
        "refs/headgate/3/2/harvested\nrefs/headgate/3/2/heads/a\nrefs/headgate/3/2/stash/0\n"
        "refs/headgate/3/2/tags/t1\nrefs/headgate/3/2/tags/t2");
    assert_text(sh(f, f->repo, "git log -1 --format=%%s headgate/3/2"), "a"); /* detached HEAD */
    assert_text(sh(f, f->repo, "git tag; git branch --format='%%(refname:short)'"),
                "headgate/3/2\nmain");
    wt_harvest_release(&h);
    free(inside(f, &a, "git branch -D a -q && git branch a/b && git stash drop -q"));
    harvest(f, &a, false, &h); /* a name that became a folder */
    assert_text(sh(f, f->repo,
                   "git for-each-ref --format='%%(refname)' refs/headgate/3/2/heads "
                   "refs/headgate/3/2/stash"),
                "refs/headgate/3/2/heads/a/b");
}

static void rewritten_history_moves_the_branch(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a, "echo 1 >n && git add n && git commit -qm one"));
    harvest(f, &a, false, &h);
    wt_harvest_release(&h);
    free(inside(f, &a, "git commit -q --amend -m amended"));
    harvest(f, &a, false, &h);
    assert_true(h.branch_moved);
    assert_text(sh(f, f->repo, "git log --format=%%s headgate/3/2"), "amended\nfirst");
    wt_harvest_release(&h);
    free(inside(f, &a, "git checkout -q --orphan fresh && git commit -qm alone"));
    harvest(f, &a, false, &h);
    assert_text(sh(f, f->repo, "git log --format=%%s headgate/3/2"), "alone");
}

static void a_moved_branch_is_left_alone(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a, "echo 1 >n && git add n && git commit -qm one"));
    in_repo(f, "git commit -q --allow-empty -m person && git branch -f headgate/3/2 main");
    harvest(f, &a, false, &h);
    assert_false(h.branch_moved);
    assert_has(h.note, "moved by somebody else");
    assert_text(sh(f, f->repo, "git log -1 --format=%%s headgate/3/2"), "person");
    assert_text(sh(f, f->repo, "git log -1 --format=%%s refs/headgate/3/2/head"), "one");
}

static void a_checked_out_branch_is_left_alone(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a, "echo 1 >n && git add n && git commit -qm one"));
    in_repo(f, "git switch -q headgate/3/2");
    harvest(f, &a, false, &h);
    assert_false(h.branch_moved);
    assert_has(h.note, "checked out at");
    assert_text(sh(f, f->repo, "git status --porcelain"), "");
    wt_harvest_release(&h);
    in_repo(f, "git switch -q main");
    harvest(f, &a, false, &h);
    assert_true(h.branch_moved);
    assert_int_equal(sh_status(f, f->repo, "git rev-parse -q --verify refs/headgate/3/2/head"), 1);
}

static void a_killed_git_does_not_block_a_resume(void **state)
{
    WITH_ATTEMPT;
    free(sh(f, a.gitdir,
            "echo keep >precious && : >index.lock && : >HEAD.lock && ln -s %s/precious config.lock",
            a.gitdir));
    harvest(f, &a, true, &h);
    free(inside(f, &a, "echo 1 >n && git add n && git commit -qm resumed"));
    assert_text(sh(f, a.gitdir, "cat precious; ls *.lock 2>/dev/null; true"), "keep");
}

static void commits_and_a_snapshot_come_home(void **state)
{
    WITH_ATTEMPT;
    assert_text(inside(f, &a, "git diff-files --name-only && git status --porcelain"), "");
    free(inside(f, &a, "echo 1 >>src/one.c && git commit -qam one && echo 2 >two"));
    harvest(f, &a, true, &h);
    assert_int_equal(h.commits, 2);
    assert_text(sh(f, f->repo, "git diff --name-only main headgate/3/2"), "src/one.c\ntwo");
}

static void odd_names_survive(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a,
                "printf x >\"$(printf 'new\\nline')\" && printf y >\"$(printf '\\377\\376')\" && "
                "mkdir 'd d' && echo z >'d d/\"q\\t' && git add . && git commit -qm odd && "
                "echo more >\"$(printf 'u\\nn')\""));
    harvest(f, &a, true, &h);
    assert_int_equal(h.files, 4);
    free(sh(f, f->repo,
            "git fsck --strict && git switch -q headgate/3/2 && test -f \"$(printf 'new\\nline')\""
            " && git switch -q main"));
}

static void review_names_what_could_run(void **state)
{
    WITH_ATTEMPT;
    free(inside(
        f, &a,
        "mkdir -p .github/workflows .husky .vscode pkg && echo x >.github/workflows/ci.yml && "
        "echo x >.husky/pre-commit && echo x >.vscode/tasks.json && echo x >AGENTS.md && "
        "printf '#!/bin/sh\\n' >tool && chmod +x tool && ln -s /etc/passwd abs && "
        "ln -s ../../x src/up && ln -s one.c src/fine && echo '{\"name\":\"x\"}' >package.json && "
        "echo '{\"scripts\":{\"postinstall\":\"x\"}}' >pkg/package.json && echo all: >Makefile && "
        "for r in sub q/package.json; do git init -q $r && "
        "git -C $r -c user.name=a -c user.email=b commit -q --allow-empty -m s; done && "
        "git add -A 2>/dev/null && git commit -qm all"));
    harvest(f, &a, false, &h);
    AUTO_BUF struct buf all = BUF_INIT;
    for (size_t i = 0; i < h.review.n; i++)
        buf_addf(&all, "%s\n", h.review.v[i]);
    assert_string_equal(all.ptr, "ci\t.github/workflows/ci.yml\nhooks\t.husky/pre-commit\n"
                                 "editor settings\t.vscode/tasks.json\nagent settings\tAGENTS.md\n"
                                 "symlink out of the tree\tabs\npackage scripts\tpkg/package.json\n"
                                 "nested repository\tq/package.json\n"
                                 "symlink out of the tree\tsrc/up\nnested repository\tsub\n"
                                 "executable\ttool\n");
}

/* A box that lies. */
static void refuses(struct fixture *f, const struct wt_attempt *a, const char *script,
                    const char *why)
{
    struct err err = ERR_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    struct box_arg box = {.f = f, .a = a, .replace_script = script};
    AUTO_FREE char *before = sh(f, f->repo, "git for-each-ref; find .git/objects -type f | sort");
    if (wt_harvest(&h, a, false, box_fn, &box, &err))
        fail_msg("accepted: %s", script);
    assert_has(err.text, why);
    assert_text(sh(f, f->repo, "git for-each-ref; find .git/objects -type f | sort"), before);
    assert_text(sh(f, a->dir, "ls | tr '\\n' ' '"), folder_of(a));
}

static void refuses_a_box_that_lies(void **state)
{
    WITH_ATTEMPT;
#define HEAD "echo headgate-harvest 1; "
#define OID "0123456789012345678901234567890123456789"
#define PACK "printf 'head %s\\nsnapshot -\\nend\\n' $h; git pack-objects -q --revs --stdout"
    refuses(f, &a, "true", "cut short");
    refuses(f, &a, "echo hello", "unknown form");
    refuses(f, &a, HEAD "echo head xyz; echo end", "unknown form");
    refuses(f, &a, HEAD "echo ref " OID " refs/heads/../../config; echo end",
            "git would not allow");
    refuses(f, &a, HEAD "echo ref " OID " HEAD; echo end", "git would not allow");
    refuses(f, &a, HEAD "echo head " OID "; echo end", "no pack");
    refuses(f, &a, HEAD "echo head " OID "; echo end; printf PACKxxxx; head -c 4 /dev/zero",
            "cannot set the refs");
    refuses(f, &a, HEAD "echo end; printf 'PACK\\0\\0\\0\\2\\0\\0\\0\\2garbage'", "not sound");
    refuses(f, &a, HEAD "echo end; printf 'PACK\\0\\0\\0\\2\\377\\0\\0\\0garbage'", "more than");
    /* A commit whose tree is not sent. */
    refuses(
        f, &a,
        HEAD
        "export GIT_OBJECT_DIRECTORY=/tmp/o$$; mkdir $GIT_OBJECT_DIRECTORY; trap 'rm -rf "
        "$GIT_OBJECT_DIRECTORY' EXIT; export GIT_ALTERNATE_OBJECT_DIRECTORIES=$GIT_DIR/objects; "
        "b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tx\\n' $b | git "
        "mktree); "
        "h=$(git commit-tree -m m $t); printf 'head %s\\nsnapshot -\\nend\\n' $h; "
        "echo $h | git pack-objects -q --stdout",
        "not sound");
    /* A tree that git would refuse to check out. */
    refuses(
        f, &a,
        HEAD
        "export GIT_OBJECT_DIRECTORY=/tmp/o$$; mkdir $GIT_OBJECT_DIRECTORY; trap 'rm -rf "
        "$GIT_OBJECT_DIRECTORY' EXIT; export GIT_ALTERNATE_OBJECT_DIRECTORIES=$GIT_DIR/objects; "
        "b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\t.git\\n' $b | git "
        "mktree); "
        "h=$(git commit-tree -m m $t); " PACK " <<E\n$h\nE",
        "not sound");
}

static void the_pump_stops_at_its_bound(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct pump pump;
    char template[] = "/tmp/wt-pump-XXXXXX";
    AUTO_FD int fd = mkstemp(template);
    unlink(template);
    AUTO_STRV struct strv argv = STRV_INIT;
    for (int over = 0; over <= 1; over++) {
        assert_ok(pump_start(&pump, fd, 100000, &err), &err);
        struct proc_cmd cmd = {.argv = &argv, .output_fd = pump.write_fd};
        AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
        strv_release(&argv);
        const char *const words[] = {"head", "-c", over ? "200000" : "100000", "/dev/zero"};
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            strv_push(&argv, words[i]);
        assert_ok(proc_run(&r, &cmd, &err), &err);
        assert_int_equal(pump_finish(&pump, &err), !over);
    }
    assert_int_equal(err.code, ERR_LIMIT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(brings_commits_home),
        TEST(snapshots_uncommitted_work),
        TEST(snapshot_records_conflicts),
        TEST(a_killed_git_does_not_block_a_resume),
        TEST(commits_and_a_snapshot_come_home),
        TEST(odd_names_survive),
        TEST(review_names_what_could_run),
    };
    const struct CMUnitTest rest[] = {
        /* the same whatever the engine */
        TEST(a_person_may_gc_and_the_box_too),   TEST(many_objects_come_as_a_pack),
        TEST(other_refs_come_under_the_attempt), TEST(rewritten_history_moves_the_branch),
        TEST(a_moved_branch_is_left_alone),      TEST(a_checked_out_branch_is_left_alone),
        TEST(refuses_a_box_that_lies),           cmocka_unit_test(the_pump_stops_at_its_bound),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
