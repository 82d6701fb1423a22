/*
 * Golden texts of every printer, at 80 columns and unbounded.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/print_attempts.h"
#include "runner/cmd/print_calls.h"
#include "runner/cmd/print_diff.h"
#include "runner/cmd/print_doctor.h"
#include "runner/cmd/print_gate.h"
#include "runner/cmd/print_rules.h"
#include "runner/cmd/print_merge.h"
#include "runner/cmd/print_trace.h"

static const struct print narrow = {.columns = 80, .now_ms = 1000000};
static const struct print wide = {.columns = 0, .now_ms = 1000000};

static json_t *parse(const char *text)
{
    json_t *value = NULL;
    struct err err = ERR_INIT;
    if (!jx_parse(&value, text, strlen(text), &err))
        fail_msg("%s", err.text);
    return value;
}

static const char attempts_json[] =
    "[{\"id\":\"3.1\",\"state\":\"running\",\"outcome\":null,\"agent\":\"claude\",\"ladder\":"
    "\"edits\","
    "\"title\":\"Fix the parser so that it takes every form that was ever written down\","
    "\"started_ms\":940000,\"commits\":2,\"files\":5,\"dirty\":true,\"pending\":1},"
    "{\"id\":\"3.2\",\"state\":\"done\",\"outcome\":\"failed\",\"agent\":\"claude\",\"title\":"
    "\"b\\u001b[2J\","
    "\"exit_status\":3,\"error\":\"the agent gave up\",\"branch\":\"headgate/3/2\","
    "\"started_ms\":1000,\"ended_ms\":61000,\"commits\":0,\"files\":0,\"pending\":0},"
    "{\"id\":\"3.3\",\"state\":\"done\",\"outcome\":\"ok\",\"agent\":\"claude\",\"title\":\"c\","
    "\"branch\":\"headgate/3/3\",\"review\":[\"executable\\tbin/x\"],"
    "\"started_ms\":1000,\"ended_ms\":2000,\"commits\":1,\"files\":1},"
    "{\"id\":\"3.4\",\"state\":\"queued\",\"agent\":\"claude\",\"title\":\"d\"}]";

static void lists_attempts(void **state)
{
    (void)state;
    AUTO_JSON json_t *attempts = parse(attempts_json);
    AUTO_BUF struct buf out = BUF_INIT;
    print_attempts(&out, &narrow, attempts);
    assert_string_equal(out.ptr,
                        "ID   STATE   AGENT   RUNG   TIME   COMMITS  FILES  ASKS  TASK\n"
                        "3.1  asks    claude  edits  1m00s  2        5*     1     Fix the "
                        "parser so that\xe2\x80\xa6\n"
                        "3.2  failed  claude         1m00s                        b\\e[2J\n"
                        "3.3  ok      claude         1s     1        1            c\n"
                        "3.4  queued  claude                                      d\n");
    for (const char *line = out.ptr; *line;) {
        size_t len = strcspn(line, "\n");
        assert_true(text_width(line, len) <= narrow.columns);
        line += len + 1;
    }
}

static void tells_how_to_begin(void **state)
{
    (void)state;
    AUTO_JSON json_t *none = json_array();
    AUTO_BUF struct buf out = BUF_INIT;
    print_attempts(&out, &narrow, none);
    assert_string_equal(out.ptr, "no attempts yet; start some: headgate run -n 4 'PROMPT'\n");
}

static void sums_up_a_run(void **state)
{
    (void)state;
    AUTO_JSON json_t *attempts = parse(attempts_json);
    AUTO_BUF struct buf out = BUF_INIT;
    json_array_remove(attempts, 3);
    json_array_remove(attempts, 0);
    print_run_summary(&out, &narrow, attempts);
    assert_string_equal(
        out.ptr, "ID   RESULT  TIME   COMMITS  FILES  REVIEW  BRANCH\n"
                 "3.2  failed  1m00s                          headgate/3/2\n"
                 "3.3  ok      1s     1        1      1       headgate/3/3\n"
                 "3.2: failed with exit code 3: the agent gave up (headgate logs 3.2)\n"
                 "next: headgate review 3.3, then headgate merge 3.3 or headgate discard 3.3\n");
}

static void heads_a_run(void **state)
{
    (void)state;
    AUTO_JSON json_t *created = parse(
        "{\"run\":3,\"attempts\":[{},{}],\"n\":2500,\"rung\":\"edits\",\"rung_why\":\"no seccomp\","
        "\"base\":{\"oid\":\"0123456789abcdef\",\"ref\":\"main\",\"subject\":\"s\"},"
        "\"network\":\"off\",\"asks\":\"5m, then denied\",\"jobs\":2,\"layers\":["
        "{\"name\":\"user\",\"state\":\"active\",\"mechanism\":\"m\",\"reason\":\"\"},"
        "{\"name\":\"seccomp\",\"state\":\"unavailable\",\"mechanism\":\"\",\"reason\":\"old "
        "kernel\"}]}");
    AUTO_BUF struct buf out = BUF_INIT;
    print_run_header(&out, &wide, created);
    assert_string_equal(out.ptr,
                        "run 3: ladder edits (no seccomp); base main 0123456789; network off; "
                        "calls wait 5m, then denied; layers: 1 active, seccomp unavailable\n"
                        "  seccomp   unavailable  old kernel\n"
                        "2500 attempts, at most 2 at once\n");
}

static void shows_an_attempt(void **state)
{
    (void)state;
    AUTO_JSON json_t *attempts = parse(attempts_json);
    json_t *a = json_array_get(attempts, 2);
    jx_set_str(a, "task", "first\n  second\t\033x\n");
    jx_set_str(a, "base", "0123456789abcdef");
    jx_set_str(a, "base_ref", "main");
    jx_set_str(a, "note", "it was told");
    AUTO_BUF struct buf out = BUF_INIT;
    print_attempt(&out, &narrow, a);
    assert_string_equal(out.ptr, "3.3 ok\n"
                                 "  agent:      claude\n"
                                 "  time:       1s\n"
                                 "  branch:     headgate/3/3\n"
                                 "  base:       0123456789 (main)\n"
                                 "  work:       1 commit, 1 file\n"
                                 "  note:       it was told\n"
                                 "  task:\n"
                                 "    first\n"
                                 "      second        \\ex\n"
                                 "3.3: 1 change that could run on this host next\n"
                                 "WHY         PATH\n"
                                 "executable  bin/x\n");
}

static const char calls_json[] =
    "[{\"id\":\"c12\",\"attempt\":\"3.1\",\"state\":\"pending\",\"agent\":\"claude\",\"tool\":"
    "\"Bash\","
    "\"args\":{\"command\":\"git "
    "push\\n--force\",\"timeout\":5},\"cwd\":\"/w\",\"asked_ms\":990000,"
    "\"deadline_ms\":1050000,\"digest\":\"ab\",\"ladder\":\"edits\",\"why\":\"floor\",\"reason\":"
    "\"git push would "
    "publish\"},"
    "{\"id\":\"c11\",\"attempt\":\"3.1\",\"state\":\"consumed\",\"tool\":\"Read\",\"args\":{\"x\":["
    "1]},"
    "\"asked_ms\":980000,\"decided_by\":\"ann (shell, pid 7)\",\"why\":\"person\","
    "\"subagent\":{\"id\":\"s1\",\"type\":\"explorer\",\"depth\":1}},"
    "{\"id\":\"c10\",\"attempt\":\"3.1\",\"state\":\"denied\",\"tool\":\"Bash\",\"args\":{"
    "\"command\":\"sudo x\"},"
    "\"asked_ms\":970000,\"why\":\"floor\",\"reason\":\"not here\"}]";

static void lists_calls(void **state)
{
    (void)state;
    AUTO_JSON json_t *calls = parse(calls_json);
    AUTO_BUF struct buf out = BUF_INIT, none = BUF_INIT;
    print_calls(&out, &narrow, calls);
    assert_string_equal(
        out.ptr, "CALL  ATTEMPT  STATE     RUNG   ASKED  LEFT  WHY\n"
                 "c12   3.1      pending   edits  10s    50s   floor: git push would publish\n"
                 "  Bash: git push\\n--force\n"
                 "c11   3.1      approved         20s          person\n"
                 "  Read: {\"x\":[1]}\n"
                 "c10   3.1      denied           30s          floor: not here\n"
                 "  Bash: sudo x\n");
    AUTO_JSON json_t *empty = json_array();
    print_calls(&none, &narrow, empty);
    assert_string_equal(none.ptr, "nothing waits\n");
}

/* What waits for the same is one row; padding hides no end, in a file neither. */
static void lists_equal_calls_once(void **state)
{
    (void)state;
    AUTO_FREE char *padded = xasprintf("make%*s; rm -rf x", 4000, "");
    AUTO_JSON json_t *calls = json_array();
    static const char *const attempts[] = {"3.1", "3.2", "3.3"};
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *id = xasprintf("c%d", i + 1);
        json_array_append_new(calls,
                              json_pack("{s:s, s:s, s:s, s:s, s:s, s:{s:s}}", "id", id, "attempt",
                                        attempts[i], "state", "pending", "tool", "Bash", "action",
                                        i == 1 ? "b" : "a", "args", "command", padded));
    }
    const struct print *const prints[] = {&narrow, &wide};
    for (size_t i = 0; i < ARRAY_LEN(prints); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        print_calls(&out, prints[i], calls);
        assert_string_equal(out.ptr,
                            "CALL   ATTEMPT  STATE    RUNG  ASKED  LEFT  WHY\n"
                            "c1 +1  3.1      pending\n"
                            "  Bash: make\xe2\x80\xa6[4000 blanks]\xe2\x80\xa6; rm -rf x\n"
                            "  the same: c3 (3.3)\n"
                            "c2     3.2      pending\n"
                            "  Bash: make\xe2\x80\xa6[4000 blanks]\xe2\x80\xa6; rm -rf x\n");
    }
}

static void shortens_paths_below_the_folder(void **state)
{
    (void)state;
    static const struct {
        const char *path, *line;
    } cases[] = {{"/w/tree/a/b.c", "Edit: ./a/b.c"},
                 {"/w/tree2/b.c", "Edit: /w/tree2/b.c"},
                 {"/w/tree/", "Edit: ./"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        AUTO_JSON json_t *call = json_pack("{s:s, s:s, s:{s:s}}", "tool", "Edit", "worktree",
                                           "/w/tree", "args", "file_path", cases[i].path);
        print_call_line(&out, call);
        assert_string_equal(out.ptr, cases[i].line);
    }
}

static void shows_exact_arguments(void **state)
{
    (void)state;
    AUTO_JSON json_t *calls = parse(calls_json);
    AUTO_BUF struct buf out = BUF_INIT;
    print_call(&out, &narrow, json_array_get(calls, 0));
    assert_string_equal(out.ptr, "c12 pending\n"
                                 "  attempt:    3.1\n"
                                 "  agent:      claude\n"
                                 "  rung:       edits\n"
                                 "  tool:       Bash\n"
                                 "  folder:     /w\n"
                                 "  asked:      1970-01-01 00:16:30\n"
                                 "  deadline:   1970-01-01 00:17:30\n"
                                 "  why:        floor\n"
                                 "  reason:     git push would publish\n"
                                 "  digest:     ab\n"
                                 "  arguments:\n"
                                 "    command:\n"
                                 "      git push\n"
                                 "      --force\n"
                                 "    timeout:\n"
                                 "      5\n"
                                 "\n"
                                 "headgate gate approve c12\n"
                                 "headgate gate deny c12 --reason TEXT\n");
}

static void escapes_arguments_reversibly(void **state)
{
    (void)state;
    AUTO_JSON json_t *call = parse(
        "{\"id\":\"c1\",\"state\":\"denied\",\"args\":{\"command\":\"a\\\\n\\u001b\\u202e\\tb\"}}");
    AUTO_BUF struct buf out = BUF_INIT;
    print_call(&out, &narrow, call);
    assert_non_null(strstr(out.ptr, "      a\\\\n\\e\\u{202e}\\tb\n"));
}

static const char trace_json[] =
    "{\"cut\":false,\"trace\":{\"kind\":\"attempt\",\"at_ms\":960000,\"attempt\":{\"id\":\"3.1\","
    "\"agent\":\"claude\",\"state\":\"running\",\"title\":\"Fix \\u001b it\"},\"children\":["
    "{\"kind\":\"subagent\",\"at_ms\":970000,\"subagent\":{\"id\":\"a1\",\"type\":\"explorer\","
    "\"depth\":1},\"children\":[{\"kind\":\"call\",\"at_ms\":970000,\"call\":{\"id\":\"c10\","
    "\"state\":\"denied\",\"why\":\"floor\",\"reason\":\"not here\",\"tool\":\"Bash\","
    "\"args\":{\"command\":\"sudo x\"}},\"children\":[]}]},"
    "{\"kind\":\"call\",\"at_ms\":980000,\"call\":{\"id\":\"c12\",\"state\":\"consumed\","
    "\"decided_by\":\"ann (shell, pid 4)\",\"tool\":\"Bash\",\"args\":{\"command\":\"npm ci\"}},"
    "\"children\":[{\"kind\":\"program\",\"at_ms\":981000,\"path\":\"/usr/bin/npm\",\"n\":3,"
    "\"children\":[{\"kind\":\"net\",\"at_ms\":982000,\"host\":\"::1\",\"port\":443,"
    "\"connections\":2,\"up\":1536,\"down\":20,\"denied\":0,\"refused\":1,\"refused_why\":"
    "\"the TLS handshake names another host\",\"children\":[]}]}]},"
    "{\"kind\":\"refs\",\"at_ms\":990000,\"ref\":\"refs/heads/headgate/3/1\",\"to\":"
    "\"0123456789abcdef\",\"commits\":1,\"files\":2,\"children\":[]}]}}";

static void traces_as_a_tree(void **state)
{
    (void)state;
    AUTO_JSON json_t *result = parse(trace_json);
    AUTO_BUF struct buf out = BUF_INIT, clipped = BUF_INIT;
    print_trace(&out, &wide, result);
    assert_string_equal(
        out.ptr,
        "00:16:00 3.1 running claude: Fix \\e it\n"
        "00:16:10 \xe2\x94\x9c\xe2\x94\x80 explorer a1, subagent of depth 1\n"
        "00:16:10 \xe2\x94\x82  \xe2\x94\x94\xe2\x94\x80 c10 denied (floor) Bash: sudo x (not "
        "here)\n"
        "00:16:20 \xe2\x94\x9c\xe2\x94\x80 c12 approved by ann Bash: npm ci\n"
        "00:16:21 \xe2\x94\x82  \xe2\x94\x94\xe2\x94\x80 /usr/bin/npm 3 times\n"
        "00:16:22 \xe2\x94\x82     \xe2\x94\x94\xe2\x94\x80 [::1]:443 2 connections, 1.5 KiB up, "
        "20 B "
        "down, 1 refused: the TLS handshake names another host\n"
        "00:16:30 \xe2\x94\x94\xe2\x94\x80 headgate/3/1 moved to 0123456789 1 commit, 2 files\n");
    print_trace(&clipped, &narrow, result);
    for (const char *line = clipped.ptr; *line;) {
        size_t len = strcspn(line, "\n");
        assert_true(text_width(line, len) <= narrow.columns);
        line += len + 1;
    }
}

static void colours_only_when_told(void **state)
{
    (void)state;
    const struct print colour = {.columns = 80, .color = true, .now_ms = 1000000};
    AUTO_JSON json_t *calls = parse(calls_json);
    AUTO_BUF struct buf plain = BUF_INIT, out = BUF_INIT;
    print_call_decided(&plain, &narrow, json_array_get(calls, 1));
    print_call_decided(&out, &colour, json_array_get(calls, 1));
    assert_string_equal(plain.ptr, "c11 approved: 3.1 Read: {\"x\":[1]}\n");
    assert_string_equal(out.ptr,
                        "\033[1mc11\033[0m \033[32mapproved\033[0m: 3.1 Read: {\"x\":[1]}\n");
}

static void makes_a_patch_safe(void **state)
{
    (void)state;
    static const char patch[] =
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\033]0;b\a\n"
        "diff --git a/y b/y\n--- a/y\n";
    const struct print colour = {.columns = 80, .color = true};
    AUTO_BUF struct buf plain = BUF_INIT, out = BUF_INIT;
    print_diff(&plain, &narrow, patch, strlen(patch));
    assert_string_equal(plain.ptr, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@ [1]\n-a\n"
                                   "+\\e]0;b\\x07\ndiff --git a/y b/y\n--- a/y\n");
    print_diff(&out, &colour, patch, strlen(patch));
    assert_non_null(strstr(out.ptr, "\033[1m--- a/y\033[0m\n"));
    assert_non_null(strstr(out.ptr, "\033[31m-a\033[0m\n\033[32m+\\e]0;b\\x07\033[0m\n"));
}

static void marks_the_words_that_differ(void **state)
{
    (void)state;
    static const char patch[] =
        "diff --git a/x b/x\n@@ -1,2 +1,2 @@\n-int one = 1;\n-gr\xc3\xbc\xc3\x9f ab cd\n"
        "+int two = 1;\n+gr\xc3\xbc\xc3\xb6 ab cd\n@@ -9 +9,2 @@\n-a\n+b\n+c\n";
    const struct print colour = {.columns = 80, .color = true};
    AUTO_BUF struct buf out = BUF_INIT;
    print_diff(&out, &colour, patch, strlen(patch));
    assert_non_null(
        strstr(out.ptr, "\033[31m-int \033[0m\033[31;7mone\033[0m\033[31m = 1;\033[0m\n"));
    assert_non_null(
        strstr(out.ptr, "\033[32m+int \033[0m\033[32;7mtwo\033[0m\033[32m = 1;\033[0m\n"));
    assert_non_null(strstr(out.ptr, "\033[31;7m\xc3\x9f\033[0m"));
    assert_non_null(
        strstr(out.ptr, "@@ -9 +9,2 @@\033[0m [2]\n\033[31m-a\033[0m\n\033[32m+b\033[0m\n"));
}

static void prints_the_gate(void **state)
{
    (void)state;
    AUTO_JSON json_t *rows = parse(
        "[{\"seq\":1,\"at_ms\":1000,\"hash\":\"0123456789abcdef\","
        "\"kind\":\"asked\",\"body\":{\"call\":\"c1\",\"attempt\":\"3.1\",\"decided_by\":\"ann\","
        "\"why\":\"person\",\"reason\":\"fine\"},\"does\":{\"tool\":\"Bash\","
        "\"args\":{\"command\":\"ls -l\"}}},{\"seq\":2,\"at_ms\":2000,"
        "\"hash\":\"ab\",\"kind\":\"net\",\"body\":{\"host\":\"h\"}}]");
    AUTO_JSON json_t *rules =
        parse("[{\"id\":4,\"text\":\"allow command git status\",\"by\":\"ann\","
              "\"made_ms\":1000,\"count\":0,\"last_used_ms\":0}]");
    AUTO_JSON json_t *broken =
        parse("{\"ok\":false,\"rows\":9,\"bad\":{\"seq\":5,\"why\":\"changed\"}}");
    AUTO_JSON json_t *whole = parse("{\"ok\":true,\"rows\":1,\"tail\":\"ff\"}");
    AUTO_JSON json_t *stats = parse(
        "{\"calls\":{\"consumed\":9,\"denied\":3},\"calls_total\":12,\"asked_total\":9,\"asks_per_"
        "100\":75.0,"
        "\"by_person\":9,\"wait_p50_ms\":420,\"wait_p90_ms\":61000,\"wait_max_ms\":3600000,"
        "\"asked_because\":{\"ladder\":8,\"rule r2\":1},\"by_rule\":{\"r1\":3},"
        "\"by_tool\":{\"Bash\":{\"calls\":9,\"asked\":6,\"asks_per_100\":66.666666}},"
        "\"never_matched\":{\"r3 allow tool X\":0},"
        "\"proposals\":[{\"rules\":[\"allow exactly make\"],\"approved\":4,\"like\":\"c7\"}]}");
    AUTO_BUF struct buf log = BUF_INIT, list = BUF_INIT, bad = BUF_INIT, good = BUF_INIT;
    AUTO_BUF struct buf counts = BUF_INIT;
    print_gate_log(&log, &narrow, rows);
    assert_string_equal(
        log.ptr,
        "SEQ  TIME                 HASH          KIND   WHAT\n"
        "1    1970-01-01 00:00:01  0123456789ab  asked  c1 3.1 by ann (person): Bash: ls…\n"
        "2    1970-01-01 00:00:02  ab            net    {\"host\":\"h\"}\n");
    print_rules(&list, &narrow, rules);
    assert_string_equal(
        list.ptr, "ID  MADE                 BY   USED  LAST USED  RULE\n"
                  "r4  1970-01-01 00:00:01  ann                   allow command git status\n");
    print_gate_verify(&bad, &narrow, broken);
    assert_string_equal(bad.ptr, "the log is broken at row 5: changed\n");
    print_gate_verify(&good, &narrow, whole);
    assert_true(strncmp(good.ptr, "whole: 1 row, each follows from the one before\nlast hash: ff\n",
                        60) == 0);
    print_gate_stats(&counts, &narrow, stats);
    assert_string_equal(
        counts.ptr, "12 calls, 9 asked: 75.0 of 100\n"
                    "people decided 9: half within 0.4s, 9 of 10 within 1m01s, the longest 1h00m\n"
                    "states: consumed 9, denied 3\n"
                    "asked because of: ladder 8, rule r2 1\n"
                    "rules used: r1 3\n"
                    "OF    NAME  CALLS  ASKED  OF 100\n"
                    "tool  Bash  9      6      66.7\n"
                    "rules that never matched:\n"
                    "  r3 allow tool X\n"
                    "approved each time (4), like c7; could be a rule:\n"
                    "  allow exactly make\n");
}

static void prints_merges_and_cleaning(void **state)
{
    (void)state;
    AUTO_JSON json_t *trials =
        parse("[{\"what\":\"1.1\",\"into\":\"main\",\"hunks\":[]},"
              "{\"what\":\"1.1\",\"into\":\"1.2\",\"hunks\":[{\"path\":\"a.c\",\"line\":7},"
              "{\"path\":\"b\\u001b.c\",\"line\":0}]}]");
    AUTO_JSON json_t *cleaned =
        parse("{\"removed\":[{\"what\":\"base\",\"path\":\"/s/b\",\"bytes\":3670016},"
              "{\"what\":\"log\",\"path\":\"/s/l\",\"bytes\":12}]}");
    AUTO_BUF struct buf out = BUF_INIT, clean = BUF_INIT;
    print_conflicts(&out, &narrow, trials);
    assert_string_equal(out.ptr, "MERGE  INTO  CONFLICTS\n"
                                 "1.1    main  none\n"
                                 "1.1    1.2   a.c:7, b\\e.c\n");
    print_cleaned(&clean, &narrow, cleaned, true);
    assert_string_equal(clean.ptr, "WHAT  SIZE     PATH\n"
                                   "base  3.5 MiB  /s/b\n"
                                   "log   12 B     /s/l\n"
                                   "would free 3.5 MiB\n");
}

static void prints_the_doctor(void **state)
{
    (void)state;
    AUTO_JSON json_t *report = parse(
        "{\"platform\":\"Linux 6.1\",\"ladder\":\"auto\",\"ladder_why\":\"all hold\",\"layers\":["
        "{\"name\":\"user\",\"state\":\"active\",\"mechanism\":\"user namespace\",\"reason\":\"\"},"
        "{\"name\":\"limits\",\"state\":\"degraded\",\"mechanism\":\"rlimits\",\"reason\":\"no "
        "cgroup\"}],\"facts\":[{\"name\":\"kernel\",\"value\":\"6.1\",\"advice\":\"\"},"
        "{\"name\":\"procfs\",\"value\":\"covered\",\"advice\":\"uncover it\"}],\"engines\":["
        "{\"name\":\"overlay\",\"works\":false,\"taken\":false,\"why\":\"no "
        "room\",\"trade\":\"quick\"},"
        "{\"name\":\"reflink\",\"works\":true,\"taken\":true,\"why\":\"named\",\"trade\":\"even\"},"
        "{\"name\":\"checkout\",\"works\":true,\"taken\":false,\"why\":\"\",\"trade\":\"slow\"}]}");
    AUTO_BUF struct buf out = BUF_INIT;
    print_doctor(&out, &narrow, report);
    assert_string_equal(out.ptr, "Linux 6.1; layers of a box: 1 active, limits degraded\n"
                                 "  user      active       user namespace\n"
                                 "  limits    degraded     rlimits; no cgroup\n"
                                 "ladder without --ladder: auto, all hold\n"
                                 "engines of worktrees, of which the first that works is taken:\n"
                                 "  overlay: does not work; no room\n"
                                 "  reflink: taken; named; even\n"
                                 "  checkout: works; slow\n"
                                 "this host:\n"
                                 "  kernel: 6.1\n"
                                 "  procfs: covered; uncover it\n");
}

static void prints_escapes(void **state)
{
    (void)state;
    AUTO_JSON json_t *report = parse(
        "{\"attempts\":[{\"id\":\"N01a\",\"what\":\"a user namespace\",\"layer\":\"seccomp\","
        "\"result\":\"contained\",\"got\":\"EPERM\",\"control\":\"escapes\",\"tries\":1,"
        "\"proven\":true},{\"id\":\"W01a\",\"what\":\"a port\",\"layer\":\"net\",\"result\":"
        "\"escaped\",\"got\":\"ok\",\"control\":\"escapes\",\"tries\":20,\"proven\":true},"
        "{\"id\":\"L05c\",\"what\":\"memory\",\"layer\":\"limits\",\"result\":\"degraded\",\"got\":"
        "\"ok\",\"control\":\"escapes\",\"tries\":1,\"proven\":true},{\"id\":\"L08d\",\"what\":"
        "\"sleep\","
        "\"layer\":\"pid\",\"result\":\"untried\",\"got\":\"why\",\"control\":\"\",\"tries\":1}]}");
    AUTO_BUF struct buf out = BUF_INIT;
    print_escapes(&out, &narrow, report);
    assert_string_equal(
        out.ptr, "ID    ATTEMPT           HELD BY  RESULT            TRIES  CONTROL\n"
                 "N01a  a user namespace  seccomp  contained: EPERM  1      escapes\n"
                 "W01a  a port            net      escaped: ok       20     escapes\n"
                 "L05c  memory            limits   degraded: ok      1      escapes\n"
                 "L08d  sleep             pid      untried: why      1\n"
                 "4 attempts; 1 contained, of these 1 proven: the same comes through without what "
                 "holds it\n"
                 "1 came through a layer that is degraded here, as `headgate doctor` says too\n"
                 "1 cannot be tried here, for the reason in their row\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_attempts),         cmocka_unit_test(tells_how_to_begin),
        cmocka_unit_test(sums_up_a_run),          cmocka_unit_test(heads_a_run),
        cmocka_unit_test(shows_an_attempt),       cmocka_unit_test(lists_calls),
        cmocka_unit_test(lists_equal_calls_once), cmocka_unit_test(shortens_paths_below_the_folder),
        cmocka_unit_test(shows_exact_arguments),  cmocka_unit_test(escapes_arguments_reversibly),
        cmocka_unit_test(traces_as_a_tree),       cmocka_unit_test(colours_only_when_told),
        cmocka_unit_test(makes_a_patch_safe),     cmocka_unit_test(marks_the_words_that_differ),
        cmocka_unit_test(prints_the_gate),        cmocka_unit_test(prints_merges_and_cleaning),
        cmocka_unit_test(prints_the_doctor),      cmocka_unit_test(prints_escapes),
    };
    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
