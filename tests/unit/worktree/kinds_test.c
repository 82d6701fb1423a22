/*
 * Attempts in repositories of every kind.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>

static void use_repo(struct fixture *f, const char *name)
{
    free(f->repo);
    f->repo = fs_join(f->root, name);
}

/* Each kind with each engine: made by a script in the fixture's root, where `repo` is. */
struct kind {
    const char *name;
    const char *script;
    const char *folder;
};

#define LONG_NAME "$(printf 'n%.0s' $(seq 255))"

static const struct kind kinds[] = {
    {"plain", "true", "repo"},
    {"bare",
     "git clone -q --bare repo bare.git && git -C bare.git config --unset remote.origin.url",
     "bare.git"},
    {"linked worktree",
     "cd repo && git worktree add -q -b side ../linked && cd ../linked && echo l >l && git add l "
     "&& "
     "git commit -qm l",
     "linked"},
    {"detached", "git -C repo checkout -q --detach", "repo"},
    {"sha256",
     "git init -q --object-format=sha256 big && cd big && echo a >a && mkdir s && echo b >s/b && "
     "git add . && git commit -qm first",
     "big"},
    {"shallow",
     "cd repo && git commit -q --allow-empty -m b && git commit -q --allow-empty -m c && cd .. && "
     "git clone -q --depth 1 file://$PWD/repo shallow",
     "shallow"},
    {"partial clone",
     "cd repo && git config uploadpack.allowFilter true && echo b >>src/one.c && git commit -qam b "
     "&& "
     "cd .. && git clone -q --no-checkout --filter=blob:none file://$PWD/repo partial && "
     "cd partial && git read-tree -m -u HEAD",
     "partial"},
    {"sparse, by folders",
     "cd repo && mkdir -p x/y && echo x >x/y/z && git add . && git commit -qm x && "
     "git sparse-checkout set --cone src",
     "repo"},
    {"sparse, by patterns, with a sparse index",
     "cd repo && mkdir -p x/y && echo x >x/y/z && git add . && git commit -qm x && "
     "git sparse-checkout set --no-cone '/*' '!/x/' && git config index.sparse true",
     "repo"},
    {"sparse and partial",
     "cd repo && git config uploadpack.allowFilter true && mkdir -p x && seq 99 >x/y && git add . "
     "&& "
     "git commit -qm x && cd .. && git clone -q --sparse --filter=blob:none file://$PWD/repo sp",
     "sp"},
    {"submodule of another",
     "git init -q super && cd super && git -c protocol.file.allow=always submodule --quiet add "
     "../repo sub && git commit -qm sub",
     "super/sub"},
    {"with a submodule",
     "git init -q super && cd super && git -c protocol.file.allow=always submodule --quiet add "
     "../repo sub && git commit -qm sub",
     "super"},
    {"borrowed objects",
     "git clone -q --shared repo second && git clone -q --shared second 'third one' && "
     "echo ../../../second/.git/objects >'third one/.git/objects/info/alternates'",
     "third one"},
    {"odd paths",
     "d=$(printf 'a \\n\"b') && cp -r repo \"$d\" && cd \"$d\" && echo n >\"$(printf 'n\\nl')\" && "
     "echo x >\"$(printf '\\377')\" && echo l >" LONG_NAME " && echo c >C && echo c >c && "
     "git add . && git commit -qm odd",
     "a \n\"b"},
    {"settings of a worktree",
     "cd repo && git config extensions.worktreeConfig true && "
     "git config --worktree core.autocrlf input",
     "repo"},
    {"symlinked path", "ln -s repo link", "link"},
    {"a git folder elsewhere", "git init -q --separate-git-dir apart.git repo", "repo"},
    {"split index", "cd repo && git config core.splitIndex true && git update-index --split-index",
     "repo"},
    {"packed refs", "cd repo && git branch side && git tag v1 && git pack-refs --all", "repo"},
};

static void works_with_every_kind(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct kind *kind = &kinds[i];
        print_message("             %s\n", kind->name);
        free(sh(f, NULL, "cp -a repo pristine"));
        free(sh(f, NULL, "%s", kind->script));
        use_repo(f, kind->folder);
        go_round(f);
        use_repo(f, "repo");
        free(sh(f, NULL,
                "find . -mindepth 1 -maxdepth 1 ! -name pristine ! -name home ! -name bases "
                "! -name attempts -exec rm -rf {} + && mv pristine repo"));
    }
}

static void borrowed_objects_are_shown(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    free(sh(f, NULL, "git clone -q --shared repo second && git clone -q --shared second third"));
    use_repo(f, "third");
    make_attempt(f, &a, "1.2", true, f->engine);
    assert_int_equal(a.objects_ro.n, 3);
}

/* What the person's sparse checkout leaves out is neither there nor deleted by a snapshot; the
 * agent may widen it, and may add files outside. */
static void a_sparse_checkout_is_followed(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    in_repo(f, "mkdir -p x/y && echo x >x/y/z && git add . && git commit -qm x && "
               "git sparse-checkout set --cone src");
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_text(inside(f, &a, "ls; git status --porcelain; git sparse-checkout list"),
                "link\nrun.sh\nsrc\nsrc");
    free(inside(f, &a, "echo more >>src/one.c && mkdir -p x && echo new >x/new"));
    harvest(f, &a, true, &h);
    assert_text(sh(f, f->repo, "git diff --name-status main headgate/1/1"),
                "M\tsrc/one.c\nA\tx/new");
    assert_text(inside(f, &a, "git sparse-checkout add x && cat x/y/z"), "x");
    wt_harvest_release(&h);
    harvest(f, &a, true, &h);
    assert_int_equal(h.files, 2);
}

/* Objects that only the remote has are known to be missing, so the agent's git goes on. */
static void a_partial_clone_stays_one(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    in_repo(f, "git config uploadpack.allowFilter true && echo b >>src/one.c && git commit -qam b");
    free(sh(f, NULL, "git clone -q --filter=blob:none file://$PWD/repo partial"));
    use_repo(f, "partial");
    make_attempt(f, &a, "1.1", true, f->engine);
    free(inside(f, &a,
                "git fsck --no-dangling && git gc -q && echo c >>src/one.c && git commit -qam c && "
                "git log --stat -1 && git rev-list --objects --all --missing=print >/dev/null"));
    harvest(f, &a, true, &h);
    assert_int_equal(h.commits, 1);
    assert_text(sh(f, f->repo, "git rev-list --objects --all --missing=print | grep -c '^?'"), "1");
}

/* Nothing is made of what git here cannot open. */
static void says_what_is_not_supported(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *script, *said;
    } cases[] = {
        {"git config core.repositoryformatversion 1 && git config extensions.noSuchThing true",
         "nosuchthing; the git of this host is older"},
        {"git config core.repositoryformatversion 1 && git config extensions.relativeWorktrees "
         "true",
         "relativeworktrees"},
        {"git config core.repositoryformatversion 1 && git config extensions.refStorage reftable "
         "&& "
         "mkdir .git/reftable && echo 0x000000000001-0x000000000001-00000000.ref "
         ">.git/reftable/tables.list && rm -rf .git/refs && mkdir .git/refs && "
         "echo 'this repository uses the reftable format' >.git/refs/heads && "
         "echo 'ref: refs/heads/.invalid' >.git/HEAD",
         "refstorage"},
        {"rm -rf .git && git init -q", "no commit yet"},
        {"git config core.repositoryformatversion 7", "7"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
        AUTO_WT_COMMIT struct wt_commit commit = WT_COMMIT_INIT;
        struct err err = ERR_INIT;
        free(sh(f, NULL, "rm -rf odd && cp -a repo odd && cd odd && %s", cases[i].script));
        AUTO_FREE char *path = fs_join(f->root, "odd");
        if (sh_status(f, path, "git rev-parse -q --verify HEAD >/dev/null 2>&1") == 0)
            continue; /* a git that knows it */
        AUTO_FREE char *before = sh(f, path, "find . | sort | md5sum");
        if (wt_repo_open(&repo, path, &err) && wt_resolve(&commit, &repo, NULL, &err))
            fail_msg("opened: %s", cases[i].script);
        assert_has(err.text, cases[i].said);
        assert_text(sh(f, path, "find . | sort | md5sum"), before);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(works_with_every_kind),
        TEST(borrowed_objects_are_shown),
        TEST(a_sparse_checkout_is_followed),
        TEST(a_partial_clone_stays_one),
    };
    const struct CMUnitTest rest[] = {
        TEST(says_what_is_not_supported),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
