#include "gate/confirm.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

void confirm_release(struct confirm *c)
{
    free(c->kept);
    *c = (struct confirm){0};
}

static bool is_hook(const struct call_request *r)
{
    return strcmp(r->source, "hook") == 0;
}

bool confirm_is_asked(const struct call_request *r)
{
    return strcmp(r->source, "confirm") == 0;
}

/* Names of arguments under which one file or folder is told. */
static const char *const path_keys[] = {"file_path", "notebook_path", "path"};

/* Relative, and joined to a folder by a slash it is the same path to the kernel. */
static bool is_plain(const char *path)
{
    if (path[0] == '/' || path[0] == '~')
        return false;
    for (;;) {
        size_t len = strcspn(path, "/");
        if (len == 0 || (len <= 2 && strncmp(path, "..", len) == 0))
            return false;
        if (!path[len])
            return true;
        path += len + 1;
    }
}

/* The arguments with their relative paths joined to the folder; NULL: there are none. */
static json_t *joined_args(const struct call_request *r)
{
    json_t *joined = NULL;
    size_t end = strlen(r->cwd);
    for (size_t i = 0; i < ARRAY_LEN(path_keys) && end > 1 && r->cwd[end - 1] != '/'; i++) {
        const json_t *value = json_object_get(r->args, path_keys[i]);
        const char *path = json_string_value(value);
        if (!path || strlen(path) != json_string_length(value))
            continue;
        path += strncmp(path, "./", 2) == 0 ? 2 : 0;
        if (!is_plain(path))
            continue;
        joined = joined ? joined : json_copy(r->args);
        jx_set(joined, path_keys[i], json_sprintf("%s/%s", r->cwd, path));
    }
    return joined;
}

static void whole_of(char ret[DIGEST_HEX_SIZE], const struct call_request *r, const char *action)
{
    const struct digest_part parts[] = {{r->session, strlen(r->session)}, {action, strlen(action)}};
    digest_parts(ret, parts, ARRAY_LEN(parts));
}

static void add_joined(struct confirm_key *ret, const struct call_request *r)
{
    AUTO_JSON json_t *args = joined_args(r);
    char action[DIGEST_HEX_SIZE];
    struct call_request joined = *r;
    if (!args)
        return;
    joined.args = args;
    call_action_digest(action, &joined);
    whole_of(ret->joined, r, action);
}

void confirm_key_of(struct confirm_key *ret, const struct call_request *r)
{
    const struct digest_part parts[] = {{r->tool, strlen(r->tool)},
                                        {r->call_id, strlen(r->call_id)},
                                        {r->sub_id, strlen(r->sub_id)}};
    *ret = (struct confirm_key){0};
    if (r->call_id[0])
        digest_parts(ret->name, parts, ARRAY_LEN(parts));
    call_action_digest(ret->action, r);
    whole_of(ret->whole, r, ret->action);
    if (is_hook(r))
        add_joined(ret, r);
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

bool confirm_follows(struct confirm *c, const struct call_request *r, const struct confirm_key *key)
{
    for (size_t i = 0; i < c->n && key->name[0] && is_hook(r); i++) {
        struct confirm_key *kept = &c->kept[i];
        if (strcmp(kept->name, key->name) != 0 || strcmp(kept->joined, key->whole) != 0)
            continue;
        kept->name[0] = '\0';
        return true;
    }
    return false;
}
