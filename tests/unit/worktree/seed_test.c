/*
 * What an attempt starts with, and what it must not get.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/changes.h"

static void make_with_include(struct fixture *f, struct wt_attempt *a, const char *const *patterns,
                              enum wt_engine engine)
{
    AUTO_STRV struct strv include = STRV_INIT;
    for (; *patterns; patterns++)
        strv_push(&include, *patterns);
    f->include = &include;
    make_attempt(f, a, "1.1", true, engine);
    f->include = NULL;
}

static char *config_of(const struct fixture *f, const struct wt_attempt *a, const char *key)
{
    return sh(f, a->gitdir, "git config --file config --get-all %s || true", key);
}

static void settings_pass_and_secrets_do_not(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    in_repo(
        f,
        "git config core.autocrlf input && git config diff.algorithm patience && "
        "git config diff.x.xfuncname '^\"\\\\q\"' && git config diff.x.textconv evil && "
        "git config commit.gpgsign true && git config user.signingkey KEY && "
        "git config credential.helper evil && git config alias.x '!evil' && git config core.pager "
        "evil && "
        "git config core.sshCommand evil && git config core.fsmonitor evil && "
        "git config include.path ../other && git config http.extraHeader TOKEN && "
        "git config filter.x.clean evil && git config merge.x.driver evil && "
        "git remote add origin 'https://me:SECRET@example.com/r.git?token=SECRET' && "
        "git remote add ssh ssh://git:SECRET@example.com/r.git && git remote add scp "
        "git@example.com:r.git && "
        "git remote add bare https://SECRET@example.com/r && git remote add ext 'ext::sh -c evil'");
    free(sh(f, f->repo, "printf '[core]\\n\\tabbrev = 12\\n[foo]\\n\\tbar = SECRET\\n' >other"));
    make_attempt(f, &a, "1.1", true, f->engine);
    const char *const expected[][2] = {
        {"user.name", "Person"},
        {"user.email", "person@example.com"},
        {"core.autocrlf", "input"},
        {"core.abbrev", "12"},
        {"diff.algorithm", "patience"},
        {"diff.x.xfuncname", "^\"\\\\q\""},
        {"remote.origin.url", "https://example.com/r.git"},
        {"remote.ssh.url", "ssh://git@example.com/r.git"},
        {"remote.scp.url", "git@example.com:r.git"},
        {"remote.bare.url", "https://example.com/r"},
        {"remote.ext.url", ""},
        {"commit.gpgsign", "false"},
        {"core.fsmonitor", a.lower ? CHANGES_HOOK : "false"},
    };
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_text(config_of(f, &a, expected[i][0]), expected[i][1]);
    assert_int_equal(sh_status(f, a.gitdir, "grep -rlE 'SECRET|evil|TOKEN|KEY' ."), 1);
    assert_text(inside(f, &a, "git status --porcelain; git remote"), "bare\next\norigin\nscp\nssh");
}

static void refs_and_excludes_pass(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    in_repo(
        f,
        "git tag v1 && git tag -a -m v2 v2 && git branch topic && git update-ref "
        "refs/remotes/origin/main main && "
        "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main && "
        "echo '*.mine' >>.git/info/exclude && mkdir -p ~/.config/git && echo '*.all' "
        ">~/.config/git/ignore && "
        "echo '*.bin binary' >~/.config/git/attributes && echo '*.txt text' >.git/info/attributes");
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_text(inside(f, &a, "git for-each-ref --format='%%(refname) %%(symref)'"),
                "refs/heads/headgate/1/1 \nrefs/heads/main \nrefs/heads/topic \n"
                "refs/remotes/origin/HEAD refs/remotes/origin/main\nrefs/remotes/origin/main \n"
                "refs/tags/v1 \nrefs/tags/v2");
    assert_text(
        inside(f, &a,
               "touch a.mine a.all a.o && git status --porcelain && git describe v2 && "
               "git check-attr binary text -- a.bin a.txt"),
        "v2\na.bin: binary: set\na.bin: text: unset\na.txt: binary: unspecified\na.txt: text: set");
}

static void hooks_run_inside(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    in_repo(f, "printf '#!/bin/sh\\ntouch hook-ran\\n' >.git/hooks/pre-commit && chmod +x "
               ".git/hooks/pre-commit");
    make_attempt(f, &a, "1.1", true, f->engine);
    free(inside(f, &a, "git commit -q --allow-empty -m x && test -f hook-ran"));
    free(sh(f, a.gitdir, "ls hooks/*.sample 2>/dev/null && exit 1; true"));
}

static void hooks_in_the_tree_run_inside(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    /* As husky does it: the hooks folder is generated, and ignored by its own .gitignore. */
    in_repo(f,
            "mkdir -p .husky/_ && echo 'touch husky-ran' >.husky/pre-commit && git add .husky && "
            "git commit -qm husky && echo '*' >.husky/_/.gitignore && "
            "printf '#!/bin/sh\\nsh .husky/pre-commit\\n' >.husky/_/pre-commit && chmod +x "
            ".husky/_/pre-commit && "
            "git config core.hooksPath .husky/_");
    make_attempt(f, &a, "1.1", true, f->engine);
    free(inside(f, &a, "git commit -q --allow-empty -m x && test -f husky-ran"));
    assert_string_equal(a.hooks_in_tree, ".husky/_");
}

static const char *const patterns[] = {".env", "local/", "*.cfg", "tracked*", NULL};

static void prepare_ignored_files(struct fixture *f)
{
    in_repo(
        f,
        "mkdir -p local/deep build sub && echo K=1 >.env && echo d >local/deep/file && echo t "
        ">tracked.cfg && "
        "printf 'local\\nbuild\\n*.cfg\\n' >>.gitignore && git add -f .gitignore tracked.cfg && "
        "git commit -qm i && "
        "echo big >build/out && echo c >sub/app.cfg && echo not-ignored >tracked-not && "
        "ln -s deep/file local/inner && ln -s /etc/passwd local/abs && ln -s ../../.. local/up && "
        "mkfifo local/fifo");
}

static void include_copies_ignored_files_only(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    struct err err = ERR_INIT;
    prepare_ignored_files(f);
    make_with_include(f, &a, patterns, f->engine);
    assert_text(inside(f, &a,
                       "git status --porcelain; cat .env local/deep/file sub/app.cfg; "
                       "readlink local/inner; cat tracked.cfg"),
                "K=1\nd\nc\ndeep/file\nt");
    assert_text(inside(f, &a, "ls -A local; test ! -e build; test ! -e tracked-not"),
                "deep\ninner");
    assert_text(sh(f, a.dir, "tr '\\0' '\\n' <seeded | sort"),
                ".env\nlocal/deep/file\nlocal/inner\nsub/app.cfg");
    assert_ok(wt_discard(&a, true, &err), &err);
}

/* By a folder or a star nobody means a secret; a name is a name, however odd. */
static void include_holds_secrets_back(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    static const struct {
        const char *const patterns[4];
        const char *seeded, *held_back;
    } cases[] = {
        {{"*", NULL},
         ":(glob)x,conf/plain,node_modules/p/ca.pem",
         ".env,conf/.env.local,conf/a.pem"},
        {{"conf/", NULL}, "conf/plain", "conf/.env.local,conf/a.pem"},
        {{".env", NULL}, ".env", ""},
        {{"conf/", ".env*", NULL}, ".env,conf/.env.local,conf/plain", "conf/a.pem"},
        {{"*", "*.pem", "!.env", NULL},
         ":(glob)x,conf/a.pem,conf/plain,node_modules/p/ca.pem",
         "conf/.env.local"},
    };
    in_repo(f, "mkdir -p conf node_modules/p && echo e | tee .env conf/.env.local conf/a.pem "
               "conf/plain node_modules/p/ca.pem ':(glob)x' >/dev/null && "
               "printf '.env\\nconf/\\nnode_modules/\\n:*\\n' >>.git/info/exclude");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
        AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
        make_with_include(f, &a, cases[i].patterns, f->engine);
        assert_text(sh(f, a.dir, "tr '\\0' '\\n' <seeded | sort | paste -sd,"), cases[i].seeded);
        assert_text(sh(f, a.dir, "tr '\\0' '\\n' <unseeded 2>/dev/null | sort | paste -sd,"),
                    cases[i].held_back);
        assert_text(inside(f, &a, "git status --porcelain"), "");
        harvest(f, &a, true, &h);
        assert_int_equal(h.note && strstr(h.note, "looks like a secret"), *cases[i].held_back != 0);
        assert_ok(wt_discard(&a, true, &err), &err);
    }
}

static void include_follows_no_link_of_the_commit(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    struct err err = ERR_INIT;
    /* The commit has a link where the checkout has a folder of ignored files. */
    in_repo(f,
            "mkdir ../outside && ln -s ../outside cache && git add cache && git commit -qm link && "
            "git rm -q --cached cache && rm cache && mkdir cache && echo s >cache/s && echo cache "
            ">>.git/info/exclude");
    static const char *const cache[] = {"cache/", NULL};
    make_with_include(f, &a, cache, f->engine);
    assert_text(sh(f, f->root, "ls outside"), "");
    assert_text(inside(f, &a, "readlink cache"), "../outside");
    assert_ok(wt_discard(&a, true, &err), &err);
}

static void a_snapshot_never_holds_what_was_seeded(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    prepare_ignored_files(f);
    make_with_include(f, &a, patterns, f->engine);
    free(inside(f, &a, ": >.gitignore && echo SECRET >>.env && git add -f local/deep/file"));
    harvest(f, &a, true, &h);
    assert_text(sh(f, f->repo, "git diff --name-only main headgate/1/1"), ".gitignore");
    assert_text(sh(f, f->repo, "git grep -l SECRET headgate/1/1 || echo none"), "none");
}

static void a_change_in_the_first_moment_is_seen(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    /* The same size, in the same second as the checkout. */
    assert_text(inside(f, &a, "printf 'ONE\\n' >src/one.c; git status --porcelain"),
                " M src/one.c");
}

static void a_missing_git_lfs_is_no_failure(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    in_repo(
        f,
        "echo '*.bin filter=lfs diff=lfs merge=lfs -text' >.gitattributes && echo pointer >x.bin "
        "&& git add . && "
        "git commit -qm lfs && git config filter.lfs.process 'no-such-git-lfs filter-process' && "
        "git config filter.lfs.required true && git config filter.lfs.smudge 'no-such-git-lfs "
        "smudge' && "
        "git config filter.lfs.clean 'no-such-git-lfs clean'");
    if (sh_status(f, NULL, "command -v git-lfs >/dev/null") == 0)
        skip();
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_text(inside(f, &a, "git status --porcelain; cat x.bin"), "pointer");
}

static void the_persons_filters_run(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    in_repo(f,
            "echo '*.up filter=up' >.gitattributes && git config filter.up.smudge 'tr a-z A-Z' && "
            "git config filter.up.clean 'tr A-Z a-z' && echo text >x.up && git add . && git commit "
            "-qm up");
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_text(inside(f, &a, "cat x.up; git status --porcelain"), "TEXT");
}

/* A git-lfs that keeps to its file formats: clean, and smudge from its own store. */
static const char lfs_stub[] =
    "#!/bin/sh\n"
    "store=$(git config lfs.storage || echo \"$(git rev-parse --git-dir)/lfs\")/objects\n"
    "case $1 in\n"
    "clean)\n"
    "    t=$(mktemp); cat >$t; o=$(sha256sum <$t | cut -c1-64)\n"
    "    d=$store/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-4); mkdir -p $d && cp $t $d/$o || "
    "exit 1\n"
    "    printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' $o "
    "$(stat -c %s $t); rm $t ;;\n"
    "smudge) echo ran >>\"$HOME/smudged\"; cat ;;\n"
    "esac\n";

static void set_up_lfs(struct fixture *f)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *bin = fs_join(f->root, "bin");
    AUTO_FREE char *stub = fs_join(bin, "git-lfs");
    AUTO_FREE char *path = xasprintf("%s:%s", bin, getenv("PATH"));
    assert_ok(fs_mkdirs(bin, 0755, &err), &err);
    assert_ok(fs_write_plain(AT_FDCWD, stub, lfs_stub, strlen(lfs_stub), 0755, &err), &err);
    setenv("PATH", path, 1);
    in_repo(
        f,
        "git config filter.lfs.clean 'git-lfs clean -- %%f' && "
        "git config filter.lfs.smudge 'git-lfs smudge -- %%f' && "
        "git config filter.lfs.required true && echo '*.bin filter=lfs -text' >.gitattributes && "
        "seq 500 >here.bin && seq 600 >'not here.bin' && git add . && git commit -qm lfs && "
        "rm -r .git/lfs/objects/$(git show 'HEAD:not here.bin' | sed -n 's/oid "
        "sha256:\\(..\\).*/\\1/p')");
}

static void lfs_files_come_from_the_store(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *path = xstrdup(getenv("PATH"));
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    set_up_lfs(f);
    make_attempt(f, &a, "1.1", true, f->engine);
    /* What is not in the store is a pointer; nothing was asked of git-lfs, so of no network. */
    assert_text(
        inside(f, &a, "git status --porcelain; tail -n 1 here.bin; head -n 1 'not here.bin'"),
        "500\nversion https://git-lfs.github.com/spec/v1");
    assert_int_equal(sh_status(f, NULL, "test -e home/smudged"), 1);
    /* A new object comes home with its commit, and one of a snapshot does too. */
    free(inside(f, &a,
                "seq 700 >new.bin && git add new.bin && git commit -qm new && seq 800 >wip.bin"));
    harvest(f, &a, true, &h);
    assert_text(sh(f, f->repo,
                   "for p in new wip; do git show headgate/1/1:$p.bin | "
                   "sed -n 's/oid sha256://p' | while read o; do "
                   "tail -n 1 .git/lfs/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-4)/$o; "
                   "done; done"),
                "700\n800");
    /* A lie about a digest, and links, stay outside. */
    free(inside(
        f, &a,
        "cd $(git rev-parse --git-dir)/lfs/objects && o=$(printf 'a%%.0s' $(seq 64)) && "
        "mkdir -p aa/aa && echo lie >aa/aa/$o && ln -s /etc/passwd aa/aa/b${o#a} && ln -s aa ab"));
    wt_harvest_release(&h);
    harvest(f, &a, true, &h);
    assert_int_equal(
        sh_status(f, f->repo,
                  "find .git/lfs/objects -name 'aaa*' -o -name 'baa*' -o -type l | grep ."),
        1);
    setenv("PATH", path, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(hooks_in_the_tree_run_inside),
        TEST(include_copies_ignored_files_only),
        TEST(include_holds_secrets_back),
        TEST(include_follows_no_link_of_the_commit),
        TEST(a_snapshot_never_holds_what_was_seeded),
        TEST(a_change_in_the_first_moment_is_seen),
        TEST(lfs_files_come_from_the_store),
        TEST(the_persons_filters_run),
    };
    const struct CMUnitTest rest[] = {
        /* the same whatever the engine */
        TEST(settings_pass_and_secrets_do_not),
        TEST(refs_and_excludes_pass),
        TEST(hooks_run_inside),
        TEST(a_missing_git_lfs_is_no_failure),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
