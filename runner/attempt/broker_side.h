/*
 * broker_side: what an attempt's box and keeper have of the broker (gate/broker.h): the shims first
 * in PATH, the folder in which fetched remotes appear read-only, the remotes of the person's
 * repository.
 */
#ifndef ATTEMPT_BROKER_SIDE_H
#define ATTEMPT_BROKER_SIDE_H

#include "runner/attempt/boxes.h"
#include "runner/base/jx.h"

#define BROKER_INSIDE_INBOX "/run/headgate/inbox"

/* The attempt's folder for what is fetched, on the host. Allocated. */
char *broker_side_inbox(const struct wt_attempt *tree);
/* [{"name","url","push"}], addresses without secrets, new reference. source: it is read there, or
 * NULL: now, in the repository at common_dir. */
bool broker_side_remotes(json_t **ret, const char *common_dir, struct wt_source *source,
                         struct err *err) WARN_UNUSED;
/* The programs of the broker that a person has: git always, gh and glab where they are installed.
 * hook: headgate-hook on the host. */
bool broker_side_show(struct box_spec *spec, const struct boxes *b, const char *hook,
                      struct err *err) WARN_UNUSED;

/* A login shell sets PATH anew, and finds the shims by this start-up file. */
extern const char broker_side_profile_text[];
/* The same written into a new private home on the host. */
bool broker_side_profile(const char *home, struct err *err) WARN_UNUSED;

#endif
