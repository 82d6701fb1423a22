#include "worktree/patch.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/unquote.h"

enum { FILES_MAX = 200000, LINE_SHOWN = 200 };

static void free_file(struct patch_file *file)
{
    free(file->path);
    free(file->old_path);
    free(file->v);
}

void patch_release(struct patch *p)
{
    for (size_t i = 0; i < p->n; i++)
        free_file(&p->v[i]);
    free(p->v);
    *p = (struct patch)PATCH_INIT;
}

const struct patch_file *patch_find(const struct patch *p, const char *path)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].path, path) == 0)
            return &p->v[i];
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].old_path, path) == 0)
            return &p->v[i];
    return NULL;
}

/* A line of the input, without its newline. */
struct line {
    const char *at;
    size_t len;
};

static bool starts(const struct line *line, const char *with)
{
    size_t len = strlen(with);
    return line->len >= len && memcmp(line->at, with, len) == 0;
}

static bool unknown(struct err *err)
{
    return err_set(err, ERR_FORMAT, "git wrote a diff in an unknown form");
}

/* "diff --git a/NAME b/NAME": without a rename both halves are the same but for their first letter.
 */
static bool begin_file(struct patch *p, const struct line *line, struct err *err)
{
    static const char intro[] = "diff --git ";
    size_t rest = line->len - strlen(intro), half = rest > 0 ? (rest - 1) / 2 : 0;
    if (half < 3 || p->n >= FILES_MAX)
        return unknown(err);
    AUTO_FREE char *name = unquote_path(line->at + line->len - half, half);
    if (strlen(name) < 3)
        return unknown(err);
    const char *path = name + 2;
    p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
    p->v[p->n++] = (struct patch_file){
        .at = line->at, .path = xstrdup(path), .old_path = xstrdup(path), .status = 'M'};
    return true;
}

static void set_path(char **member, const struct line *line, const char *intro)
{
    size_t skip = strlen(intro);
    char *path = unquote_path(line->at + skip, line->len - skip);
    if (!*path) { /* git names something */
        free(path);
        return;
    }
    free(*member);
    *member = path;
}

static unsigned mode_behind(const struct line *line, const char *intro)
{
    AUTO_FREE char *text = xstrndup(line->at + strlen(intro), line->len - strlen(intro));
    return (unsigned)strtoul(text, NULL, 8);
}

/* A line of a file's head. */
static void take_head(struct patch_file *file, const struct line *line)
{
    if (starts(line, "new file mode ")) {
        file->status = 'A';
        file->new_mode = mode_behind(line, "new file mode ");
    } else if (starts(line, "deleted file mode ")) {
        file->status = 'D';
        file->old_mode = mode_behind(line, "deleted file mode ");
    } else if (starts(line, "old mode ")) {
        file->status = 'T';
        file->old_mode = mode_behind(line, "old mode ");
    } else if (starts(line, "new mode ")) {
        file->new_mode = mode_behind(line, "new mode ");
    } else if (starts(line, "rename from ") || starts(line, "copy from ")) {
        file->status = starts(line, "copy") ? 'C' : 'R';
        set_path(&file->old_path, line, file->status == 'C' ? "copy from " : "rename from ");
    } else if (starts(line, "rename to ") || starts(line, "copy to ")) {
        set_path(&file->path, line, starts(line, "copy") ? "copy to " : "rename to ");
    } else if (starts(line, "Binary files ") || starts(line, "GIT binary patch")) {
        file->is_binary = true;
    }
}

/* "S" or "S,C" behind the sign at *at, which moves on. */
static bool take_range(const char **at, char sign, long *ret_start, long *ret_lines)
{
    char *end;
    if (**at != sign)
        return false;
    *ret_start = strtol(*at + 1, &end, 10);
    *ret_lines = 1;
    if (end == *at + 1)
        return false;
    if (*end == ',')
        *ret_lines = strtol(end + 1, &end, 10);
    *at = end;
    return *ret_start >= 0 && *ret_lines >= 0;
}

static bool begin_hunk(struct patch_file *file, const struct line *line, struct err *err)
{
    struct patch_hunk hunk = {.at = line->at};
    AUTO_FREE char *text = xstrndup(line->at, line->len < LINE_SHOWN ? line->len : LINE_SHOWN);
    const char *at = text + 3;
    if (!take_range(&at, '-', &hunk.old_start, &hunk.old_lines) || *at++ != ' ' ||
        !take_range(&at, '+', &hunk.new_start, &hunk.new_lines))
        return unknown(err);
    if (file->status == 'T')
        file->status = 'M';
    if (file->n == 0)
        file->head_len = (size_t)(line->at - file->at);
    file->v = xreallocarray(file->v, file->n + 1, sizeof(*file->v));
    file->v[file->n++] = hunk;
    return true;
}

/* How many lines of the hunk at hand are still to come: what starts with "diff" in there is text.
 */
struct rest {
    long old_lines, new_lines;
};

static void count_line(struct rest *rest, const struct line *line)
{
    char sign = line->len ? *line->at : ' ';
    rest->old_lines -= sign == '-' || sign == ' ';
    rest->new_lines -= sign == '+' || sign == ' ';
}

static void end_file(struct patch_file *file, const char *end)
{
    file->len = (size_t)(end - file->at);
    if (file->n == 0)
        file->head_len = file->len;
    for (size_t i = 0; i < file->n; i++) {
        const char *next = i + 1 < file->n ? file->v[i + 1].at : end;
        file->v[i].len = (size_t)(next - file->v[i].at);
    }
}

static bool take_line(struct patch *p, struct rest *rest, const struct line *line, struct err *err)
{
    struct patch_file *file = p->n ? &p->v[p->n - 1] : NULL;
    if (file && (rest->old_lines > 0 || rest->new_lines > 0)) {
        count_line(rest, line);
        return true;
    }
    if (starts(line, "diff --git ")) {
        if (file)
            end_file(file, line->at);
        return begin_file(p, line, err);
    }
    if (!file)
        return line->len == 0 || unknown(err);
    if (!starts(line, "@@ ")) {
        if (file->n == 0)
            take_head(file, line);
        return true;
    }
    if (!begin_hunk(file, line, err))
        return false;
    rest->old_lines = file->v[file->n - 1].old_lines;
    rest->new_lines = file->v[file->n - 1].new_lines;
    return true;
}

/* git shows a change of the type as two files of one name: gone, and new. */
static void join_retyped(struct patch *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct patch_file *last = kept > 0 ? &p->v[kept - 1] : NULL, *file = &p->v[i];
        if (!last || last->status != 'D' || file->status != 'A' ||
            strcmp(last->path, file->path) != 0) {
            p->v[kept++] = *file;
            continue;
        }
        last->v = xreallocarray(last->v, last->n + file->n + 1, sizeof(*last->v));
        for (size_t k = 0; k < file->n; k++)
            last->v[last->n++] = file->v[k];
        last->len += file->len;
        last->status = 'T';
        last->new_mode = file->new_mode;
        last->is_binary |= file->is_binary;
        last->is_retyped = true;
        free_file(file);
    }
    p->n = kept;
}

bool patch_parse(struct patch *ret, const char *text, size_t len, struct err *err)
{
    AUTO_PATCH struct patch p = PATCH_INIT;
    struct rest rest = {0, 0};
    const char *end = text + len;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct line line = {at, (size_t)((newline ? newline : end) - at)};
        if (!take_line(&p, &rest, &line, err))
            return false;
        at += line.len + 1;
    }
    if (p.n > 0)
        end_file(&p.v[p.n - 1], end);
    join_retyped(&p);
    *ret = p;
    p = (struct patch)PATCH_INIT;
    return true;
}
