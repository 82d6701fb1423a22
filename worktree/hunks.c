#include "worktree/hunks.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/buf.h"
#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/unquote.h"

enum { OUTPUT_MAX_BYTES = 64 * 1024 * 1024, FILES_MAX = 100000 };

void hunk_set_release(struct hunk_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->v[i].path);
        free(set->v[i].old_oid);
        free(set->v[i].new_oid);
        free(set->v[i].v);
    }
    free(set->v);
    *set = (struct hunk_set){.v = NULL};
}

bool hunks_clash(const struct hunk *a, const struct hunk *b)
{
    if (a->start + a->count < b->start || b->start + b->count < a->start)
        return false;
    return a->start != b->start || a->count != b->count || a->digest != b->digest;
}

/* One line of the input, without its newline. */
struct line {
    const char *at;
    size_t len;
};

static bool starts(const struct line *line, const char *with)
{
    size_t len = strlen(with);
    return line->len >= len && memcmp(line->at, with, len) == 0;
}

/* "diff --git a/NAME b/NAME": both halves are the same but for their first letter. */
static bool begin_file(struct hunk_set *set, const struct line *line, struct err *err)
{
    static const char intro[] = "diff --git ";
    size_t rest = line->len - strlen(intro), half = (rest - 1) / 2;
    if (rest < 5 || set->n >= FILES_MAX)
        return err_set(err, ERR_FORMAT, "git diff-tree answered in an unknown form");
    AUTO_FREE char *name = unquote_path(line->at + line->len - half, half);
    set->v = xreallocarray(set->v, set->n + 1, sizeof(*set->v));
    set->v[set->n++] = (struct hunk_file){.path = xstrdup(strlen(name) > 2 ? name + 2 : name)};
    return true;
}

/* "index OLD..NEW[ MODE]" */
static void take_index(struct hunk_file *file, const struct line *line)
{
    const char *at = line->at + strlen("index ");
    size_t left = line->len - strlen("index ");
    const char *dots = memmem(at, left, "..", 2);
    if (!dots || file->old_oid)
        return;
    const char *end = memchr(dots, ' ', left - (size_t)(dots - at));
    size_t new_len = (size_t)((end ? end : at + left) - dots) - 2;
    file->old_oid = xstrndup(at, (size_t)(dots - at));
    file->new_oid = xstrndup(dots + 2, new_len);
}

/* "@@ -S[,C] +S[,C] @@" */
static bool begin_hunk(struct hunk_file *file, const struct line *line, struct err *err)
{
    AUTO_FREE char *text = xstrndup(line->at, line->len < 100 ? line->len : 100);
    long start = 0, count = 1;
    char *end;
    if (strncmp(text, "@@ -", 4) != 0)
        return err_set(err, ERR_FORMAT, "git diff-tree answered in an unknown form");
    start = strtol(text + 4, &end, 10);
    if (*end == ',')
        count = strtol(end + 1, &end, 10);
    if (start < 0 || count < 0)
        return err_set(err, ERR_FORMAT, "git diff-tree answered in an unknown form");
    file->v = xreallocarray(file->v, file->n + 1, sizeof(*file->v));
    file->v[file->n++] = (struct hunk){
        .start = count > 0 ? start - 1 : start, .count = count, .digest = 14695981039346656037U};
    return true;
}

static void add_to_digest(struct hunk *hunk, const struct line *line)
{
    uint64_t digest = hunk->digest;
    for (size_t i = 0; i < line->len; i++)
        digest = (digest ^ (unsigned char)line->at[i]) * 1099511628211U;
    hunk->digest = (digest ^ '\n') * 1099511628211U;
}

/* A line between the head of a file and its first hunk. */
static bool take_head(struct hunk_file *file, const struct line *line, struct err *err)
{
    if (starts(line, "@@ "))
        return begin_hunk(file, line, err);
    if (starts(line, "index "))
        take_index(file, line);
    if (starts(line, "old mode "))
        file->has_mode_change = true;
    if (starts(line, "Binary files "))
        file->is_binary = true;
    return true;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct hunk_file *)a)->path, ((const struct hunk_file *)b)->path);
}

/* The part that the line heads, or n. Parts come in the order of the pairs; equal ones repeat. */
static size_t find_part(const struct hunk_pair *pairs, size_t n, size_t from,
                        const struct line *line)
{
    for (size_t i = from; i < n; i++)
        if (strlen(pairs[i].to) == line->len && memcmp(pairs[i].to, line->at, line->len) == 0)
            return i;
    return n;
}

static bool take_line(struct hunk_set *set, const struct line *line, struct err *err)
{
    if (starts(line, "diff --git "))
        return begin_file(set, line, err);
    if (set->n == 0)
        return true;
    struct hunk_file *file = &set->v[set->n - 1];
    if (file->n == 0 || starts(line, "@@ "))
        return take_head(file, line, err);
    add_to_digest(&file->v[file->n - 1], line);
    return true;
}

bool hunks_parse(struct hunk_set *sets, const struct hunk_pair *pairs, size_t n, const char *text,
                 size_t len, struct err *err)
{
    size_t part = n, next = 0;
    for (const char *at = text, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct line line = {at, (size_t)((newline ? newline : end) - at)};
        at += line.len + 1;
        /* No line of a diff is one of hexadecimal digits: each has its sign in front. */
        size_t found = line.len == 40 || line.len == 64 ? find_part(pairs, n, next, &line) : n;
        if (found < n) {
            part = found;
            next = found + 1;
        } else if (part < n && !take_line(&sets[part], &line, err)) {
            return false;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (sets[i].n > 1)
            qsort(sets[i].v, sets[i].n, sizeof(*sets[i].v), compare_files);
    return true;
}

bool hunks_get(struct hunk_set *sets, const struct hunk_pair *pairs, size_t n,
               const char *common_dir, struct err *err)
{
    AUTO_BUF struct buf input = BUF_INIT, out = BUF_INIT;
    AUTO_STRV struct strv config = STRV_INIT;
    struct err why = ERR_INIT;
    for (size_t i = 0; i < n; i++)
        buf_addf(&input, "%s %s\n", pairs[i].to, pairs[i].from);
    strv_push(&config, "diff.mnemonicPrefix=false");
    strv_push(&config, "diff.noprefix=false");
    strv_push(&config, "diff.orderFile=");
    struct gitrun g = {
        .git_dir = common_dir,
        .bare = true,
        .config = &config,
        .input = input.ptr,
        .input_len = input.len,
        .max_output_bytes = OUTPUT_MAX_BYTES,
    };
    const char *const *args =
        GIT_ARGS("diff-tree", "--stdin", "--always", "-r", "-p", "-U0", "--full-index",
                 "--no-renames", "--diff-algorithm=histogram", "--no-ext-diff", "--no-textconv",
                 "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short");
    if (gitrun_out(&out, &g, args, &why))
        return hunks_parse(sets, pairs, n, out.ptr, out.len, err);
    if (why.code != ERR_LIMIT) {
        *err = why;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        sets[i].is_cut = true;
    return true;
}
