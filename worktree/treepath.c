#include "worktree/treepath.h"

#include <string.h>

static bool is_part(const char *part, size_t len, const char *name)
{
    return strlen(name) == len && strncmp(part, name, len) == 0;
}

bool treepath_link_stays(const char *path, const char *target)
{
    int depth = 0;
    for (const char *p = path; (p = strchr(p, '/')); p++)
        depth++;
    if (*target == '/' || *target == '\0')
        return false;
    bool has_name = false;
    for (const char *p = target; *p;) {
        size_t len = strcspn(p, "/");
        if (is_part(p, len, "..")) {
            if (has_name || --depth < 0)
                return false;
        } else if (len > 0 && !is_part(p, len, ".")) {
            has_name = true;
        }
        p += len + (p[len] == '/');
    }
    return true;
}
