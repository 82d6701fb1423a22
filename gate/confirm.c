#include "gate/confirm.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

void confirm_release(struct confirm *c)
{
    free(c->kept);
    *c = (struct confirm){0};
}

bool confirm_is_asked(const struct call_request *r)
{
    return strcmp(r->source, "confirm") == 0;
}

void confirm_key_of(struct confirm_key *ret, const struct call_request *r)
{
    const struct digest_part parts[] = {{r->tool, strlen(r->tool)},
                                        {r->call_id, strlen(r->call_id)},
                                        {r->sub_id, strlen(r->sub_id)}};
    ret->name[0] = '\0';
    if (r->call_id[0])
        digest_parts(ret->name, parts, ARRAY_LEN(parts));
    call_action_digest(ret->action, r);
}

void confirm_add(struct confirm *c, const struct confirm_key *key)
{
    if (!key->name[0])
        return;
    if (!c->kept)
        c->kept = xcalloc(CONFIRM_KEPT, sizeof(*c->kept));
    c->kept[c->next] = *key;
    c->next = (c->next + 1) % CONFIRM_KEPT;
    if (c->n < CONFIRM_KEPT)
        c->n++;
}

bool confirm_take(struct confirm *c, const struct call_request *r, const struct confirm_key *key)
{
    bool by_name = json_object_get(r->args, "changes") != NULL;
    for (size_t i = 0; i < c->n && key->name[0]; i++) {
        struct confirm_key *kept = &c->kept[i];
        if (strcmp(kept->name, key->name) != 0 ||
            (!by_name && strcmp(kept->action, key->action) != 0))
            continue;
        kept->name[0] = '\0';
        return true;
    }
    return false;
}
