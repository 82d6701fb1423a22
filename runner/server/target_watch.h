/*
 * target_watch: the branches of a person's repository that attempts are for, as they move: by a
 * commit, a switch, a fetch. A change of a file is only a sign to look; what moved is not found out
 * here. Plain refs, packed ones and reftable are seen; where nothing can be watched, conflicts are
 * looked for when work comes home, as ever.
 */
#ifndef SERVER_TARGET_WATCH_H
#define SERVER_TARGET_WATCH_H

#include "runner/server/core.h"

/* Watch these branches of the repository ("": that of its main checkout) from now on, and no
 * others; none: nothing. Some moments after a change clash_moved is called. Each change after this
 * call is seen, so call before looking. */
void target_watch_set(struct server *s, const char *common, const struct strv *branches);
void target_watch_close(struct server *s);

#endif
