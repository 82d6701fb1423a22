#include "ui/cards.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

void cards_release(struct cards *c)
{
    free(c->list);
    free(c->members);
    *c = (struct cards)CARDS_INIT;
}

static int by_action_then_age(const void *a, const void *b, void *arg)
{
    const struct model *m = arg;
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    int order = strcmp(m->calls[left].action, m->calls[right].action);
    if (order != 0)
        return order;
    return left < right ? -1 : left > right;
}

static int by_first(const void *a, const void *b)
{
    size_t left = ((const struct card *)a)->first, right = ((const struct card *)b)->first;
    return left < right ? -1 : left > right;
}

/* A call without an action digest stands alone: nothing says that it equals another. */
static bool is_same_action(const struct model *m, size_t a, size_t b)
{
    return m->calls[a].action[0] != '\0' && strcmp(m->calls[a].action, m->calls[b].action) == 0;
}

void cards_update(struct cards *c, const struct model *m)
{
    if (c->version == m->version && c->version != 0)
        return;
    cards_release(c);
    c->version = m->version;
    if (m->n_calls == 0)
        return;
    c->members = xreallocarray(NULL, m->n_calls, sizeof(*c->members));
    c->list = xreallocarray(NULL, m->n_calls, sizeof(*c->list));
    for (size_t i = 0; i < m->n_calls; i++)
        c->members[i] = i;
    qsort_r(c->members, m->n_calls, sizeof(*c->members), by_action_then_age, (void *)m);
    for (size_t i = 0; i < m->n_calls; i++) {
        struct card *card = c->n > 0 ? &c->list[c->n - 1] : NULL;
        if (card && is_same_action(m, card->first, c->members[i]))
            card->n++;
        else
            c->list[c->n++] = (struct card){.first = c->members[i], .from = i, .n = 1};
    }
    qsort(c->list, c->n, sizeof(*c->list), by_first);
}

const char *cards_key(const struct cards *c, const struct model *m, size_t index)
{
    const struct model_call *call = &m->calls[c->list[index].first];
    return call->action[0] ? call->action : call->id;
}

size_t cards_find(const struct cards *c, const struct model *m, const char *key)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(cards_key(c, m, i), key) == 0)
            return i;
    return SIZE_MAX;
}
