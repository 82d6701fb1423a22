/*
 * template: {{field}} replaced by the members of a row. Pure.
 */
#ifndef CMD_TEMPLATE_H
#define CMD_TEMPLATE_H

#include "runner/base/jx.h"

/* Append template with each {{field}} replaced: strings as they are, null as nothing, arrays of
 * strings (or of objects with a `name`, as labels are) joined by ", ", anything else as JSON.
 * ERR_USAGE names a field that the row does not have, with those that it has, or a `{{` that is not
 * closed. */
bool template_fill(struct buf *out, const char *template, const json_t *row,
                   struct err *err) WARN_UNUSED;

#endif
