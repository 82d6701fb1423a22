/*
 * decide: sending a person's decision on calls, each with the digest of what was shown. Pure but
 * for the desk's host.
 */
#ifndef UI_DECIDE_H
#define UI_DECIDE_H

#include "runner/base/strv.h"
#include "ui/desk.h"

/* Calls that are decided together: ids and digests by the same index, as they were when a person
 * looked. */
struct decide_set {
    struct strv ids, digests, attempts;
};
#define DECIDE_SET_INIT                 \
    {                                   \
        STRV_INIT, STRV_INIT, STRV_INIT \
    }
#define AUTO_DECIDE_SET __attribute__((cleanup(decide_set_release)))
void decide_set_release(struct decide_set *set);
void decide_set_add(struct decide_set *set, const struct model_call *call);
void decide_set_card(struct decide_set *set, const struct desk *d, size_t card);

/* Send the decision; the outcome comes to the status line. */
void decide_send(struct desk *d, const struct decide_set *set, bool is_allow, const char *reason);
void decide_on_answer(struct desk *d, bool is_allow, const char *call, const json_t *result,
                      const struct err *err);

#endif
