/*
 * confine: what the keeper takes from itself once its box stands and before the agent runs.
 *
 * The keeper reads what an agent controls (arguments, paths, a proxy's streams, terminal output).
 * From then on it can gain no privilege, and the kernel refuses it whatever it has no more use for:
 * new namespaces and mounts, other users, other processes' memory but to read it, kernel
 * facilities. Root's capabilities shrink to those for looking at the box and ending it. Descendants
 * (the one that finds addresses) are confined as well.
 *
 * What it cannot take: starting programs, since the resolver is one and a filter does not see
 * names. And Landlock: in a domain of its own the keeper could not trace the box (landlock(7)),
 * whose domain cannot be below the keeper's, since such a process may not mount. Nor a mount
 * namespace of its own, for which an ordinary user needs a user namespace, and the box would not be
 * below that one.
 */
#ifndef KEEP_CONFINE_H
#define KEEP_CONFINE_H

#include "sandbox/layer.h"

/* For the whole process, which has one thread; once. The status says how far it came; a kernel
 * without filters is `unavailable`, and no error. */
void confine_self(struct layer_status *ret);

#endif
