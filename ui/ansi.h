/*
 * ansi: leave out the colours that programs print into a log. Pure.
 *
 * Only whole SGR sequences (ECMA-48, CSI ... m) go: they change no content. Everything else stays,
 * and the sanitiser then shows it for what it is.
 */
#ifndef UI_ANSI_H
#define UI_ANSI_H

#include "runner/base/buf.h"

struct ansi {
    char held[64]; /* a sequence that is not whole yet */
    size_t n;
};

/* Append the bytes without SGR sequences; one may be cut between two calls. */
void ansi_strip(struct ansi *a, struct buf *out, const char *bytes, size_t len);

#endif
