/*
 * vtfilter: what of a program's terminal output reaches libvterm. Pure.
 *
 * libvterm 0.1.4 is C that parses an attacker's bytes outside the box, and it is not safe: "ESC #
 * 8", a change of size and "ESC # 6" write outside its arrays (measured). So it sees only what
 * stands in a table here: text in well-formed UTF-8, a few controls, and the sequences that
 * full-screen programs use, each whole, with at most VTFILTER_PARAMS parameters of at most
 * VTFILTER_PARAM_MAX. Strings (titles, clipboard, device control) never get through, and are not
 * kept either. Two things are translated for it: REP (CSI b), which ncurses uses and libvterm
 * lacks, and the cursor's saving by CSI s and u.
 */
#ifndef UI_VTFILTER_H
#define UI_VTFILTER_H

#include "runner/base/buf.h"

enum { VTFILTER_PARAMS = 16, VTFILTER_PARAM_MAX = 9999, VTFILTER_REPEAT_MAX = 500 };

struct vtfilter {
    enum { VTF_GROUND, VTF_ESCAPE, VTF_CSI, VTF_STRING, VTF_STRING_ESCAPE } state;
    char leader, intermediate; /* 0: none */
    bool is_bad;               /* the sequence is well-formed but not for us: dropped at its end */
    unsigned params[VTFILTER_PARAMS];
    char separators[VTFILTER_PARAMS]; /* before the parameter of the same index: ';' or ':' */
    size_t n_params;
    bool has_digits;
    char text[4]; /* an unfinished character, and after it the last one that was printed, for REP */
    size_t text_len, text_need;
    char last[4];
    size_t last_len;
};

#define VTFILTER_INIT       \
    {                       \
        .state = VTF_GROUND \
    }
/* Append what may pass. Sequences and characters may be cut between calls. */
void vtfilter_feed(struct vtfilter *f, struct buf *out, const char *bytes, size_t len);

#endif
