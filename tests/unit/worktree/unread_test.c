#include "tests/unit/worktree/fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "worktree/harvest_box.h"
#include "worktree/quarantine.h"
#include "worktree/review.h"
#include "worktree/unread.h"

/* What would hold a harvest, or use up the host, and comes home as a line in the review list, or
 * not at all. */

enum { SOON_MS = 30000 };

static char *joined(const struct strv *lines)
{
    AUTO_BUF struct buf all = BUF_INIT;
    for (size_t i = 0; i < lines->n; i++)
        buf_addf(&all, "%s\n", lines->v[i]);
    return buf_steal(&all);
}

static void odd_files(struct fixture *f, bool is_large)
{
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    make_attempt(f, &a, "3.2", true, f->engine);
    free(inside(f, &a,
                "echo new >new && rm src/one.c && mkfifo src/one.c && mkfifo 'a pipe' && "
                "echo out/ >.gitignore && mkdir out && mkfifo out/ignored && "
                "truncate -s 1T out/ignored.big %s",
                is_large ? "huge" : ""));
    int64_t began_ms = clock_mono_ms();
    harvest(f, &a, true, &h);
    assert_true(clock_mono_ms() - began_ms < SOON_MS);
    assert_text(joined(&h.review), is_large ? "special file, left out\ta pipe\n"
                                              "special file, left out\tsrc/one.c\n"
                                              "too large, left out\thuge\n"
                                            : "special file, left out\ta pipe\n"
                                              "special file, left out\tsrc/one.c\n");
    assert_has(h.note, "pipes, sockets or devices were left out");
    assert_text(sh(f, f->repo, "git diff --name-only main headgate/3/2"), ".gitignore\nnew");
    in_repo(f, "git merge -q headgate/3/2");
    if (!is_large) {
        assert_ok(wt_discard(&a, false, &err), &err);
        return;
    }
    assert_has(h.note, "too large");
    assert_false(wt_discard(&a, false, &err));
    assert_has(err.text, "too large to be brought home");
    wt_harvest_release(&h);
    free(inside(f, &a, "rm huge"));
    harvest(f, &a, true, &h);
    assert_ok(wt_discard(&a, false, &err), &err);
}

static void large_files_are_left_out_and_told(void **state)
{
    odd_files(*state, true);
}

static void special_files_alone_keep_nothing(void **state)
{
    odd_files(*state, false);
}

static void the_git_folder_holds_nothing_that_waits(void **state)
{
    static const char *const scripts[] = {
        "cp HEAD h && rm HEAD && mkfifo HEAD; echo 'mv h HEAD'",
        "truncate -s 1T packed-refs; echo 'rm packed-refs'",
        "mkfifo refs/heads/x; echo 'rm refs/heads/x'",
        "mkdir -p objects/00 && mkfifo objects/00/11; echo 'rm objects/00/11'",
    };
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "3.2", true, f->engine);
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        struct err err = ERR_INIT;
        AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
        AUTO_WT_HARVEST struct wt_harvest again = WT_HARVEST_INIT;
        struct box_arg box = {.f = f, .a = &a};
        AUTO_FREE char *mend = sh(f, a.gitdir, "%s", scripts[i]);
        int64_t began_ms = clock_mono_ms();
        assert_false(wt_harvest(&h, &a, i % 2 == 0, box_fn, &box, &err));
        assert_true(clock_mono_ms() - began_ms < SOON_MS);
        assert_has(err.text, "where git reads");
        free(sh(f, a.gitdir, "%s", mend));
        harvest(f, &a, true, &again);
    }
}

static void add_stored(struct buf *out, const unsigned char *data, size_t len)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < len; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    const unsigned char head[] = {0x78,
                                  0x01,
                                  1,
                                  (unsigned char)len,
                                  (unsigned char)(len >> 8),
                                  (unsigned char)~len,
                                  (unsigned char)(~len >> 8)};
    const unsigned char tail[] = {(unsigned char)(b >> 8), (unsigned char)b,
                                  (unsigned char)(a >> 8), (unsigned char)a};
    buf_add(out, head, sizeof(head));
    buf_add(out, data, len);
    buf_add(out, tail, sizeof(tail));
}

/* A pack of a hundred bytes, one of whose objects is a delta that says it makes two gibibytes
 * (gitformat-pack(5)). */
static int open_bomb(const struct fixture *f)
{
    static const unsigned char blob[16] = "sixteen bytes..";
    static const unsigned char delta[] = {16,   0xff, 0xff, 0xff, 0xff, 0x07, /* 16 to 2 GiB */
                                          0x90, 16};                          /* a copy of 16 */
    AUTO_BUF struct buf pack = BUF_INIT;
    AUTO_FREE char *path = fs_join(f->root, "bomb");
    struct err err = ERR_INIT;
    buf_add(&pack, "PACK\0\0\0\2\0\0\0\2", 12);
    size_t base = pack.len;
    buf_addch(&pack, (char)(0x80 | 3 << 4)); /* blob, its size in two bytes */
    buf_addch(&pack, 1);
    add_stored(&pack, blob, sizeof(blob));
    size_t distance = pack.len - base;
    buf_addch(&pack, (char)(6 << 4 | sizeof(delta))); /* a delta to what lies before */
    buf_addch(&pack, (char)distance);
    add_stored(&pack, delta, sizeof(delta));
    assert_ok(fs_write_plain(AT_FDCWD, path, pack.ptr, pack.len, 0600, &err), &err);
    free(sh(f, f->root,
            "/usr/bin/printf \"$(sha1sum <bomb | cut -c1-40 | sed 's/../\\\\x&/g')\" >>bomb"));
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void a_delta_bomb_is_refused_before_it_is_made(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf tips = BUF_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "3.2", true, f->engine);
    AUTO_FREE char *path = quarantine_path(a.repo, "bomb");
    AUTO_FD int fd = open_bomb(f);
    assert_true(fd >= 0);
    assert_false(quarantine_fill(path, &a, fd, &tips, &err));
    assert_has(err.text, "not sound");
    assert_has(err.text, "emory");
}

static void every_kind_is_named_wherever_it_lies(void **state)
{
    static const struct {
        const char *path, *why;
    } cases[] = {
        {".github/workflows/x.yml", "ci"},
        {".gitlab-ci.yml", "ci"},
        {".GITLAB-CI.YML", "ci"},
        {"sub/.gitlab-ci.yml", NULL},
        {"sub/Jenkinsfile", "ci"},
        {".cirrus.yml", "ci"},
        {"a/.husky/pre-push", "hooks"},
        {"lefthook.toml", "hooks"},
        {"scripts/hooks/x", "hooks"},
        {"scripts/hooksx", NULL},
        {".claude/agents/x.md", "agent settings"},
        {"deep/down/AGENTS.md", "agent settings"},
        {"sub/.clinerules/x", "agent settings"},
        {".github/copilot-instructions.md", "agent settings"},
        {"x/.vscode/launch.json", "editor settings"},
        {"it.code-workspace", "editor settings"},
        {"it.code-workspace/x", NULL},
        {"sub/.nvim.lua", "editor settings"},
        {"sub/.dir-locals.el", "editor settings"},
        {".envrc", "shell settings"},
        {"sub/.tool-versions", "shell settings"},
        {".yarnrc.yml", "tool settings"},
        {"crate/.cargo/config.toml", "tool settings"},
        {".mvn/extensions.xml", "tool settings"},
        {"sub/.gitmodules", "submodules"},
        {"sub/.gitattributes", "git attributes"},
        {"src/main.c", NULL},
        {"Makefile", NULL},
        {"claude/settings.json", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *why = review_reason_of_path(cases[i].path, "scripts/hooks/");
        if (!why != !cases[i].why || (why && strcmp(why, cases[i].why) != 0))
            fail_msg("%s: %s", cases[i].path, why ? why : "nothing");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(large_files_are_left_out_and_told),
        TEST(special_files_alone_keep_nothing),
        TEST(the_git_folder_holds_nothing_that_waits),
    };
    const struct CMUnitTest rest[] = {
        /* the same whatever the engine */
        TEST(a_delta_bomb_is_refused_before_it_is_made),
        cmocka_unit_test(every_kind_is_named_wherever_it_lies),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
