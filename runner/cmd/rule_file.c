#include "runner/cmd/rule_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

void rules_release(struct rules *r)
{
    for (size_t i = 0; i < r->n; i++)
        rule_release(&r->v[i]);
    free(r->v);
    *r = (struct rules)RULES_INIT;
}

static void take(struct rules *r, const struct rule *rule)
{
    r->v = xreallocarray(r->v, r->n + 1, sizeof(*r->v));
    r->v[r->n++] = *rule;
}

bool rules_add(struct rules *r, const char *text, struct err *err)
{
    struct rule rule = RULE_INIT;
    if (!rule_parse(&rule, text, err))
        return false;
    take(r, &rule);
    return true;
}

bool rules_add_words(struct rules *r, const struct strv *words, struct err *err)
{
    struct rule rule = RULE_INIT;
    if (!rule_parse_words(&rule, words->v, words->n, err))
        return false;
    take(r, &rule);
    return true;
}

bool rules_read(struct rules *ret, const char *path, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT;
    AUTO_STRV struct strv lines = STRV_INIT;
    bool ok = strcmp(path, "-") == 0
                  ? fs_read_fd(&bytes, STDIN_FILENO, LIMIT_CONFIG_BYTES, err)
                  : fs_read_file(&bytes, AT_FDCWD, path, LIMIT_CONFIG_BYTES, err);
    if (!ok) {
        err->code = ERR_USAGE;
        return err_prefix(err, "cannot read the rules");
    }
    size_t before = ret->n;
    strv_split(&lines, bytes.ptr, '\n', true);
    for (size_t i = 0; i < lines.n; i++) {
        const char *line = lines.v[i] + strspn(lines.v[i], " \t\r");
        lines.v[i][strcspn(lines.v[i], "\r")] = '\0';
        if (*line && *line != '#' && !rules_add(ret, line, err))
            return err_prefix(err, "line %zu", i + 1);
    }
    return ret->n > before || err_set(err, ERR_USAGE, "there are no rules in it");
}
