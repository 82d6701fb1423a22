#include "runner/cmd/diff_json.h"

#include <string.h>

#include "runner/base/mem.h"
#include "worktree/patch.h"

static json_t *hunk_json(const struct patch_hunk *h, size_t n)
{
    json_t *j = json_object();
    const char *newline = memchr(h->at, '\n', h->len);
    size_t head = newline ? (size_t)(newline - h->at) : h->len;
    jx_set_int(j, "n", (int64_t)n);
    jx_set(j, "header", jx_bytes(h->at, head));
    jx_set_int(j, "old_start", h->old_start);
    jx_set_int(j, "old_lines", h->old_lines);
    jx_set_int(j, "new_start", h->new_start);
    jx_set_int(j, "new_lines", h->new_lines);
    jx_set(j, "text", newline ? jx_bytes(newline + 1, h->len - head - 1) : json_string(""));
    return j;
}

static void set_mode(json_t *j, const char *key, unsigned mode)
{
    AUTO_FREE char *text = mode ? xasprintf("%06o", mode) : NULL;
    jx_set_str(j, key, text);
}

static json_t *file_json(const struct patch_file *file)
{
    json_t *j = json_object(), *hunks = json_array();
    const char status[] = {file->status, '\0'};
    jx_set(j, "path", jx_bytes(file->path, strlen(file->path)));
    jx_set(j, "old_path", jx_bytes(file->old_path, strlen(file->old_path)));
    jx_set_str(j, "status", status);
    set_mode(j, "old_mode", file->old_mode);
    set_mode(j, "new_mode", file->new_mode);
    jx_set_bool(j, "binary", file->is_binary);
    for (size_t i = 0; i < file->n; i++)
        json_array_append_new(hunks, hunk_json(&file->v[i], i + 1));
    jx_set(j, "hunks", hunks);
    return j;
}

bool diff_json(json_t **ret, const char *patch, size_t len, struct err *err)
{
    AUTO_PATCH struct patch p = PATCH_INIT;
    if (!patch_parse(&p, patch, len, err))
        return false;
    json_t *files = json_array();
    for (size_t i = 0; i < p.n; i++)
        json_array_append_new(files, file_json(&p.v[i]));
    *ret = files;
    return true;
}
