/*
 * box_flow: bytes from one descriptor to another through one bounded buffer, for a poll(2) loop.
 *
 * A full buffer stops the reading, so a slow side slows the other down and nothing grows.
 * Descriptors are borrowed. Sources and sockets must not block; a target that does (the person's
 * own standard output) is written only when poll says so.
 */
#ifndef CMD_BOX_FLOW_H
#define CMD_BOX_FLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { BOX_FLOW_BYTES = 16 * 1024 };

struct box_flow {
    int from, to;
    size_t at, len; /* what waits in data */
    bool has_ended; /* no more will be read */
    bool is_done;   /* and all of it was written, or nobody takes it any more */
    char data[BOX_FLOW_BYTES];
};

void box_flow_init(struct box_flow *f, int from, int to);
/* What to wait for: the source while the buffer is empty, else the target. fd -1 when done. */
struct pollfd box_flow_poll(const struct box_flow *f);
/* Go on after poll answered with these events. */
void box_flow_step(struct box_flow *f, short events);

#endif
