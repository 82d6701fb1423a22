/*
 * err: what went wrong, as a value.
 *
 * A function that can fail returns bool, is marked WARN_UNUSED, and takes a last `struct err *err`.
 * On false `*err` is filled; on true it is untouched. `ret_*` outputs are untouched on failure and
 * always set on success. Texts are whole sentences without a final full stop that say what is wrong
 * and, where it helps, what to do next; they never hold control characters from outside unescaped.
 * No locale, no allocation, safe in a forked child.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

#define WARN_UNUSED __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

enum err_code {
    ERR_NONE = 0,
    ERR_USAGE,     /* the caller's words are wrong (exit 2) */
    ERR_FAILED,    /* the work asked for failed (exit 1) */
    ERR_NOT_FOUND, /* the named thing does not exist (exit 1) */
    ERR_CONFLICT,  /* somebody else won, or the state does not allow it (exit 1) */
    ERR_REFUSED,   /* policy says no: would lose work, consent missing (exit 1) */
    ERR_LIMIT,     /* a bound was met (exit 1) */
    ERR_LAYER,     /* a required layer or kernel feature is missing (exit 4) */
    ERR_FORMAT,    /* malformed input from outside (exit 1) */
    ERR_SYS,       /* a system call failed; sys_errno says which way (exit 5) */
    ERR_INTERNAL,  /* Headgate itself is at fault (exit 5) */
    ERR_SHOWN,     /* no error: help was asked for and shown, nothing is left to do (exit 0) */
};

struct err {
    enum err_code code;
    int sys_errno; /* 0 unless the cause was a system call */
    char text[1024];
};

#define ERR_INIT         \
    {                    \
        .code = ERR_NONE \
    }

/* Fill err. Always returns false, so that callers write `return err_set(err, ...)`. Control
 * characters in the result, new lines too, are escaped; the arguments may quote err->text. */
bool err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Fill err from an errno value; ": <strerror>" is appended. Code is ERR_SYS. Always returns false.
 */
bool err_sys(struct err *err, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The text of an errno value: constant, untranslated, async-signal-safe; NULL when the C library
 * knows none. */
const char *err_describe(int errnum);

/* Put "<text>: " before the present text. Always returns false. */
bool err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The process exit code of the command line for this error: 1, 2, 4 or 5; 0 for ERR_NONE. */
int err_exit_code(const struct err *err);

/* The stable word of a code for JSON ("usage", "failed", "not_found", ...), and back
 * (unknown words give ERR_INTERNAL). */
const char *err_code_name(enum err_code code);
enum err_code err_code_from_name(const char *name);

#endif
