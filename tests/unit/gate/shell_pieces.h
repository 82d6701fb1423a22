/*
 * shell_pieces: parts of words that the splitter takes and every shell reads in the same way, for
 * those who put strings together of them.
 */
#ifndef TESTS_GATE_SHELL_PIECES_H
#define TESTS_GATE_SHELL_PIECES_H

/* clang-format off */
#define SHELL_PIECES \
    "a", "Z9", "-x", "--long=v", "x=y", \
    "./p/q", "@", "%s", "+1", "k:v,w", \
    "'sq $x `y` \\n'", "''", "\"\"", "\"dq 'in' ; | & # * ~\"", "'new\nline'", \
    "\"two\nlines\"", "'\"'", "\"'\"", "'é ü'", "\"=\"", \
    "_", "%", "/", "'*'", "\"?\"", \
    "'#'", ",", "\"{a,b}\"", "'a\tb'"
/* clang-format on */

#endif
