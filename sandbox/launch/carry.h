/*
 * carry: the content of a folder of an overlay, made again in another folder of the same overlay.
 *
 * A file that still lies in the base is copied: its data would be copied for a link too, and synced
 * to the disk file by file, which takes a hundred times as long (measured). Any other is linked, so
 * that it stays the same file to whoever has it open. All are as they were: mode, times, extended
 * attributes.
 *
 * Functions return 0 or an errno. No symbolic link is followed. Descriptors are borrowed.
 */
#ifndef LAUNCH_CARRY_H
#define LAUNCH_CARRY_H

#include "sandbox/launch/sys.h"

/* What was born before the folder for an overlay's changes is a file of its base. */
struct carry {
    struct statx_timestamp upper_born;
};

/* root: the overlay's own. ENOTSUP: its file system keeps no times of birth. */
int carry_init(struct carry *c, int root);
/* Fill the empty folder `to` with what `from` holds, which stays. EBUSY: something is mounted in
 * it. Folders in it are open to their owner until they are drained. */
int carry_fill(const struct carry *c, int to, int from);
/* Take from `from` what `to` holds already. What was written meanwhile, or is missing there, moves.
 */
int carry_drain(const struct carry *c, int to, int from);
/* The way back of a drain that failed: what is missing in `to` moves there, the rest of `from`
 * goes. Needs no room. */
int carry_back(int to, int from);
/* Mode, times and extended attributes of a file or folder that is open; of a folder's mode, what
 * closes it to its owner comes with carry_drain. */
int carry_attributes(int to, int from, const struct statx *st);
/* A folder with all that it holds; none: 0. */
int carry_remove(int parent, const char *name);

#endif
