/* diff_json: a diff as files and hunks for programs. */
#ifndef CMD_DIFF_JSON_H
#define CMD_DIFF_JSON_H

#include "runner/base/jx.h"

/* [{path, old_path, status, old_mode, new_mode, binary, hunks:[{n, header, old_start, old_lines,
 * new_start, new_lines, text}]}], a new reference. */
bool diff_json(json_t **ret, const char *patch, size_t len, struct err *err) WARN_UNUSED;

#endif
