/*
 * key: keys out of the bytes that a terminal sends. Pure.
 *
 * Not curses' decoder, for two reasons: with one reader for both the screens and the live terminal
 * no key is lost in a second buffer when the one hands over to the other, and an escape is told
 * from a sequence by the caller's timer instead of a blocking read. Sequences that are not known,
 * and Alt with a key, give nothing: a stray sequence must never become an "a" that approves.
 */
#ifndef UI_KEY_H
#define UI_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

enum key_code {
    K_CHAR, /* ch holds a printable code point */
    K_CTRL, /* ch holds the letter: 'a' for Ctrl-A, ']' for Ctrl-] */
    K_ENTER,
    K_TAB,
    K_BACKTAB,
    K_BACKSPACE,
    K_DELETE,
    K_ESC,
    K_UP,
    K_DOWN,
    K_LEFT,
    K_RIGHT,
    K_HOME,
    K_END,
    K_PAGE_UP,
    K_PAGE_DOWN,
    K_PASTE_BEGIN, /* bracketed paste; only key_scan gives these two */
    K_PASTE_END,
};

struct key {
    enum key_code code;
    uint32_t ch;
    bool is_pasted; /* came out of a paste: text for an editor, never a command */
};

enum { KEY_PENDING_MAX = 64 };

struct key_reader {
    unsigned char pending[KEY_PENDING_MAX]; /* an unfinished sequence */
    size_t n;
    bool is_pasting;
};

/* Read the next key from bytes; *ret_used says how many were used up (always all when there is no
 * key). False: no key among them; what is unfinished is kept in the reader. */
bool key_next(struct key *ret, struct key_reader *r, const unsigned char *bytes, size_t len,
              size_t *ret_used);
/* True when an unfinished sequence waits: the caller sets a timer of about 50 ms and then calls
 * key_flush. */
bool key_is_waiting(const struct key_reader *r);
/* The time is over: a lone escape is the key itself, anything else is dropped. */
bool key_flush(struct key *ret, struct key_reader *r);

/* What starts at s: the length of one whole sequence or character in *ret_len and its key in *ret,
 * or *ret_len 0 when it is not yet whole. False: it is whole but means no key. len > 0. */
bool key_scan(struct key *ret, const unsigned char *s, size_t len, size_t *ret_len);

#endif
