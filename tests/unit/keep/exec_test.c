/*
 * The exec gate of a keeper: callers of every kind are decided and none is lost, and no racer runs
 * what the gate refuses. The same racers win where verification is left out.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

enum { RACES = 2000 };

struct counts {
    int good, evil, killed, denied, missing, other;
};

static struct counts counts_of(const struct world *w, const char *mode)
{
    struct counts c = {0};
    AUTO_BUF struct buf log = BUF_INIT;
    AUTO_FREE char *head = xasprintf("%s: good=", mode);
    world_log(w, &log);
    const char *line = strstr(log.ptr, head);
    if (!line ||
        sscanf(line + strlen(mode), ": good=%d evil=%d killed=%d denied=%d missing=%d other=%d",
               &c.good, &c.evil, &c.killed, &c.denied, &c.missing, &c.other) != 6)
        fail_msg("no counts of %s: %s", mode, log.ptr);
    print_message("%s: good=%d evil=%d killed=%d denied=%d missing=%d other=%d\n", mode, c.good,
                  c.evil, c.killed, c.denied, c.missing, c.other);
    return c;
}

static struct counts race(const char *mode, int n, bool is_verified)
{
    struct world w;
    AUTO_FREE char *script =
        xasprintf("cp /t/exec_good /w/file; printf '#!/t/exec_evil\n' >/w/other; "
                  "chmod 0755 /w/other; exec_racer %s %d",
                  mode, n);
    world_init_execs(&w, script, "watch");
    world_set_rule(&w, "deny exec exec_evil");
    if (!is_verified) {
        jx_set_bool(jx_obj(w.config, "exec"), "verify", false);
        jx_set_bool(jx_obj(w.config, "exec"), "required", false);
    }
    AUTO_FREE char *link = fs_join(w.dir, "w/link");
    assert_int_equal(symlink("/t/exec_good", link), 0);
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    struct counts c = counts_of(&w, mode);
    world_done(&w);
    return c;
}

static void no_race_is_won(const char *mode)
{
    struct counts c = race(mode, RACES, true);
    assert_int_equal(c.evil, 0);
    assert_int_equal(c.other, 0);
    assert_int_equal(c.good + c.killed + c.denied, RACES);
    assert_true(c.good > 0);
    assert_true(c.killed > 0); /* it was tried */
}

static void a_thread_that_flips_the_path_never_wins(void **state)
{
    (void)state;
    no_race_is_won("thread");
}

static void a_parent_that_flips_the_path_of_its_vfork_never_wins(void **state)
{
    (void)state;
    no_race_is_won("vfork");
}

static void a_process_that_shares_the_memory_never_wins(void **state)
{
    (void)state;
    no_race_is_won("peer");
}

static void a_link_that_is_turned_never_wins(void **state)
{
    (void)state;
    no_race_is_won("link");
}

static void a_file_that_is_exchanged_never_wins(void **state)
{
    (void)state;
    no_race_is_won("rename");
}

/* A racer needs its moment, which a busy machine may deny it for a while. */
static void wins_in_the_end(const char *mode)
{
    for (int tries = 0; tries < 20; tries++)
        if (race(mode, RACES / 4, false).evil > 0)
            return;
    fail_msg("%s never won", mode);
}

static void without_verification_the_racers_win(void **state)
{
    (void)state;
    wins_in_the_end("thread");
    wins_in_the_end("vfork");
    wins_in_the_end("peer");
    wins_in_the_end("link");
    wins_in_the_end("rename");
}

static void expect(const char *mode, int n, struct counts want)
{
    struct counts c = race(mode, n, true);
    assert_int_equal(c.good, want.good);
    assert_int_equal(c.denied, want.denied);
    assert_int_equal(c.missing, want.missing);
    assert_int_equal(c.evil + c.killed + c.other, 0);
}

static void callers_of_every_kind_are_decided(void **state)
{
    (void)state;
    expect("nonleader", 200, (struct counts){.good = 200});
    expect("crowd", 200, (struct counts){.good = 200});
    expect("missing", 200, (struct counts){.missing = 200});
    expect("stubborn", 200, (struct counts){.good = 200});
    expect("undumpable", 50, (struct counts){.good = 50});
    expect("evil", 50, (struct counts){.denied = 50});
    expect("big", 5, (struct counts){.good = 5});
    expect("spawn", 500, (struct counts){.good = 500});
}

static void programs_are_judged_by_what_they_are(void **state)
{
    (void)state;
    expect("fds", 10, (struct counts){.good = 20, .denied = 20});
    expect("loader", 10, (struct counts){.good = 10, .denied = 10});
    expect("memory", 10, (struct counts){.good = 10});
}

static void a_debugger_is_refused_unless_granted(void **state)
{
    (void)state;
    struct world w;
    expect("debugger", 3, (struct counts){.denied = 3});
    world_init_execs(&w, "exec_racer debugger 3", "watch");
    jx_set_bool(jx_obj(w.config, "exec"), "debugger", true);
    world_start(&w);
    AUTO_JSON json_t *layers = world_record(&w, "layers");
    const json_t *exec = json_array_get(jx_arr(layers, "layers"), LAYER_COUNT);
    assert_non_null(strstr(jx_str(exec, "limits", ""), "given up (gate.debugger)"));
    AUTO_JSON json_t *execs = world_record(&w, "execs");
    assert_int_equal(jx_int(execs, "unverified", 0), 3);
    world_expect_exit(&w, 0, "exit");
    assert_int_equal(counts_of(&w, "debugger").good, 3);
    world_done(&w);
}

/* What the gate cannot read it cannot judge. Root reads everything. */
static void a_program_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    struct world w;
    world_init_execs(
        &w, "cp /t/exec_good p; chmod 0111 p; ./p; echo status $?; chmod 0755 p; ./p; echo then $?",
        "watch");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, geteuid() == 0 ? "status 0\n" : "status 126\n");
    world_expect_in_log(&w, "then 0\n");
    world_done(&w);
}

static void bytes_of_arguments_arrive_as_they_were(void **state)
{
    (void)state;
    struct world w;
    world_init_execs(&w, "exec_racer bytes 1", "watch");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "arg 78\narg 70 72 69 6e 74\narg ff fe 0a\narg\n");
    world_done(&w);
}

/* Scripts of scripts, by relative paths, links and interpreters with an argument; and what the
 * kernel itself refuses keeps its errno. */
static void scripts_run_as_without_a_gate(void **state)
{
    (void)state;
    struct world w;
    world_init_execs(&w,
                     "mkdir d; printf '#!/bin/sh -e\\necho one $0 $1\\n' > d/one; chmod +x d/one; "
                     "printf '#! /w/d/one  two  \\n' > two; chmod +x two; ln -s ../two d/link; "
                     "./d/one a; cd d; ./link b; ../two c; PATH=/w/d:$PATH one d; "
                     "printf 'echo plain\\n' > /w/plain; chmod +x /w/plain; /w/plain; "
                     "printf 'none' > /w/none; /w/none; echo status $?; /w/absent; echo status $?; "
                     "/w/d; echo status $?; /proc/self/exe -c 'echo self'",
                     "watch");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "one ./d/one a\n");
    world_expect_in_log(&w, "one /w/d/one two\n");
    world_expect_in_log(&w, "one /w/d/one d\n");
    world_expect_in_log(&w, "plain\n");
    world_expect_in_log(&w, "status 126\n");
    world_expect_in_log(&w, "status 127\n");
    world_expect_in_log(&w, "self\n");
    world_done(&w);
}

/* Above /proc/self is the box: its programs are found there, and a folder of this host, which is
 * absent in the box, has the errno of what is absent (EACCES would tell that it exists). */
static void what_is_above_proc_self_is_of_the_box(void **state)
{
    (void)state;
    struct world w;
    world_init_execs(&w,
                     "/w/host; echo host $?; /proc/self/../../t/exec_good; echo self $?; "
                     "/proc/thread-self/../../../../t/exec_good; echo thread $?; "
                     "/proc/self/task/../root/t/exec_good; echo root $?",
                     "watch");
    AUTO_FREE char *link = fs_join(w.dir, "w/host");
    AUTO_FREE char *target = xasprintf("/proc/self/../..%s", w.attempt);
    assert_int_equal(symlink(target, link), 0);
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "host 127\n");
    world_expect_in_log(&w, "self 0\n");
    world_expect_in_log(&w, "thread 0\n");
    world_expect_in_log(&w, "root 0\n");
    world_done(&w);
}

static void programs_are_counted_and_denials_recorded(void **state)
{
    (void)state;
    struct world w;
    world_init_execs(&w,
                     "for i in 1 2 3 4 5; do /t/exec_good; done; /t/exec_evil; echo status $?; "
                     "cp /t/exec_good sudo; ./sudo; cp /t/exec_good x; ./x",
                     "watch");
    world_set_rule(&w, "deny exec exec_evil");
    world_start(&w);
    AUTO_JSON json_t *layers = world_record(&w, "layers");
    const json_t *exec = json_array_get(jx_arr(layers, "layers"), LAYER_COUNT);
    assert_string_equal(jx_str(exec, "name", ""), "exec");
    assert_string_equal(jx_str(exec, "state", ""), "active");
    AUTO_JSON json_t *denied = world_record(&w, "decided");
    const json_t *request = jx_obj(denied, "request");
    assert_string_equal(jx_str(request, "source", ""), "exec");
    assert_string_equal(jx_str(jx_obj(request, "args"), "program", ""), "/t/exec_evil");
    assert_int_equal(jx_int(denied, "rule", 0), 7);
    AUTO_JSON json_t *execs = world_record(&w, "execs");
    assert_int_equal(jx_int(execs, "total", 0), 9); /* the shell, cp, x */
    assert_int_equal(jx_int(execs, "denied", 0), 2);
    const json_t *program = json_array_get(jx_arr(execs, "programs"), 1);
    assert_string_equal(jx_str(program, "path", ""), "/t/exec_good");
    assert_int_equal(jx_int(program, "n", 0), 5);
    world_expect_in_log(&w, "status 126\n");
    world_done(&w);
}

static void the_agents_own_execs_are_asked_once(void **state)
{
    (void)state;
    struct world w;
    world_init_execs(&w,
                     "/t/exec_good; echo first $?; /t/exec_good; echo again $?; "
                     "sh -c '/t/exec_good; /bin/true'; echo below $?; /bin/true; echo late $?",
                     "ask");
    world_start(&w);
    AUTO_JSON json_t *first = world_record(&w, "asked");
    const json_t *args = jx_obj(jx_obj(first, "request"), "args");
    assert_string_equal(jx_str(args, "program", ""), "/t/exec_good");
    assert_int_equal(json_array_size(jx_arr(args, "parents")), 2);
    world_decide(&w, first, "allow");
    AUTO_JSON json_t *shell = world_record(&w, "asked"); /* the second exec_good was not asked */
    args = jx_obj(jx_obj(shell, "request"), "args");
    assert_string_equal(json_string_value(json_array_get(jx_arr(args, "argv"), 0)), "sh");
    world_decide(&w, shell, "allow");
    AUTO_JSON json_t *last = world_record(&w, "asked"); /* what ran below was not asked */
    args = jx_obj(jx_obj(last, "request"), "args");
    assert_string_equal(json_string_value(json_array_get(jx_arr(args, "argv"), 0)), "/bin/true");
    AUTO_JSON json_t *expired = world_record(&w, "expired");
    assert_int_equal(jx_int(expired, "call", -1), jx_int(last, "call", 0));
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "first 0\nagain 0\nbelow 0\n");
    world_expect_in_log(&w, "late 126\n");
    world_done(&w);
}

static void a_denied_exec_has_an_errno_and_a_rule_covers_others(void **state)
{
    (void)state;
    struct world w;
    world_init_execs(&w, "/t/exec_good; echo good $?; /bin/true; echo true $?", "ask");
    world_set_rule(&w, "allow exec /t/exec_good");
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    world_decide(&w, asked, "deny");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "good 0\n");
    world_expect_in_log(&w, "true 126\n");
    world_done(&w);
}

static void a_keeper_that_dies_lets_nothing_run(void **state)
{
    (void)state;
    struct world w;
    world_init_execs(&w, "exec 9> /w/up; /usr/bin/touch /w/ran", "ask");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    assert_non_null(asked);
    kill(w.keeper.pid, SIGKILL);
    world_await_hang_up(up);
    close(up);
    AUTO_FREE char *ran = fs_join(w.dir, "w/ran");
    assert_false(fs_exists(ran));
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(programs_are_counted_and_denials_recorded),
        world_test(scripts_run_as_without_a_gate),
        world_test(what_is_above_proc_self_is_of_the_box),
        world_test(callers_of_every_kind_are_decided),
        world_test(programs_are_judged_by_what_they_are),
        world_test(a_program_that_cannot_be_read_is_refused),
        world_test(bytes_of_arguments_arrive_as_they_were),
        world_test(a_debugger_is_refused_unless_granted),
        world_test(a_thread_that_flips_the_path_never_wins),
        world_test(a_parent_that_flips_the_path_of_its_vfork_never_wins),
        world_test(a_process_that_shares_the_memory_never_wins),
        world_test(a_link_that_is_turned_never_wins),
        world_test(a_file_that_is_exchanged_never_wins),
        world_test(without_verification_the_racers_win),
        world_test(the_agents_own_execs_are_asked_once),
        world_test(a_denied_exec_has_an_errno_and_a_rule_covers_others),
        world_test(a_keeper_that_dies_lets_nothing_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
