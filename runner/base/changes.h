/*
 * changes: what git in a box is told about its worktree, so that it need not look at every file.
 *
 * The upper layer of an overlay holds exactly what differs from the base, so it answers what
 * githooks(5) calls fsmonitor-watchman: which paths may have changed since a token. Names that both
 * sides use, and the token.
 *
 * A file in the upper layer is always named. What was only there and is gone left nothing but the
 * time of its folder's last change; so a folder that changed at or after the token's moment is
 * named with all that is below it, and of the top what its index has there that is no folder. The
 * moment is compared with a second to spare, and a token of another boot, or of a clock that was
 * set back since, is of no use.
 */
#ifndef BASE_CHANGES_H
#define BASE_CHANGES_H

#include <stdbool.h>
#include <stdint.h>
#include "runner/base/buf.h"

/* In the box: the upper layer, read-only; what .git of this worktree is, and of no other. */
#define CHANGES_UPPER "/run/headgate/upper"
#define CHANGES_GITFILE "/run/headgate/gitfile"
#define CHANGES_HOOK "/run/headgate/bin/headgate-changes"

struct changes_token {
    int64_t since_ns;  /* changes before this are in the index that has the token */
    int64_t offset_ns; /* of the real-time clock to the time since boot */
    char boot_id[40];
};

/* The token of this moment, for one who looks at the files afterwards. */
bool changes_now(struct changes_token *ret, struct err *err) WARN_UNUSED;
/* The same for one who made all changes so far himself, and lets nobody make others before
 * clock_pass_tick. */
bool changes_after_this(struct changes_token *ret, struct err *err) WARN_UNUSED;

void changes_format(struct buf *out, const struct changes_token *token);
/* False for what is no token of ours, or is of no use as of `now`. */
bool changes_parse(struct changes_token *ret, const char *text, const struct changes_token *now);
/* Whether something last changed at this time must count as changed after the token. */
bool changes_is_later(const struct changes_token *token, int64_t changed_ns);

#endif
