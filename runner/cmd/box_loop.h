/*
 * box_loop: the life of a box of `headgate box`: its streams, its terminal, its signals, its ports,
 * until it ends.
 *
 * The person's terminal never goes in: a stream that is one is relayed through a pipe, or, when
 * standard input and output both are, the command gets a terminal of the box's own. Other streams
 * go in as they are.
 */
#ifndef CMD_BOX_LOOP_H
#define CMD_BOX_LOOP_H

#include "sandbox/box.h"

struct box_proxy;

struct box_end {
    int status;          /* of the command: exit code or 128+signal */
    struct err exceeded; /* not ERR_NONE: of what it used too much; the status is that of a kill */
    struct err failure;  /* not ERR_NONE: why the box could not be made, or its program not be
                            started; ERR_NOT_FOUND: none there, ERR_REFUSED: not executable */
    struct layer_report report;
    struct box_times times;
};

/* Fills the spec while the launcher starts; spec->pty, cols and rows are set before. */
typedef bool (*box_describe_fn)(struct box_spec *spec, void *arg, struct err *err);
/* Asked while the box is built and before anything runs in it; false ends it. */
typedef bool (*box_allow_fn)(const struct box_spec *spec, struct err *err);

/* Start the box, run it to its end. is_plain: describe will leave no layer out and set no limit, so
 * that the namespaces can be made meanwhile. allow may be NULL. proxy (NULL: none) gets the
 * listening sockets of its port. What the box itself says went wrong is in ret->failure. */
bool box_loop_run(struct box_end *ret, const char *launcher, bool is_plain,
                  box_describe_fn describe, void *arg, box_allow_fn allow, struct box_proxy *proxy,
                  struct err *err) WARN_UNUSED;

#endif
