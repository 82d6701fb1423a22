/*
 * Whatever a box prints: what is accepted are whole object names and refs that git allows, and the
 * pack starts inside the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/harvest_box.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct harvest_box *b, size_t oid_len)
{
    if (*b->head && (strlen(b->head) != oid_len || !gitrun_is_oid(b->head)))
        abort();
    if (*b->snapshot && (strlen(b->snapshot) != oid_len || !gitrun_is_oid(b->snapshot)))
        abort();
    if (b->refs.n > HARVEST_MAX_REFS)
        abort();
    for (size_t i = 0; i < b->refs.n; i++)
        if (strlen(b->refs.v[i].oid) != oid_len || !refs_is_valid_name(b->refs.v[i].name) ||
            strncmp(b->refs.v[i].name, "refs/", 5) != 0)
            abort();
    for (const char *p = b->note.ptr; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t lengths[] = {40, 64};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        AUTO_HARVEST_BOX struct harvest_box b = HARVEST_BOX_INIT;
        struct err err = ERR_INIT;
        size_t pack_at = 0;
        if (!harvest_box_parse(&b, &pack_at, (const char *)data, size, lengths[i], &err))
            continue;
        if (pack_at > size)
            abort();
        check(&b, lengths[i]);
    }
    return 0;
}
