/*
 * keepfile: keep.json, what a keeper is told at its start (runner/PROTOCOL.md).
 */
#ifndef ATTEMPT_KEEPFILE_H
#define ATTEMPT_KEEPFILE_H

#include "runner/attempt/boxes.h"

bool keepfile_write(const struct boxes *b, const struct box_spec *box, const struct policy *policy,
                    struct err *err) WARN_UNUSED;

#endif
