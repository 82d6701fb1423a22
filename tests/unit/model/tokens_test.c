#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/digest.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/model/tokens.h"

enum { HOUR_MS = 3600 * 1000, ASKERS = 8, LINE_BYTES = 512 };

struct scene {
    struct tokens tokens;
    int keeper; /* its end of the stream */
};

static int set_up(void **state)
{
    int ends[2];
    struct scene *s = xcalloc(1, sizeof(*s));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    tokens_init(&s->tokens, 3, ends[0]);
    s->keeper = ends[1];
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    token_release(&s->tokens.now);
    close(s->tokens.fd);
    close(s->keeper);
    free(s);
    return 0;
}

/* The next question, new reference. */
static json_t *question(const struct scene *s)
{
    char line[LINE_BYTES];
    size_t n = 0;
    struct err err = ERR_INIT;
    json_t *q = NULL;
    while (n < sizeof(line) && read(s->keeper, line + n, 1) == 1 && line[n] != '\n')
        n++;
    if (!jx_parse(&q, line, n, &err))
        fail_msg("%s", err.text);
    return q;
}

static bool is_asked_more(const struct scene *s)
{
    char c;
    return recv(s->keeper, &c, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
}

static void answer(struct scene *s, const char *token, int64_t lives_ms)
{
    AUTO_JSON json_t *j =
        json_pack("{s:s, s:I, s:s}", "token", token, "expires_ms",
                  (json_int_t)(lives_ms ? clock_unix_ms() + lives_ms : 0), "account", "acc");
    tokens_answer(&s->tokens, j);
}

struct asker {
    pthread_t thread;
    struct scene *scene;
    const char *refused;
    struct token token;
    struct err err;
    bool ok;
};

static void *ask(void *arg)
{
    struct asker *a = arg;
    a->ok = tokens_get(&a->token, &a->scene->tokens, a->refused, &a->err);
    return NULL;
}

static void start(struct asker *a, struct scene *s, const char *refused)
{
    *a = (struct asker){.scene = s, .refused = refused};
    assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
}

static void expect(struct asker *a, const char *token)
{
    pthread_join(a->thread, NULL);
    if (!a->ok)
        fail_msg("%s", a->err.text);
    assert_string_equal(a->token.text, token);
    assert_string_equal(a->token.account, "acc");
    token_release(&a->token);
}

static void many_ask_and_one_question_is_asked(void **state)
{
    struct scene *s = *state;
    struct asker askers[ASKERS];
    for (size_t i = 0; i < ASKERS; i++)
        start(&askers[i], s, NULL);
    AUTO_JSON json_t *q = question(s);
    assert_int_equal(jx_int(q, "model", -1), 3);
    assert_null(jx_str(q, "refused", NULL));
    answer(s, "at-1", HOUR_MS);
    for (size_t i = 0; i < ASKERS; i++)
        expect(&askers[i], "at-1");
    assert_false(is_asked_more(s));
}

static void a_refused_token_is_named_by_its_digest(void **state)
{
    struct scene *s = *state;
    struct asker a;
    char hex[DIGEST_HEX_SIZE];
    answer(s, "at-1", HOUR_MS);
    start(&a, s, "at-0"); /* somebody else's renewal came first */
    expect(&a, "at-1");
    assert_false(is_asked_more(s));
    start(&a, s, "at-1");
    AUTO_JSON json_t *q = question(s);
    digest_bytes(hex, "at-1", strlen("at-1"));
    assert_string_equal(jx_str(q, "refused", ""), hex);
    answer(s, "at-2", HOUR_MS);
    expect(&a, "at-2");
}

/* The question that was under way was about another one's token, and its answer is the one that was
 * refused here. */
static void an_answer_that_was_refused_is_asked_about_again(void **state)
{
    struct scene *s = *state;
    struct asker a;
    start(&a, s, "at-1");
    AUTO_JSON json_t *first = question(s);
    answer(s, "at-1", HOUR_MS);
    AUTO_JSON json_t *second = question(s);
    assert_non_null(jx_str(second, "refused", NULL));
    answer(s, "at-2", HOUR_MS);
    expect(&a, "at-2");
}

static void one_that_was_passed_on_as_refused_is_not_used_again(void **state)
{
    struct scene *s = *state;
    struct asker a;
    answer(s, "at-1", HOUR_MS);
    tokens_drop(&s->tokens, "at-0"); /* of before: nothing to do */
    start(&a, s, NULL);
    expect(&a, "at-1");
    tokens_drop(&s->tokens, "at-1");
    start(&a, s, NULL);
    AUTO_JSON json_t *q = question(s);
    assert_non_null(jx_str(q, "refused", NULL));
    answer(s, "at-2", HOUR_MS);
    expect(&a, "at-2");
}

static void one_near_its_end_is_asked_about(void **state)
{
    struct scene *s = *state;
    struct asker a;
    answer(s, "at-1", HOUR_MS);
    s->tokens.expires_ms = clock_unix_ms() + HOUR_MS / 12; /* five minutes are left */
    start(&a, s, NULL);
    AUTO_JSON json_t *q = question(s);
    assert_null(jx_str(q, "refused", NULL));
    answer(s, "at-2", 0); /* its end is not said */
    expect(&a, "at-2");
    start(&a, s, NULL);
    expect(&a, "at-2");
    answer(s, "at-3", 5000); /* given with little life left, it serves for half of that */
    start(&a, s, NULL);
    expect(&a, "at-3");
    assert_false(is_asked_more(s));
}

static void a_failure_is_told_and_not_kept(void **state)
{
    struct scene *s = *state;
    struct asker a, late;
    start(&a, s, NULL);
    AUTO_JSON json_t *q = question(s);
    AUTO_JSON json_t *failure = json_pack("{s:s, s:b}", "failed", "log in again", "again", 1);
    tokens_answer(&s->tokens, failure);
    pthread_join(a.thread, NULL);
    assert_false(a.ok);
    assert_int_equal(a.err.code, ERR_REFUSED);
    assert_string_equal(a.err.text, "log in again");
    start(&late, s, NULL);
    AUTO_JSON json_t *again = question(s);
    answer(s, "at-1", HOUR_MS);
    expect(&late, "at-1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_ask_and_one_question_is_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refused_token_is_named_by_its_digest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_that_was_refused_is_asked_about_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_was_passed_on_as_refused_is_not_used_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_near_its_end_is_asked_about, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_is_told_and_not_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
