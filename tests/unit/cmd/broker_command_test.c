/* The command that runs with a credential: nothing in it but what the table read, behind -- where
 * it is a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runner/base/mem.h"
#include "runner/cmd/broker_job.h"

#define OID "0123456789abcdef0123456789abcdef01234567"

/* The command from `git --git-dir` or the program on, in one line. */
static char *command(const char *typed, const char *url, const char *env)
{
    AUTO_STRV struct strv argv = STRV_INIT, words = STRV_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    struct err err = ERR_INIT;
    struct broker_job job = {.act = BROKER_ACT_INIT,
                             .ref = "refs/heads/fix",
                             .commit = OID,
                             .project = "me/app",
                             .env = STRV_INIT};
    strv_split(&words, typed, ' ', false);
    assert_true(broker_read(&job.act, words.v, words.n, &err));
    assert_true(broker_url_parse(&job.url, url, &err));
    strv_push(&job.env, env);
    broker_command(&argv, &job);
    size_t from = 0;
    for (size_t i = 0; i < argv.n; i++)
        if (strncmp(argv.v[i], "--git-dir=", 10) == 0)
            from = i + 1;
    for (size_t i = from; i < argv.n; i++)
        buf_addf(&out, "%s%s", i > from ? " " : "", argv.v[i]);
    broker_act_release(&job.act);
    broker_url_release(&job.url);
    strv_release(&job.env);
    return buf_steal(&out);
}

static void it_is_what_was_read(void **state)
{
    static const char *const rows[][3] = {
        {"git push -q -u origin HEAD:elsewhere", "git@h.test:a/b",
         "push -q -- git@h.test:a/b " OID ":refs/heads/fix"},
        {"git push -o x --force-with-lease=fix:" OID " origin HEAD:fix", "https://u:p@h.test/a",
         "push -o x --force-with-lease=fix:" OID " -- https://h.test/a " OID ":refs/heads/fix"},
        {"git fetch --depth 1 origin main pull/7/head", "https://h.test/a",
         "fetch --no-write-fetch-head --no-auto-maintenance --prune --no-tags --quiet -- "
         "https://h.test/a "
         "+refs/heads/*:refs/heads/* +refs/tags/*:refs/tags/* +refs/pull/7/head:refs/pull/7/head"},
        {"git fetch origin refs/notes/x:refs/notes/y", "https://h.test/a",
         "fetch --no-write-fetch-head --no-auto-maintenance --prune --no-tags --quiet -- "
         "https://h.test/a "
         "+refs/heads/*:refs/heads/* +refs/tags/*:refs/tags/* +refs/notes/x:refs/notes/x"},
        {"git ls-remote --heads origin main", "ssh://h.test:2222/a",
         "ls-remote --heads -- ssh://h.test:2222/a main"},
        {"gh pr comment 7 --body=x", "https://h.test/me/app",
         "gh pr comment --body=x --repo=hub.test/me/app -- 7"},
        {"glab mr note 7 -m x", "https://h.test/me/app",
         "glab mr note -m x --repo=https://lab.test/me/app -- 7"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_glab = strncmp(rows[i][0], "glab", 4) == 0;
        AUTO_FREE char *got =
            command(rows[i][0], rows[i][1], is_glab ? "GITLAB_HOST=lab.test" : "GH_HOST=hub.test");
        assert_string_equal(got, rows[i][2]);
    }
}

static void a_credential_is_never_a_word(void **state)
{
    (void)state;
    AUTO_STRV struct strv argv = STRV_INIT, words = STRV_INIT;
    struct err err = ERR_INIT;
    struct broker_job job = {
        .act = BROKER_ACT_INIT, .ref = "refs/heads/x", .commit = OID, .env = STRV_INIT};
    strv_split(&words, "git push", ' ', false);
    assert_true(broker_read(&job.act, words.v, words.n, &err));
    assert_true(broker_url_parse(&job.url, "https://me:secret@h.test/a", &err));
    strv_push(&job.env, "HEADGATE_CREDENTIAL=password=secret");
    broker_command(&argv, &job);
    bool has_lookup = false;
    for (size_t i = 0; i < argv.n; i++) {
        assert_null(strstr(argv.v[i], "secret"));
        has_lookup = has_lookup || strstr(argv.v[i], "$HEADGATE_CREDENTIAL");
    }
    assert_true(has_lookup);
    broker_act_release(&job.act);
    broker_url_release(&job.url);
    strv_release(&job.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_was_read),
        cmocka_unit_test(a_credential_is_never_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
