/*
 * present: which of many names are there below a folder, with few looks at it.
 *
 * Most names of a long table are absent. A listing of the folder tells so for all at once, where
 * asking for each is a call of its own.
 */
#ifndef SANDBOX_PRESENT_H
#define SANDBOX_PRESENT_H

#include <stddef.h>

/* Call found for each of the names (relative paths, those in one folder next to each other) that
 * exists below the folder. Links are not followed at the end of a name. A folder that cannot be
 * listed, or is very long, is asked for each. Reads the host. */
void present_each(const char *folder, const char *const *names, size_t n,
                  void (*found)(const char *name, void *arg), void *arg);

#endif
