/*
 * Execs that carry out calls (policy `match`): the exec of an approved call is not asked about, any
 * other is, and what runs below is known by its call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

/* A call of this shell command, allowed at once, and what the agent then starts. */
#define CALL(command) "keep_caller call Bash '{\"command\":\"" command "\"}' >/dev/null; "

static void match(struct world *w, const char *script)
{
    world_init_execs(w, script, "match");
    jx_set(jx_obj(w->config, "exec"), "calls", json_pack("[[s,s,s],[s]]", "sh", "-c", "%c", "%w"));
    jx_set(jx_obj(w->config, "exec"), "helpers", json_pack("[[s,s]]", "keep_caller", "%*"));
}

/* The call that a program is said to have been started for first; NULL: none is known. */
static const char *call_behind(const json_t *records, const char *path)
{
    size_t i, k;
    json_t *record, *program;
    json_array_foreach(records, i, record)
    {
        json_array_foreach(jx_arr(record, "new"), k, program)
        {
            if (strcmp(jx_str(program, "path", ""), path) == 0)
                return jx_str(program, "call_id", NULL);
        }
    }
    fail_msg("%s was not named", path);
    return NULL;
}

static void expect_call_behind(const json_t *records, const char *path, const char *want)
{
    const char *call = call_behind(records, path);
    if (!call || strcmp(call, want) != 0)
        fail_msg("the call behind %s is %s, not %s", path, call ? call : "not known", want);
}

static void an_exec_that_carries_out_a_call_is_not_asked(void **state)
{
    (void)state;
    struct world w;
    match(&w,
          CALL("/bin/echo one; /bin/echo two") "/bin/sh -c '/bin/echo one; /bin/echo two'; " CALL(
              "/bin/echo three") "/bin/echo three; " CALL("/bin/false") "/bin/absent; (exec "
                                                                        "/bin/absent); sh -c "
                                                                        "/bin/false; echo end $?");
    world_set_rule(&w, "deny exec absent");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "asked"), 0);
    expect_call_behind(records, "/usr/bin/echo", "x1");
    assert_null(call_behind(records, "/t/keep_caller"));
    world_expect_in_log(&w, "one\ntwo\nthree\n");
    world_expect_in_log(&w, "end 1\n");
    world_done(&w);
}

/* However short they live. */
static void programs_that_end_at_once_are_known_by_their_call(void **state)
{
    enum { PROGRAMS = 150 };
    (void)state;
    struct world w;
    match(&w,
          "mkdir /w/p; i=0; while [ $i -lt 150 ]; do cp /bin/true /w/p/$i; i=$((i+1)); done; " CALL(
              "for p in /w/p/*; do $p; done") "/bin/sh -c 'for p in /w/p/*; do $p; done'; echo end "
                                              "$?");
    world_set_rule(&w, "allow exec cp");
    world_set_rule(&w, "allow exec mkdir");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "end 0\n");
    AUTO_JSON json_t *records = world_spool(&w);
    for (int i = 0; i < PROGRAMS; i++) {
        AUTO_FREE char *path = xasprintf("/w/p/%d", i);
        expect_call_behind(records, path, "x1");
    }
    world_done(&w);
}

/* What no call stands behind is asked: another command, the same a second time, in another folder,
 * by a program of the worktree under a system name, and below an approved call by a rule. */
static void an_exec_without_a_call_is_asked(void **state)
{
    (void)state;
    static const struct {
        const char *script, *rule, *program;
    } cases[] = {
        {CALL("/bin/echo a") "sh -c '/bin/echo b'; ", NULL, "/usr/bin/dash"},
        {CALL("/bin/echo a") "sh -c '/bin/echo a'; sh -c '/bin/echo a'; ", NULL, "/usr/bin/dash"},
        {CALL("/bin/echo a") "cd /tmp; sh -c '/bin/echo a'; ", NULL, "/usr/bin/dash"},
        {"cp /t/exec_good keep_caller; ", "allow exec cp", "/w/keep_caller"},
        {CALL("/bin/true; /t/exec_good") "sh -c '/bin/true; /t/exec_good'; ", "ask exec exec_good",
         "/t/exec_good"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;
        AUTO_FREE char *script =
            xasprintf("%s%s echo status $?", cases[i].script, i == 3 ? "./keep_caller x;" : "");
        match(&w, script);
        if (cases[i].rule)
            world_set_rule(&w, cases[i].rule);
        world_start(&w);
        AUTO_JSON json_t *asked = world_record(&w, "asked");
        const json_t *request = jx_obj(asked, "request");
        assert_string_equal(jx_str(request, "source", ""), "exec");
        assert_string_equal(jx_str(jx_obj(request, "args"), "program", ""), cases[i].program);
        assert_string_equal(jx_str(request, "call_id", ""), i == 4 ? "x1" : "");
        assert_true((jx_int(asked, "below", 0) > 0) == (i == 4));
        world_decide(&w, asked, "deny");
        world_expect_exit(&w, 0, "exit");
        world_expect_in_log(&w, "status 126\n");
        world_done(&w);
    }
}

/* What a driver starts is the agent as well, and so are its forks whose parent has ended. */
static void an_agent_behind_a_driver_is_asked_about(void **state)
{
    (void)state;
    struct world w;
    match(&w,
          "sh -c '(/bin/true; echo $? >/w/orphan; : >/w/up) & exit 0'; read x </w/up; cat orphan");
    jx_set(jx_obj(w.config, "exec"), "helpers", json_pack("[[s,s]]", "cat", "%*"));
    jx_set(jx_obj(w.config, "exec"), "selves", json_pack("[[s,s,s]]", "sh", "-c", "%*"));
    AUTO_FREE char *up = fs_join(w.dir, "w/up");
    assert_int_equal(mkfifo(up, 0666), 0);
    assert_int_equal(chmod(up, 0666), 0);
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    assert_string_equal(jx_str(jx_obj(jx_obj(asked, "request"), "args"), "program", ""),
                        "/usr/bin/true");
    world_decide(&w, asked, "deny");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "126\n");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(an_exec_that_carries_out_a_call_is_not_asked),
        world_test(programs_that_end_at_once_are_known_by_their_call),
        world_test(an_exec_without_a_call_is_asked),
        world_test(an_agent_behind_a_driver_is_asked_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
