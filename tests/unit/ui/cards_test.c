#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "ui/cards.h"

/* "c1+2 c2": each card by its oldest call and how many more it has. */
static void check(struct cards *c, const struct model *m, const char *expected)
{
    AUTO_BUF struct buf is = BUF_INIT;
    cards_update(c, m);
    for (size_t i = 0; i < c->n; i++) {
        buf_addf(&is, "%s%s", i > 0 ? " " : "", m->calls[c->list[i].first].id);
        if (c->list[i].n > 1)
            buf_addf(&is, "+%zu", c->list[i].n - 1);
        assert_int_equal(cards_find(c, m, cards_key(c, m, i)), i);
    }
    assert_string_equal(is.ptr, expected);
}

static void put(struct model *m, const char *id, const char *state, const char *action,
                int asked_ms)
{
    AUTO_JSON json_t *event =
        json_pack("{s:s, s:{s:s, s:s, s:s, s:i, s:s}}", "e", "call", "call", "id", id, "state",
                  state, "action", action, "asked_ms", asked_ms, "attempt", "1.1");
    model_apply(m, event);
}

static void groups_by_action(void **state)
{
    (void)state;
    struct model m = MODEL_INIT;
    struct cards c = CARDS_INIT;
    check(&c, &m, "");
    put(&m, "c1", "pending", "z", 10);
    put(&m, "c2", "pending", "a", 20);
    put(&m, "c3", "pending", "z", 30);
    check(&c, &m, "c1+1 c2");
    put(&m, "c4", "pending", "m", 40);
    put(&m, "c5", "pending", "a", 50);
    check(&c, &m, "c1+1 c2+1 c4"); /* nothing that was there has moved */
    put(&m, "c1", "approved", "z", 10);
    check(&c, &m, "c2+1 c3 c4");
    put(&m, "c2", "denied", "a", 20);
    put(&m, "c5", "expired", "a", 50);
    check(&c, &m, "c3 c4");
    assert_int_equal(cards_find(&c, &m, "a"), SIZE_MAX);
    cards_release(&c);
    model_release(&m);
}

static void never_groups_without_an_action(void **state)
{
    (void)state;
    struct model m = MODEL_INIT;
    struct cards c = CARDS_INIT;
    put(&m, "c1", "pending", "", 10);
    put(&m, "c2", "pending", "", 20);
    check(&c, &m, "c1 c2");
    cards_release(&c);
    model_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_by_action),
        cmocka_unit_test(never_groups_without_an_action),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
