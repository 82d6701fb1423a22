#include "tests/unit/gate/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/strv.h"

enum { SESSION_BYTES = 1024 * 1024 };

const struct policy_place session_place = {.worktree = "/home/u/w", .home = "/home/u"};

/* "W/src" is a path of the worktree, "H/x" one of the home; alone or inside of a text. */
static json_t *placed(const json_t *value)
{
    const char *text = json_string_value(value), *key;
    json_t *item;
    if (text) {
        bool is_tree = text[0] == 'W' && (!text[1] || text[1] == '/');
        bool is_home = text[0] == 'H' && text[1] == '/';
        AUTO_FREE char *whole =
            is_tree || is_home
                ? xasprintf("%s%s", is_tree ? session_place.worktree : session_place.home, text + 1)
                : xstrdup(text);
        return json_string(whole);
    }
    if (!json_is_object(value))
        return json_deep_copy(value);
    json_t *copy = json_object();
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        jx_set(copy, key, placed(item));
    }
    return copy;
}

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(2);
}

size_t session_load(struct call_request **ret, const char *path)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_STRV struct strv lines = STRV_INIT;
    if (!fs_read_file(&text, AT_FDCWD, path, SESSION_BYTES, &err))
        die(path, &err);
    strv_split(&lines, text.ptr, '\n', false);
    struct call_request *calls = xcalloc(lines.n, sizeof(*calls));
    for (size_t i = 0; i < lines.n; i++) {
        AUTO_JSON json_t *line = NULL;
        if (!jx_parse(&line, lines.v[i], strlen(lines.v[i]), &err))
            die(lines.v[i], &err);
        AUTO_JSON json_t *message = placed(line);
        jx_set_int(message, "v", 1);
        jx_set_str(message, "source", "hook");
        if (!call_request_from_json(&calls[i], message, &err))
            die(lines.v[i], &err);
    }
    *ret = calls;
    return lines.n;
}

void session_free(struct call_request *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        call_request_release(&calls[i]);
    free(calls);
}
