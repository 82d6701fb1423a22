/*
 * Nothing is lost: the ways in which tools of this kind have destroyed what people and agents made,
 * each as a test; and a person's own git at work in the repository all the while.
 */
#include "tests/unit/worktree/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AGENTS = 8, COMMITS = 5, ROUNDS_MIN = 4 };

/* The person's own: every file, ref, worktree and object that was there. */
static char *persons(const struct fixture *f)
{
    return sh(
        f, f->repo,
        "git for-each-ref --format='%%(refname) %%(objectname)' | grep -v headgate/; "
        "git worktree list --porcelain | grep ^worktree | grep -v /attempts/; git status "
        "--porcelain; "
        "find . -path ./.git -prune -o -print0 | sort -z | xargs -0 ls -ld --time-style=full-iso; "
        "git fsck --full --no-dangling 2>&1");
}

static void work(struct fixture *f, const struct wt_attempt *a, const char *name)
{
    free(inside(f, a, "echo %s >%s && git add . && git commit -qm %s", name, name, name));
}

/* "merge deletes the whole repository": after a merge and a discard all is there. */
static void a_merge_and_a_discard_leave_the_repository(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    in_repo(f, "echo u >untracked && echo i >.env && git worktree add -q -b mine ../mine && "
               "echo w >../mine/uncommitted");
    make_attempt(f, &a, "1.1", true, f->engine);
    work(f, &a, "new");
    harvest(f, &a, true, &h);
    const struct wt_merge_ask ask = {.branch = "headgate/1/1"};
    assert_ok(wt_repo_open(&repo, f->repo, &err) && wt_merge(&m, &repo, &ask, &err), &err);
    AUTO_FREE char *before = persons(f);
    assert_ok(wt_discard(&a, false, &err), &err);
    assert_text(persons(f), before);
    assert_text(sh(f, f->repo, "cat untracked .env ../mine/uncommitted new"), "u\ni\nw\nnew");
}

/* A repository that was made anew at the same path, or refs that somebody cleared away. */
static void without_its_refs_an_attempt_is_kept(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    bool is_merged = true;
    make_attempt(f, &a, "1.1", true, f->engine);
    work(f, &a, "new");
    harvest(f, &a, true, &h);
    in_repo(f, "git for-each-ref --format='delete %%(refname)' refs/headgate refs/heads/headgate | "
               "git update-ref --stdin");
    assert_false(wt_is_merged(&is_merged, &a, &err));
    assert_false(wt_discard(&a, false, &err));
    assert_has(err.text, "was the repository made anew?");
    err = (struct err)ERR_INIT;
    in_repo(f, "git fetch -q '%s' HEAD && git merge -q FETCH_HEAD && test -f new", a.gitdir);
    assert_ok(wt_discard(&a, true, &err), &err);
}

/* What changed since a clock was set back is older than the harvest. */
static void a_clock_that_was_set_back_tells_nothing(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    work(f, &a, "new");
    harvest(f, &a, true, &h);
    in_repo(f, "git merge -q headgate/1/1 && touch -d '1 hour' '%s/harvested'", a.dir);
    assert_false(wt_discard(&a, false, &err));
    assert_has(err.text, "changed after");
    err = (struct err)ERR_INIT;
    in_repo(f, "touch '%s/harvested'", a.dir);
    assert_ok(wt_discard(&a, false, &err), &err);
}

/* "dismissing a session deletes the original repository": wherever an attempt's folders lead by
 * then. */
static void no_link_leads_a_discard_astray(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"tree", "upper", "work", "files", "home", "git", "scratch"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
        struct err err = ERR_INIT;
        AUTO_FREE char *before = persons(f);
        make_attempt(f, &a, "1.1", true, f->engine);
        free(sh(f, a.dir, "chmod -R u+rwx %s 2>/dev/null; rm -rf %s && ln -s %s %s", names[i],
                names[i], f->repo, names[i]));
        assert_ok(wt_discard(&a, true, &err), &err);
        assert_text(persons(f), before);
        assert_text(sh(f, a.dir, "ls -A"), "");
    }
}

/* "cleanup does not see untracked files". */
static void untracked_files_are_work(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    free(inside(f, &a, "mkdir -p deep/er && echo only >deep/er/file"));
    assert_false(wt_discard(&a, false, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    harvest(f, &a, true, &h);
    assert_false(wt_discard(&a, false, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_text(sh(f, f->repo, "git show headgate/1/1:deep/er/file"), "only");
    assert_ok(wt_discard(&a, true, &err), &err);
}

/* "restore destroys uncommitted work": a restart, a recovery and a new look leave it alone. */
static void a_restart_keeps_uncommitted_work(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, again = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    free(inside(
        f, &a,
        "echo staged >s && git add s && echo edit >>src/one.c && echo u >u && git stash -q && "
        "git stash apply -q --index && echo more >>u"));
    AUTO_FREE char *before =
        inside(f, &a, "git status --porcelain; git stash list; cat s u src/one.c");
    assert_ok(wt_recover(a.dir, &err) && wt_load(&again, a.dir, &err), &err);
    harvest(f, &again, true, &h);
    assert_ok(wt_recover(a.dir, &err), &err);
    assert_text(inside(f, &again, "git status --porcelain; git stash list; cat s u src/one.c"),
                before);
    assert_text(sh(f, f->repo,
                   "git rev-parse -q --verify refs/headgate/1/1/stash/0 >/dev/null && echo kept"),
                "kept");
}

/* "unmerged branch deleted": also what a person put on an attempt's branch. */
static void commits_of_a_person_on_the_branch_count(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    in_repo(
        f,
        "git worktree add -q ../review headgate/1/1 && cd ../review && echo p >p && git add p && "
        "git commit -qm person && cd ../repo && git worktree remove ../review");
    assert_false(wt_discard(&a, false, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_text(sh(f, f->repo, "git log -1 --format=%%s headgate/1/1"), "person");
}

/* "finish on a shared worktree strands siblings": they share a base and the repository. */
static void siblings_go_on(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    AUTO_STRV struct strv removed = STRV_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    make_attempt(f, &b, "1.2", true, f->engine);
    work(f, &b, "b");
    assert_ok(wt_discard(&a, false, &err), &err);
    assert_ok(wt_clean_bases(&removed, f->bases, f->attempts, NULL, &err), &err);
    bool is_copy = f->engine == WT_ENGINE_BTRFS || f->engine == WT_ENGINE_REFLINK;
    assert_int_equal(removed.n, is_copy); /* which needs its base no longer */
    in_repo(f, "git worktree prune --expire now && git gc -q --prune=now && git worktree list | "
               "grep -q 1.2/tree");
    assert_text(inside(f, &b, "git status --porcelain; git log --format=%%s; cat src/one.c"),
                "b\nfirst\none");
    harvest(f, &b, true, &h);
    assert_int_equal(h.commits, 1);
}

/* "objects wiped": the agent's own gc and the person's, after the agent threw commits away. */
static void no_gc_takes_what_was_harvested(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    work(f, &a, "first");
    harvest(f, &a, false, &h);
    AUTO_FREE char *thrown_away = xstrdup(h.tip);
    free(inside(f, &a,
                "git reset -q --hard HEAD~1 && git reflog expire --expire=now --all && "
                "git gc -q --prune=now && echo x >x && git add x && git commit -qm x"));
    wt_harvest_release(&h);
    harvest(f, &a, true, &h);
    in_repo(
        f,
        "git reflog expire --expire=now --all && git gc -q --prune=now && git cat-file -e %s:first",
        thrown_away);
    free(inside(f, &a, "git fsck --no-dangling"));
}

/* A branch, a tag or a worktree of the person's that looks like ours is not ours. */
static void what_looks_like_ours_is_not_touched(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    in_repo(f,
            "git branch headgate/1/10 && git branch headgate/1/1x && git tag headgate/1/1 && "
            "git worktree add -q --detach ../headgate-1.1 && git worktree lock ../headgate-1.1 && "
            "echo w >../headgate-1.1/w");
    AUTO_FREE char *before =
        sh(f, f->repo, "git for-each-ref; git worktree list --porcelain; cat ../headgate-1.1/w");
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_ok(wt_discard(&a, true, &err), &err);
    assert_text(
        sh(f, f->repo, "git for-each-ref; git worktree list --porcelain; cat ../headgate-1.1/w"),
        before);
}

/* ---- a person's git beside eight agents ---- */

struct agent {
    struct fixture *f;
    struct wt_attempt a;
    struct err err;
    char id[16];
    bool is_ok;
};

static atomic_int n_running;

static bool commit_and_harvest(struct agent *agent, int i)
{
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    struct box_arg box = {.f = agent->f, .a = &agent->a};
    bool is_last = i == COMMITS;
    if (inside_status(agent->f, &agent->a,
                      "echo %d >n && echo %s >own && git add . && git commit -qm 'commit %d' && "
                      "git gc -q --auto",
                      i, agent->id, i) != 0)
        return err_set(&agent->err, ERR_FAILED, "the agent's git failed in round %d", i);
    return wt_harvest(&h, &agent->a, is_last, box_fn, &box, &agent->err);
}

static void *run_agent(void *arg)
{
    struct agent *agent = arg;
    agent->is_ok = try_attempt(agent->f, &agent->a, agent->id, true, agent->f->engine, &agent->err);
    for (int i = 1; agent->is_ok && i <= COMMITS; i++)
        agent->is_ok = commit_and_harvest(agent, i);
    atomic_fetch_sub(&n_running, 1);
    return NULL;
}

/* Each command must succeed. */
static const char persons_day[] =
    "exec 2>../day; set -ex\n"
    "echo $1 >day && git add day && git commit -qm \"day $1\"\n"
    "c=$(git -C ../other.git -c user.name=O -c user.email=o@example.com commit-tree -p main -m "
    "\"theirs $1\" main^{tree})\n"
    "git -C ../other.git update-ref refs/heads/main $c && git -C ../other.git branch theirs$1 $c\n"
    "git fetch -q --prune other && git rev-parse -q --verify other/theirs$1 >/dev/null\n"
    "git -C ../other.git branch -q -D theirs$1\n"
    "git checkout -q -b topic$1 HEAD~1 && echo $1 >topic && git add topic && git commit -qm topic\n"
    "git rebase -q main && git checkout -q main && git merge -q --no-edit topic$1\n"
    "git branch -q -D topic$1\n"
    "git worktree prune --expire now\n"
    "git prune --expire now\n"
    "git reflog expire --expire=now --expire-unreachable=now --all\n"
    "if [ $(($1 % 2)) = 0 ]; then git gc -q; else git gc -q --prune=now; fi\n"
    "git pack-refs --all\n"
    "git stash list >/dev/null; git log --all --oneline >/dev/null\n"
    "git worktree add -q --detach ../look && git worktree remove ../look\n";

static void a_persons_git_and_eight_agents(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE struct agent *agents = xcalloc(AGENTS, sizeof(*agents));
    pthread_t threads[AGENTS];
    int round = 0;
    free(sh(f, NULL,
            "git clone -q --bare repo other.git && git -C repo remote add other ../other.git"));
    atomic_store(&n_running, AGENTS);
    for (int i = 0; i < AGENTS; i++) {
        agents[i] = (struct agent){.f = f, .a = WT_ATTEMPT_INIT, .err = ERR_INIT};
        snprintf(agents[i].id, sizeof(agents[i].id), "5.%d", i + 1);
        assert_int_equal(pthread_create(&threads[i], NULL, run_agent, &agents[i]), 0);
    }
    int failed = 0;
    while (!failed && (atomic_load(&n_running) > 0 || round < ROUNDS_MIN)) {
        AUTO_FREE char *script = xasprintf("set -- %d\n%s", ++round, persons_day);
        failed = sh_status(f, f->repo, "%s", script) ? round : 0;
    }
    for (int i = 0; i < AGENTS; i++)
        pthread_join(threads[i], NULL);
    if (failed) {
        AUTO_FREE char *said = sh(f, NULL, "tail -n 4 day");
        fail_msg("the person's git failed in round %d: %s", failed, said);
    }
    for (int i = 0; i < AGENTS; i++)
        if (!agents[i].is_ok)
            fail_msg("%s: %s", agents[i].id, agents[i].err.text);
    print_message("             %d rounds of a person's day\n", round);
    assert_text(sh(f, f->repo,
                   "git fsck --full --strict --no-dangling 2>&1; git status --porcelain; "
                   "find .git/objects -name '*.keep' -o -name 'tmp_*'"),
                "");
    for (int i = 0; i < AGENTS; i++) {
        AUTO_FREE char *expected = xasprintf("5.%d\n%d", i + 1, COMMITS);
        assert_text(sh(f, f->repo,
                       "git show headgate/5/%d:own; git log --format=%%s headgate/5/%d | grep -c "
                       "'^commit '",
                       i + 1, i + 1),
                    expected);
        wt_attempt_release(&agents[i].a);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(a_merge_and_a_discard_leave_the_repository),
        TEST(without_its_refs_an_attempt_is_kept),
        TEST(a_clock_that_was_set_back_tells_nothing),
        TEST(no_link_leads_a_discard_astray),
        TEST(untracked_files_are_work),
        TEST(a_restart_keeps_uncommitted_work),
        TEST(siblings_go_on),
    };
    const struct CMUnitTest rest[] = {
        /* the same whatever the engine */
        TEST(commits_of_a_person_on_the_branch_count),
        TEST(no_gc_takes_what_was_harvested),
        TEST(what_looks_like_ours_is_not_touched),
        TEST(a_persons_git_and_eight_agents),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
