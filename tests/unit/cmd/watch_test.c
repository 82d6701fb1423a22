#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runner/base/text.h"
#include "runner/cmd/watch.h"

static const struct print plain = {.columns = 60, .now_ms = 100000};

static json_t *parse(const char *text)
{
    json_t *value = NULL;
    struct err err = ERR_INIT;
    if (!jx_parse(&value, text, strlen(text), &err))
        fail_msg("%s", err.text);
    return value;
}

static void event(struct watch *w, struct buf *lines, const char *text)
{
    AUTO_JSON json_t *value = parse(text);
    watch_event(w, &plain, value, lines);
}

static const char snapshot_json[] =
    "{\"attempts\":[{\"id\":\"3.1\",\"state\":\"running\",\"started_ms\":40000},"
    "{\"id\":\"3.2\",\"state\":\"queued\"},{\"id\":\"33.1\",\"state\":\"running\"}],"
    "\"calls\":[{\"id\":\"c1\",\"attempt\":\"3.1\",\"state\":\"pending\",\"tool\":\"Bash\","
    "\"args\":{\"command\":\"make\"}}]}";

static void start(struct watch *w, struct buf *lines)
{
    AUTO_JSON json_t *snapshot = parse(snapshot_json);
    watch_init(w, "3");
    watch_snapshot(w, &plain, snapshot, lines);
}

static void tells_a_snapshot_once(void **state)
{
    (void)state;
    AUTO_WATCH struct watch w;
    AUTO_BUF struct buf lines = BUF_INIT;
    start(&w, &lines);
    assert_string_equal(
        lines.ptr, "3.1 running\n3.2 queued\n3.1 asks c1: Bash: make\n"
                   "    headgate gate approve c1   or   headgate gate deny c1 --reason TEXT\n");
    assert_int_equal(w.asked, 1);
    AUTO_JSON json_t *again = parse(snapshot_json);
    buf_clear(&lines);
    watch_snapshot(&w, &plain, again, &lines);
    assert_string_equal(lines.ptr, "");
    assert_int_equal(w.asked, 1);
}

static void tells_events_in_plain_lines(void **state)
{
    (void)state;
    AUTO_WATCH struct watch w;
    AUTO_BUF struct buf lines = BUF_INIT;
    start(&w, &lines);
    buf_clear(&lines);
    event(&w, &lines,
          "{\"e\":\"call\",\"call\":{\"id\":\"c1\",\"attempt\":\"3.1\",\"state\":\"denied\","
          "\"tool\":\"Bash\","
          "\"args\":{\"command\":\"make\"},\"decided_by\":\"ann (shell, pid "
          "7)\",\"why\":\"person\",\"reason\":"
          "\"not now\"}}");
    event(&w, &lines,
          "{\"e\":\"call\",\"call\":{\"id\":\"c2\",\"attempt\":\"3.1\",\"state\":\"consumed\","
          "\"tool\":\"Read\"}}");
    event(&w, &lines, "{\"e\":\"output\",\"attempt\":\"3.1\",\"line\":\"\\u001b[2Jhello\"}");
    event(&w, &lines, "{\"e\":\"output\",\"attempt\":\"33.1\",\"line\":\"not mine\"}");
    event(
        &w, &lines,
        "{\"e\":\"attempt\",\"attempt\":{\"id\":\"3.1\",\"state\":\"done\",\"outcome\":\"failed\","
        "\"exit_status\":2,\"commits\":1,\"files\":3,\"error\":\"it broke\"}}");
    assert_string_equal(lines.ptr, "c1 denied: 3.1 Bash: make (by ann): not now\n"
                                   "3.1 | \\e[2Jhello\n"
                                   "3.1 failed with exit code 2, 1 commit, 3 files: it broke\n");
}

static void ends_when_all_have_ended(void **state)
{
    (void)state;
    AUTO_WATCH struct watch w;
    AUTO_BUF struct buf lines = BUF_INIT;
    watch_init(&w, "3");
    assert_false(watch_is_over(&w));
    event(&w, &lines,
          "{\"e\":\"attempt\",\"attempt\":{\"id\":\"3.1\",\"state\":\"done\",\"outcome\":\"ok\"}}");
    event(&w, &lines, "{\"e\":\"attempt\",\"attempt\":{\"id\":\"3.2\",\"state\":\"running\"}}");
    assert_false(watch_is_over(&w));
    event(&w, &lines, "{\"e\":\"gone\",\"attempt\":\"3.2\"}");
    assert_true(watch_is_over(&w));
}

static void region_shows_cards_first(void **state)
{
    (void)state;
    AUTO_WATCH struct watch w;
    AUTO_BUF struct buf lines = BUF_INIT, region = BUF_INIT;
    start(&w, &lines);
    event(&w, &lines,
          "{\"e\":\"output\",\"attempt\":\"3.1\",\"line\":\"compiling a file whose name is quite "
          "long indeed\"}");
    watch_region(&region, &w, &plain, 10);
    assert_string_equal(region.ptr,
                        "3.1 asks c1: Bash: make\n"
                        "    headgate gate approve c1   or   headgate gate deny c1 \xe2\x80\xa6\n"
                        "3.1    running    1m00s   compiling a file whose name is q\xe2\x80\xa6\n"
                        "1 running, 1 queued, 0 done; Ctrl-C detaches, headgate sto\xe2\x80\xa6\n");
}

static void region_keeps_to_its_rows(void **state)
{
    (void)state;
    AUTO_WATCH struct watch w;
    AUTO_BUF struct buf lines = BUF_INIT;
    watch_init(&w, "3");
    for (int i = 1; i <= 64; i++) {
        AUTO_BUF struct buf text = BUF_INIT;
        buf_addf(&text, "{\"e\":\"attempt\",\"attempt\":{\"id\":\"3.%d\",\"state\":\"%s\"}}", i,
                 i % 3 ? "running" : "done");
        event(&w, &lines, text.ptr);
        buf_clear(&text);
        buf_addf(
            &text,
            "{\"e\":\"call\",\"call\":{\"id\":\"c%d\",\"attempt\":\"3.%d\",\"state\":\"pending\"}}",
            i, i);
        event(&w, &lines, text.ptr);
    }
    for (int rows = 2; rows < 40; rows++) {
        AUTO_BUF struct buf region = BUF_INIT;
        int n = 0;
        watch_region(&region, &w, &plain, rows);
        for (const char *line = region.ptr; *line; n++) {
            size_t len = strcspn(line, "\n");
            assert_true(text_width(line, len) < plain.columns);
            line += len + 1;
        }
        assert_true(n <= rows);
        assert_non_null(strstr(region.ptr, "43 running, 0 queued, 21 done"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_a_snapshot_once),    cmocka_unit_test(tells_events_in_plain_lines),
        cmocka_unit_test(ends_when_all_have_ended), cmocka_unit_test(region_shows_cards_first),
        cmocka_unit_test(region_keeps_to_its_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
