#include "worktree/markers.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/buf.h"
#include "runner/base/mem.h"
#include "worktree/gitrun.h"

enum { PATHS_MAX = 16, OUTPUT_MAX_BYTES = 16 * 1024 * 1024, MARK_LEN = 7 };

/* A line of seven equal signs, alone or with words behind. */
static bool is_mark(const char *line, size_t len, char sign)
{
    for (size_t i = 0; i < MARK_LEN; i++)
        if (len <= i || line[i] != sign)
            return false;
    return len == MARK_LEN || line[MARK_LEN] == ' ';
}

void markers_in(const char *text, size_t len, size_t path, markers_fn each, void *arg)
{
    enum { COMMON, OURS, BASE, THEIRS } part = COMMON;
    long line_number = 1;
    for (const char *at = text, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((newline ? newline : end) - at);
        if (part == COMMON && is_mark(at, line_len, '<')) {
            part = OURS;
            each(arg, path, line_number);
        } else if (part == OURS && is_mark(at, line_len, '|')) {
            part = BASE;
        } else if (part != COMMON && is_mark(at, line_len, '=')) {
            part = THEIRS;
        } else if (part == THEIRS && is_mark(at, line_len, '>')) {
            part = COMMON;
        } else {
            line_number += part == COMMON || part == OURS;
        }
        at += line_len + 1;
    }
}

/* "OID blob SIZE\nCONTENT\n", or a line that says what is missing. */
static const char *take_answer(const char *at, const char *end, size_t path, markers_fn each,
                               void *arg)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (!newline)
        return end;
    AUTO_FREE char *head = xstrndup(at, (size_t)(newline - at));
    const char *size_text = strstr(head, " blob ");
    size_t left = (size_t)(end - newline) - 1;
    size_t size = size_text ? strtoul(size_text + strlen(" blob "), NULL, 10) : 0;
    if (!size_text)
        return newline + 1;
    if (size > left)
        return end;
    markers_in(newline + 1, size, path, each, arg);
    return size < left ? newline + 1 + size + 1 : end;
}

void markers_each(const char *common_dir, const struct strv *env, const char *tree,
                  const struct strv *paths, markers_fn each, void *arg)
{
    AUTO_BUF struct buf input = BUF_INIT, out = BUF_INIT;
    struct err ignored = ERR_INIT;
    size_t n = paths->n < PATHS_MAX ? paths->n : PATHS_MAX;
    for (size_t i = 0; i < n; i++) {
        buf_addf(&input, "%s:%s", tree, paths->v[i]);
        buf_addch(&input, '\0');
    }
    struct gitrun g = {.git_dir = common_dir,
                       .bare = true,
                       .env = env,
                       .input = input.ptr,
                       .input_len = input.len,
                       .max_output_bytes = OUTPUT_MAX_BYTES};
    if (n == 0 || !gitrun_out(&out, &g, GIT_ARGS("cat-file", "--batch", "-z"), &ignored))
        return;
    const char *at = out.ptr, *end = out.ptr + out.len;
    for (size_t i = 0; i < n && at < end; i++)
        at = take_answer(at, end, i, each, arg);
}
