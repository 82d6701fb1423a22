/*
 * log_file: the log of the gate as one file that verifies anywhere.
 *
 * JSON lines: {"log":"headgate","v":2,"run":R}; then rows in order, whole ones as
 * {seq,at_ms,kind,body,prev,hash} with the body as the text that was hashed, those of other runs as
 * {seq,prev,hash}; then what each call asked, {call,attempt,local,request}, whose digest is in the
 * call's rows, or {call,attempt,local,dropped_ms} where its arguments are gone, of as many calls as
 * rows say; last {"end":true,"rows":N,"tail":HASH}. Each hash follows from the one before, so
 * that a changed, missing, inserted or moved row is found; a file rewritten as a whole is found
 * only against a tail that was kept elsewhere.
 */
#ifndef CMD_LOG_FILE_H
#define CMD_LOG_FILE_H

#include "runner/base/jx.h"

/* A hash and what is known of the file so far. */
struct log_check {
    int64_t rows, calls, bad_line; /* bad_line: from 1; 0: none */
    int64_t dropped;               /* calls whose arguments are gone */
    json_t *digests;               /* by call, of those whose request has not come yet */
    json_t *gone; /* by attempt and time: how many calls a row says to have lost theirs */
    char tail[65];
    bool has_end;
    struct buf why;
};
void log_check_init(struct log_check *c);
void log_check_release(struct log_check *c);
/* Check the bytes of a file. False: *c says where and why. Pure. */
bool log_check_text(struct log_check *c, const char *text, size_t len);

#endif
