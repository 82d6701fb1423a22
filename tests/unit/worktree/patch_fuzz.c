/*
 * Diffs of what an agent wrote: whatever is accepted lies inside the text, in order, and its hunks
 * inside their files.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/hunks.h"
#include "worktree/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct patch *p, const char *text, size_t size)
{
    const char *at = text;
    for (size_t i = 0; i < p->n; i++) {
        const struct patch_file *file = &p->v[i];
        if (file->at < at || file->at + file->len > text + size || file->head_len > file->len)
            abort();
        if (!*file->path || !file->old_path)
            abort();
        const char *next = file->at + file->head_len;
        for (size_t k = 0; k < file->n; k++) {
            if (file->v[k].at != next || file->v[k].old_lines < 0 || file->v[k].new_start < 0)
                abort();
            next += file->v[k].len;
        }
        if (next != file->at + file->len)
            abort();
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char to[] = "0123456789012345678901234567890123456789";
    const struct hunk_pair pair = {to, to};
    struct hunk_set set = {.v = NULL};
    struct err err = ERR_INIT;
    AUTO_PATCH struct patch p = PATCH_INIT;
    AUTO_FREE char *text = xstrndup((const char *)data, size); /* to its first NUL */
    size_t len = strlen(text);
    AUTO_FREE char *headed = xasprintf("%s\n%s", to, text);
    if (patch_parse(&p, text, len, &err))
        check(&p, text, len);
    if (hunks_parse(&set, &pair, 1, headed, strlen(headed), &err))
        for (size_t i = 0; i < set.n; i++)
            for (size_t k = 0; k < set.v[i].n; k++)
                if (set.v[i].v[k].start < -1 || set.v[i].v[k].count < 0)
                    abort();
    hunk_set_release(&set);
    return 0;
}
