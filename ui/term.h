/*
 * term: the person's terminal: a canvas goes to it, bytes come from it. The only file that includes
 * curses.
 *
 * One terminal per process, as with curses itself: hence no handle. It is given back as it was
 * found on every way out: term_close; a fatal signal or abort (a handler writes the reset and the
 * signal then takes its course); stop and continue (term_suspend and term_resume, called by the
 * owner of the signals). Signals of the terminal must have handlers before term_open, else curses
 * takes them.
 */
#ifndef UI_TERM_H
#define UI_TERM_H

#include <sys/types.h>
#include "ui/canvas.h"

/* ERR_USAGE: standard input and output are no terminal, or its type is unknown. */
bool term_open(struct err *err) WARN_UNUSED;
void term_close(void);
/* A descriptor to poll: readable when there is something to read. Not to be read itself. */
int term_waker(void);
/* As read(2), and never blocks: EAGAIN when there is nothing, 0 when the terminal is gone. */
ssize_t term_read(void *ret, size_t size);
void term_size(int *ret_rows, int *ret_cols);
/* Draw what differs from the last canvas. */
void term_draw(const struct canvas *cv);
/* Forget what is on the terminal: the next drawing writes all of it. After a change of size and
 * after a continue. */
void term_forget(void);
/* Raw: also the keys that make signals are bytes. */
void term_raw(bool is_raw);
void term_bell(void);
/* Bytes that change nothing on the screen (alert.h). */
void term_alert(const char *bytes);
void term_suspend(void);
void term_resume(void);

#endif
