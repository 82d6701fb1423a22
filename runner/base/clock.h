/*
 * clock: time in milliseconds, and its text for people.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include "runner/base/buf.h"

int64_t clock_unix_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
/* Return once whatever is written from now on has a later time than all that was written before:
 * files get the time of the last tick. Some milliseconds. */
void clock_pass_tick(void);
/* Append a short duration: "0s", "59s", "3m12s", "2h05m", "4d03h". Negative counts as 0. */
void clock_add_duration(struct buf *out, int64_t duration_ms);
/* Append local time "2026-11-30 14:05:09". */
void clock_add_local(struct buf *out, int64_t unix_ms);
/* Parse "90", "90s", "15m", "2h", "1d" into milliseconds; a bare number is seconds. */
bool clock_parse_duration(int64_t *ret_ms, const char *text, struct err *err) WARN_UNUSED;
/* Parse "512", "64k", "300M", "2G" (binary units) into bytes. */
bool clock_parse_size(int64_t *ret_bytes, const char *text, struct err *err) WARN_UNUSED;

#endif
