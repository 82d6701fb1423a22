#include <stdlib.h>
#include <string.h>
#include "runner/base/mem.h"
#include "runner/keep/door_call.h"

static void drop(struct door *d, size_t at)
{
    struct door_call *c = d->calls[at];
    d->calls[at] = d->calls[--d->n_calls];
    door_call_free(c);
}

/* Room for one more: an answer that nobody came for is the least that can be lost. */
static bool make_room(struct door *d)
{
    size_t n = 0, oldest = d->n_calls;
    for (size_t i = 0; i < d->n_calls; i++) {
        const struct door_call *c = d->calls[i];
        n += !c->conn;
        if (!c->conn && c->kept && (oldest == d->n_calls || c->number < d->calls[oldest]->number))
            oldest = i;
    }
    if (n < DOOR_LEFT_MAX)
        return true;
    if (oldest == d->n_calls)
        return false;
    drop(d, oldest);
    return true;
}

bool door_leave(struct door_call *c)
{
    if (!c->is_for_broker || c->door->is_closed || !(c->is_waiting || c->is_carried) ||
        !make_room(c->door))
        return false;
    c->conn = NULL;
    return true;
}

/* What waits, or is carried out, becomes this connection's. */
static void move(struct door_call *to, struct door_call *from)
{
    struct conn *conn = to->conn;
    free(to->name);
    call_request_release(&to->request);
    *to = *from;
    to->conn = conn;
    from->name = NULL;
    from->request = (struct call_request)CALL_REQUEST_INIT;
}

bool door_take_up(struct door_call *c)
{
    struct door *d = c->door;
    for (size_t i = 0; i < d->n_calls; i++) {
        struct door_call *left = d->calls[i];
        if (left->conn || strcmp(left->action, c->action) != 0)
            continue;
        if (left->kept)
            door_send(c, left->kept);
        else
            move(c, left);
        drop(d, i);
        return true;
    }
    return false;
}
