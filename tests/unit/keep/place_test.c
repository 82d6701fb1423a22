/*
 * Where programs lie in the real box: a rule covers a name only where the agent cannot have put the
 * program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

#define CALL "keep_caller call Bash '{\"command\":\"id -u\"}'"
#define PLANT "mkdir -p /h/bin; cp /usr/bin/true /h/bin/id;"

/* A box at `confirm` whose PATH is path, where a rule allows id; gated: with the exec gate. */
static void start(struct world *w, const char *script, const char *path, bool gated)
{
    world_init(w, script);
    json_t *policy = jx_obj(w->config, "policy");
    jx_set_str(policy, "ladder", "confirm");
    json_array_append_new(jx_arr(policy, "rules"),
                          json_pack("{s:i s:s}", "id", 7, "text", "allow command id"));
    jx_set_str(w->config, "path", path);
    w->spec.exec_notify = gated;
    if (gated)
        jx_set(w->config, "exec", json_pack("{s:s s:b}", "policy", "watch", "required", 1));
    world_start(w);
}

static void is_allowed(struct world *w)
{
    AUTO_JSON json_t *decided = world_record(w, "decided");
    assert_string_equal(jx_str(decided, "verdict", ""), "allow");
    assert_string_equal(jx_str(decided, "why", ""), "rule");
}

/* The call is asked, with these words in the question; denied, so that the script goes on. */
static void is_asked(struct world *w, const char *words)
{
    AUTO_JSON json_t *asked = world_record(w, "asked");
    if (!strstr(jx_str(asked, "reason", ""), words))
        fail_msg("%s", jx_str(asked, "reason", ""));
    world_send(w, json_pack("{s:s s:I s:s}", "t", "decide", "call",
                            (json_int_t)jx_int(asked, "call", 0), "decision", "deny"));
}

static void a_planted_program_is_asked(void **state)
{
    (void)state;
    struct world w;
    start(&w, CALL ";" PLANT CALL "; rm /h/bin/id;" CALL "; ln -s /usr/bin/id /h/bin/id;" CALL ";:",
          "/h/bin:/t:/usr/bin:/bin", true);
    is_allowed(&w);
    is_asked(&w, "the program 'id' lies in a folder of PATH that the agent can write");
    is_allowed(&w);
    is_asked(&w,
             "that the agent can write"); /* a link of its own can lead elsewhere a moment later */
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

static void a_folder_behind_the_program_is_harmless(void **state)
{
    (void)state;
    struct world w;
    start(&w, PLANT CALL, "/usr/bin:/bin:/h/bin:.", true);
    is_allowed(&w);
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

static void what_depends_on_the_folder_is_asked(void **state)
{
    (void)state;
    struct world w;
    start(&w, CALL ";:", ".:/usr/bin", true);
    is_asked(&w, "cannot be told");
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

static void without_the_exec_gate_path_is_text(void **state)
{
    (void)state;
    struct world w;
    start(&w, CALL, "/usr/bin:/bin", false);
    is_allowed(&w);
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
    start(&w, CALL ";:", "/h/bin:/usr/bin", false);
    is_asked(&w, "cannot be told");
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

static void what_is_not_there_is_asked(void **state)
{
    (void)state;
    struct world w;
    start(&w, CALL ";:", "/t", true);
    is_asked(&w, "is in no folder of PATH");
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_planted_program_is_asked),
        world_test(a_folder_behind_the_program_is_harmless),
        world_test(what_depends_on_the_folder_is_asked),
        world_test(without_the_exec_gate_path_is_text),
        world_test(what_is_not_there_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
