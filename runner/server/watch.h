/*
 * watch: sees that an agent committed, and has the commits brought home.
 */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include "runner/server/live.h"

/* Watch the private git folder of a running attempt. Where that is not possible the commits come
 * home at the end. */
void watch_open(struct live *live);
void watch_close(struct live *live);

#endif
