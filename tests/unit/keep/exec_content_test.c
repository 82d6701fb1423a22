/*
 * A program that the box can write is known by its content: a decision, and a rule, are about the
 * bytes that were there, and other bytes under the same name are asked about again.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

static void gate(struct world *w, const char *script, const char *rule)
{
    world_init(w, script);
    w->spec.exec_notify = true;
    jx_set(w->config, "exec",
           json_pack("{s:s s:b s:i}", "policy", "ask", "required", 1, "deadline_ms", 20000));
    json_t *rules = jx_arr(jx_obj(w->config, "policy"), "rules");
    json_array_append_new(rules, json_pack("{s:i s:s}", "id", 6, "text", "allow exec cp"));
    if (rule)
        json_array_append_new(rules, json_pack("{s:i s:s}", "id", 7, "text", rule));
    world_start(w);
}

static void decide(struct world *w, const json_t *asked, const char *decision)
{
    world_send(w, json_pack("{s:s s:O s:s s:s s:O}", "t", "decide", "call",
                            json_object_get(asked, "call"), "name", "c1", "decision", decision,
                            "digest", json_object_get(asked, "digest")));
}

static const json_t *args_of(const json_t *asked)
{
    return jx_obj(jx_obj(asked, "request"), "args");
}

/* As sha256sum says it of a file beside the tests' callers. */
static void expect_content(const json_t *asked, const char *name)
{
    char want[DIGEST_HEX_SIZE];
    struct err err = ERR_INIT;
    AUTO_FREE char *folder = fs_dirname(CALLER);
    AUTO_FREE char *file = fs_join(folder, name);
    AUTO_FD int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(digest_fd(want, fd, 1 << 30, &err));
    assert_string_equal(jx_str(args_of(asked), "content", ""), want);
}

static void a_changed_file_is_asked_again(void **state)
{
    (void)state;
    struct world w;
    gate(&w,
         "cp /t/exec_good p; ./p; echo first $?; ./p; echo again $?; cp /t/exec_evil p; ./p; "
         "echo changed $?; cp /t/exec_good p; ./p; echo back $?",
         NULL);
    AUTO_JSON json_t *first = world_record(&w, "asked");
    expect_content(first, "exec_good");
    decide(&w, first, "allow");
    AUTO_JSON json_t *changed = world_record(&w, "asked");
    expect_content(changed, "exec_evil");
    assert_string_not_equal(jx_str(first, "action", ""), jx_str(changed, "action", ""));
    decide(&w, changed, "deny");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "first 0\nagain 0\n");
    world_expect_in_log(&w, "changed 126\n");
    world_expect_in_log(&w, "back 0\n");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "asked"), 2);
    world_done(&w);
}

static void a_rule_means_the_file_that_it_met(void **state)
{
    (void)state;
    struct world w;
    gate(&w, "cp /t/exec_good p; ./p; echo first $?; cp /t/exec_evil p; ./p; echo changed $?",
         "allow exec p");
    AUTO_JSON json_t *changed = world_record(&w, "asked");
    assert_non_null(strstr(jx_str(changed, "reason", ""), "it has changed since a rule"));
    decide(&w, changed, "deny");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "first 0\n");
    world_expect_in_log(&w, "changed 126\n");
    world_done(&w);
}

/* A rule allows a program, and not what the box calls by its name: another program of the system
 * behind a link, as an interpreter too, a file of its own, what the loader is told to load. */
static void a_lent_name_is_asked(void **state)
{
    (void)state;
    static const struct {
        const char *script, *program;
    } cases[] = {
        {"cp -s /t/exec_evil id; ./id", "/t/exec_evil"},
        {"cp /t/exec_evil id; ./id", "/w/id"},
        {"cp -s /t/exec_evil id; cp /t/exec_good s; echo '#!/w/id' >s; ./s", "/w/s"},
#if defined(__x86_64__)
        {"/lib64/ld-linux-x86-64.so.2 /usr/bin/id", NULL},
#endif
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;
        AUTO_FREE char *script = xasprintf("%s; echo status $?", cases[i].script);
        gate(&w, script, "allow exec id");
        AUTO_JSON json_t *asked = world_record(&w, "asked");
        if (cases[i].program)
            assert_string_equal(jx_str(args_of(asked), "program", ""), cases[i].program);
        decide(&w, asked, "deny");
        world_expect_exit(&w, 0, "exit");
        world_expect_in_log(&w, "status 126\n");
        world_done(&w);
    }
}

/* However it is reached, and by the names that the system itself gives it. */
static void a_program_of_the_system_keeps_its_names(void **state)
{
    (void)state;
    struct world w;
    gate(&w,
         "cp -s /usr/bin/sh mine; /usr/bin/sh -c 'echo one'; /bin/sh -c 'echo two'; sh -c 'echo "
         "three'; "
         "cp -s /usr/bin/cp dup; ./dup /t/exec_good tool; ./tool; echo status $?",
         "allow exec sh");
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    assert_string_equal(jx_str(args_of(asked), "program", ""), "/w/tool");
    decide(&w, asked, "deny");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "one\ntwo\nthree\n");
    world_expect_in_log(&w, "status 126\n");
    world_done(&w);
}

/* The script, not its interpreter; and what is changed while a person looks does not start. */
static void a_script_that_changes_while_it_waits_does_not_start(void **state)
{
    (void)state;
    struct world w;
    static const char good[] = "#!/bin/sh\necho good\n", evil[] = "#!/bin/sh\necho evil\n";
    gate(&w, "echo '#!/bin/sh\necho good' >p; chmod +x p; ./p; echo status $?; ./p", NULL);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    AUTO_FREE char *file = fs_join(w.dir, "w/p");
    char want[DIGEST_HEX_SIZE];
    digest_bytes(want, good, sizeof good - 1);
    assert_string_equal(jx_str(args_of(asked), "content", ""), "" /* chmod is asked first */);
    decide(&w, asked, "allow");
    AUTO_JSON json_t *script = world_record(&w, "asked");
    assert_string_equal(jx_str(args_of(script), "content", ""), want);
    AUTO_FD int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, evil, sizeof evil - 1), (ssize_t)sizeof evil - 1);
    decide(&w, script, "allow");
    AUTO_JSON json_t *note = world_record(&w, "note");
    assert_non_null(strstr(jx_str(note, "text", ""), "was changed while you decided"));
    AUTO_JSON json_t *again = world_record(&w, "asked");
    decide(&w, again, "deny");
    world_expect_exit(&w, 126, "exit");
    world_expect_in_log(&w, "status 126\n");
    world_done(&w);
}

static void what_the_box_cannot_write_has_its_name_alone(void **state)
{
    (void)state;
    struct world w;
    gate(&w, "/t/exec_good; echo status $?", NULL);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    assert_string_equal(jx_str(args_of(asked), "content", "none"), "none");
    decide(&w, asked, "allow");
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_changed_file_is_asked_again),
        world_test(a_rule_means_the_file_that_it_met),
        world_test(a_lent_name_is_asked),
        world_test(a_program_of_the_system_keeps_its_names),
        world_test(a_script_that_changes_while_it_waits_does_not_start),
        world_test(what_the_box_cannot_write_has_its_name_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
