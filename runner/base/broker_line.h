/* broker_line: what a call of source `broker` (gate/broker.h) would do, for one line. Pure. */
#ifndef BASE_BROKER_LINE_H
#define BASE_BROKER_LINE_H

#include "runner/base/jx.h"

/* The words as typed, then where they lead: "git push -u origin HEAD:fix to URL refs/heads/fix".
 * Not sanitised. */
void broker_line(struct buf *out, const json_t *args);

#endif
