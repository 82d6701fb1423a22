/* gist: what a call would do, from its arguments, for one line among others. */
#ifndef BASE_GIST_H
#define BASE_GIST_H

#include <jansson.h>
#include "runner/base/buf.h"

/*
 * Append the one argument that says it, as it is; or, where several could, these as JSON, the
 * shortest first, so that none is hidden behind another. What an agent adds to the arguments of a
 * tool so changes the line, and does not take the place of what the tool goes by. Texts that fill a
 * file, remarks and numbers are left out. Not sanitised, not bounded. True:
 * it is the argument's own text, and no JSON. args: anything, NULL too.
 */
bool gist_add(struct buf *out, const json_t *args);

#endif
