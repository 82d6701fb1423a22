#include "runner/base/gist.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"

enum { LOUD_MAX = 16 };

/* Arguments that no tool goes by: they say how, and not what, or are what a file will hold. */
static const char *const quiet[] = {
    "description",   "title",      "instruction", "justification", "content", "old_string",
    "new_string",    "oldString",  "newString",   "new_source",    "edits",   "changes",
    "subagent_type", "agent_name", "port",        "via",           "parents", "argv_digest",
    "call_id",       "session",    "subagent",    "model",
};

struct loud {
    const char *key;
    const json_t *value;
    size_t bytes;
};

static bool is_quiet(const char *key, const json_t *value)
{
    if (json_is_number(value) || json_is_boolean(value) || json_is_null(value))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(quiet); i++)
        if (strcmp(quiet[i], key) == 0)
            return true;
    return false;
}

static int by_length(const void *a, const void *b)
{
    const struct loud *one = a, *other = b;
    if (one->bytes != other->bytes)
        return one->bytes < other->bytes ? -1 : 1;
    return strcmp(one->key, other->key);
}

/* False: there are too many to choose from. */
static bool find_loud(struct loud ret[LOUD_MAX], size_t *ret_n, const json_t *args)
{
    const char *key;
    json_t *value;
    *ret_n = 0;
    json_object_foreach((json_t *)(uintptr_t)args, key, value)
    {
        if (is_quiet(key, value))
            continue;
        if (*ret_n == LOUD_MAX)
            return false;
        AUTO_BUF struct buf text = BUF_INIT;
        jx_dump(&text, value);
        ret[(*ret_n)++] = (struct loud){key, value, text.len};
    }
    qsort(ret, *ret_n, sizeof(*ret), by_length);
    return true;
}

bool gist_add(struct buf *out, const json_t *args)
{
    struct loud loud[LOUD_MAX];
    size_t n;
    bool is_found = json_is_object(args) && find_loud(loud, &n, args) && n > 0;
    if (is_found && n == 1 && json_is_string(loud[0].value)) {
        buf_add(out, json_string_value(loud[0].value), json_string_length(loud[0].value));
        return true;
    }
    AUTO_JSON json_t *all = json_object();
    for (size_t i = 0; is_found && i < n; i++)
        jx_set(all, loud[i].key, json_incref((json_t *)(uintptr_t)loud[i].value));
    if (is_found)
        jx_dump(out, all);
    else if (args)
        jx_canonical(out, args);
    return false;
}
