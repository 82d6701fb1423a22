/*
 * cards: pending calls grouped by action digest: equal calls of several attempts are one card with
 * one decision. Pure.
 *
 * Cards keep the order of their oldest call, so a new call never moves a card that a person looks
 * at.
 */
#ifndef UI_CARDS_H
#define UI_CARDS_H

#include "ui/model.h"

struct card {
    size_t first; /* index in model.calls of the oldest call */
    size_t from,
        n; /* its calls: cards.members[from .. from + n), indexes in model.calls, oldest first */
};

struct cards {
    uint64_t version; /* of the model it was made from; 0: never made */
    struct card *list;
    size_t n;
    size_t *members;
};

#define CARDS_INIT   \
    {                \
        .version = 0 \
    }
void cards_release(struct cards *c);
/* Make the cards anew if the model has changed since. */
void cards_update(struct cards *c, const struct model *m);
/* What a card is found by again after a change: its action, or the id of a call that has none.
 * Borrowed from the model. */
const char *cards_key(const struct cards *c, const struct model *m, size_t index);
/* The index of the card with this key, or SIZE_MAX. */
size_t cards_find(const struct cards *c, const struct model *m, const char *key);

#endif
