#include "runner/server/keyring.h"

#include <stdlib.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"

struct keyring_entry {
    int64_t run;
    json_t *keys;
};

static struct keyring_entry *find(const struct keyring *ring, int64_t run)
{
    for (size_t i = 0; i < ring->n; i++)
        if (ring->all[i].run == run)
            return &ring->all[i];
    return NULL;
}

void keyring_put(struct keyring *ring, int64_t run, json_t *keys)
{
    struct keyring_entry *entry = find(ring, run);
    if (!keys)
        return;
    if (entry) {
        json_object_update(entry->keys, keys);
        json_decref(keys);
        return;
    }
    ring->all = xreallocarray(ring->all, ring->n + 1, sizeof(*ring->all));
    ring->all[ring->n++] = (struct keyring_entry){run, keys};
}

json_t *keyring_copy(const struct keyring *ring, int64_t run)
{
    const struct keyring_entry *entry = find(ring, run);
    return entry ? json_deep_copy(entry->keys) : NULL;
}

bool keyring_fill(struct strv *names, const struct keyring *ring, int64_t run, const char *id,
                  struct err *err)
{
    const struct keyring_entry *entry = find(ring, run);
    struct strv filled = STRV_INIT;
    for (size_t i = 0; i < names->n; i++) {
        const char *value = entry ? jx_str(entry->keys, names->v[i], NULL) : NULL;
        if (!value) {
            strv_release(&filled);
            return err_set(
                err, ERR_USAGE,
                "the value of --secret %s is not known any more, since it is never stored and the "
                "server that had "
                "it ended; 'headgate resume --secret %s %s' from a shell that has it goes on",
                names->v[i], names->v[i], id);
        }
        strv_pushf(&filled, "%s=%s", names->v[i], value);
    }
    strv_release(names);
    *names = filled;
    return true;
}

void keyring_forget(struct keyring *ring, int64_t run)
{
    struct keyring_entry *entry = find(ring, run);
    if (!entry)
        return;
    json_decref(entry->keys);
    *entry = ring->all[--ring->n];
}

void keyring_release(struct keyring *ring)
{
    while (ring->n > 0)
        keyring_forget(ring, ring->all[0].run);
    free(ring->all);
    *ring = (struct keyring){0};
}
