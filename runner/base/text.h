/*
 * text: the one sanitiser. Whatever came out of a box, or from any file of a repository, passes
 * here before it meets a terminal, a notification or an error message.
 *
 * Printable UTF-8 stays. Escaped visibly: C0 (as \n \t \e \xNN), DEL and C1 (\xNN for the code
 * point), bytes that are not UTF-8 (\xNN), bidi controls, zero-width, ignorable and other format
 * characters, non-ASCII spaces, unassigned and private-use code points (\u{NNNN}); what stands in
 * JSON for a byte that is not UTF-8 (jx_bytes) is that byte again. A backslash stays as it is
 * unless TEXT_EXACT, where it is doubled, and where C1 and those are \u{NNNN} too, so that the
 * escape is reversible.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdint.h>
#include "runner/base/buf.h"

enum text_flags {
    TEXT_KEEP_NEWLINE = 1, /* \n stays */
    TEXT_KEEP_TAB = 2,     /* \t becomes spaces up to the next multiple of 8 columns */
    TEXT_EXACT = 4,        /* double backslashes too */
};

void text_sanitise(struct buf *out, const char *s, size_t len, unsigned flags);
/* The same, allocated, flags 0. */
char *text_clean(const char *s);
/* Columns of a sanitised line (East Asian wide count 2, combining 0). */
int text_width(const char *s, size_t len);
/* Bytes of s that fit into max_columns without cutting a grapheme. */
size_t text_fit(const char *s, size_t len, int max_columns);
/* Append s cut to max_columns; when cut, the last column is an ellipsis. */
void text_add_clipped(struct buf *out, const char *s, int max_columns);
/* Append a sanitised line so that neither padding nor length hides a part of it: a long run of
 * blanks becomes "…[4000 blanks]…", and what is wider than max_columns loses its middle, not its
 * end
 * ("make …[812 left out]… rm -rf x"). Below TEXT_BRIEF_MIN columns it is clipped. */
enum { TEXT_BRIEF_MIN = 32 };
void text_add_brief(struct buf *out, const char *s, int max_columns);
/* True when path stands at s[at] as a path of its own, or with something below it, and not as a
 * part of another path. One of less than two bytes stands nowhere. */
bool text_has_path_at(const char *s, size_t len, size_t at, const char *path);
/* Append s with `.` for folder wherever its path stands: for lists that people read, where the
 * exact text is one command away. Does not sanitise. */
void text_add_relative(struct buf *out, const char *s, size_t len, const char *folder);
/* Append "512 B", "3.4 MiB". */
void text_add_size(struct buf *out, int64_t bytes);
bool text_is_utf8(const char *s, size_t len);
/* True when s is 1..max_len of [A-Za-z0-9._-] and starts with a letter or digit. */
bool text_is_name(const char *s, size_t max_len);

#endif
