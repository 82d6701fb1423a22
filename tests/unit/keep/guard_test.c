/*
 * Hooks that end as they should not, of an agent that then runs the call: it is killed first.
 * Without the guard it runs it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

#define HOOK_WORDS "/b/headgate-hook --agent plain"
#define CLIENT "$H --agent plain --socket /run/headgate/gate.sock </w/call"
#define SHELL(before) "sh -c \"" before CLIENT " || exit 2\""

/* Ends well, and has asked nobody. */
#define NONSENSE "sh -c \"$H --agent plain --help || exit 2\""

/* Like the agent in question it takes 2 for a denial and all else for none, and writes the file
 * itself. Its own words are no hook's. */
#define AGENT(hook, then)                                                                     \
    "H=/b/headgate-hook; echo "                                                               \
    "'{\"tool\":\"Write\",\"args\":{\"file_path\":\"/w/f\"},\"cwd\":\"/w\"}' >/w/call; " hook \
    " & shell=$!; " then "; wait $shell; s=$?; [ $s = 2 ] || : >/w/ran; echo ended $s"

/* Not before the call waits. */
#define WHEN_ASKED "read go </w/go; "

enum { KILLS = 8 };
enum guarding { UNGUARDED, GUARDED, STRICTLY };

struct fault {
    const char *script, *said;
    bool is_asked; /* it happens while the call waits; else at once */
};

static const struct fault faults[] = {
    {AGENT(SHELL(""), WHEN_ASKED "kill -9 $shell"), "was killed", true},
    {AGENT(SHELL(""), WHEN_ASKED "pkill -9 -f \"[h]eadgate-hook --agent\""), "was killed", true},
    {AGENT(CLIENT, WHEN_ASKED "kill -9 $shell"), "was killed", true},
    {AGENT(SHELL("exit 0; "), ":"), "ended without having asked the gate", false},
    {AGENT(SHELL("exit 1; "), ":"), "failed", false},
    {AGENT(NONSENSE, ":"), "without the gate's yes", false},
};
static const struct fault no_fault = {AGENT(SHELL(""), ":"), "", false};

static void begin(struct world *w, const struct fault *f, enum guarding guarding)
{
    world_init_execs(w, f->script, "watch");
    box_spec_bind(&w->spec, HOOK, "/b/headgate-hook", 0);
    jx_set_str(jx_obj(w->config, "policy"), "ladder", "confirm");
    if (guarding != UNGUARDED)
        jx_set_str(w->config, "guard", HOOK_WORDS);
    jx_set_bool(w->config, "guard_strict", guarding == STRICTLY);
    world_fifo_to_box(w, "go");
    world_start(w);
    if (!f->is_asked)
        return;
    json_decref(world_record(w, "asked"));
    world_go(w, "go");
}

static bool has_run(const struct world *w)
{
    AUTO_FREE char *file = fs_join(w->dir, "w/ran");
    return fs_exists(file);
}

static void a_hook_that_ends_badly_ends_its_agent_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        for (int n = 0; n < KILLS; n++) {
            struct world w;
            begin(&w, &faults[i], STRICTLY);
            AUTO_JSON json_t *exited = world_record(&w, "exited");
            assert_string_equal(jx_str(exited, "cause", ""), "failed");
            assert_non_null(strstr(jx_str(exited, "error", ""), faults[i].said));
            assert_false(has_run(&w));
            world_done(&w);
        }
    }
}

/* The control: such an agent does run the call. */
static void without_the_guard_it_runs_the_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct world w;
        begin(&w, &faults[i], UNGUARDED);
        world_expect_exit(&w, 0, "exit");
        assert_true(has_run(&w));
        world_done(&w);
    }
}

/* Denied or allowed, a hook that ends by itself is let go. */
static void a_hook_that_answers_ends_nothing(void **state)
{
    (void)state;
    for (int is_allowed = 0; is_allowed < 2; is_allowed++) {
        struct world w;
        begin(&w, &no_fault, STRICTLY);
        AUTO_JSON json_t *asked = world_record(&w, "asked");
        world_decide(&w, asked, is_allowed ? "allow" : "deny");
        world_expect_exit(&w, 0, "exit");
        assert_int_equal(has_run(&w), is_allowed);
        world_done(&w);
    }
}

/* Of an agent that blocks by itself where a hook fails, one that says what nobody answered is told,
 * and nothing else. */
static void where_failures_block_only_nonsense_ends_the_agent(void **state)
{
    (void)state;
    static const struct fault nonsense = {AGENT(NONSENSE, ":"), "without the gate's answer", false};
    static const struct fault denial = {AGENT("sh -c \"" CLIENT "; exit 0\"", ":"), "",
                                        false}; /* which ends with 0 for that agent */
    struct world w;
    begin(&w, &nonsense, GUARDED);
    AUTO_JSON json_t *exited = world_record(&w, "exited");
    assert_non_null(strstr(jx_str(exited, "error", ""), nonsense.said));
    assert_false(has_run(&w));
    world_done(&w);
    begin(&w, &denial, GUARDED);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    world_decide(&w, asked, "deny");
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
    begin(&w, &faults[0], GUARDED);
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_hook_that_ends_badly_ends_its_agent_first),
        world_test(without_the_guard_it_runs_the_call),
        world_test(a_hook_that_answers_ends_nothing),
        world_test(where_failures_block_only_nonsense_ends_the_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
