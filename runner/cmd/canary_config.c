#include "runner/cmd/canary_config.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

static void add_value(struct buf *out, const char *value)
{
    buf_addch(out, '"');
    for (const char *at = value; *at; at++) {
        if (*at == '"' || *at == '\\')
            buf_addch(out, '\\');
        if (*at == '\n' || *at == '\t')
            buf_adds(out, *at == '\n' ? "\\n" : "\\t");
        else
            buf_addch(out, *at);
    }
    buf_addch(out, '"');
}

/* "section.name", or "section.sub.section.name". */
static void add_entry(struct buf *out, const char *key, const char *value)
{
    const char *first = strchr(key, '.'), *last = strrchr(key, '.');
    buf_addch(out, '[');
    buf_add(out, key, (size_t)(first - key));
    if (last > first) {
        buf_addch(out, ' ');
        AUTO_FREE char *sub = xstrndup(first + 1, (size_t)(last - first - 1));
        add_value(out, sub);
    }
    buf_addf(out, "]\n\t%s = ", last + 1);
    add_value(out, value);
    buf_addch(out, '\n');
}

struct kept {
    struct buf *out;
    char *own; /* "agent.NAME." */
};

/* A canary brings keys of its own, which open nothing. */
static bool is_of_model(const char *name)
{
    static const char *const names[] = {"key", "keycommand", "ca", "login", "loginurl"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void add_kept(const char *key, const char *value, void *arg)
{
    const struct kept *k = arg;
    size_t len = strlen(k->own);
    if (strncmp(key, "box.", 4) == 0 || (strncmp(key, k->own, len) == 0 && !is_of_model(key + len)))
        add_entry(k->out, key, value);
}

/* Last, so that they win over what stands in the system's file. */
static void add_quiet(struct buf *out, const struct config *config)
{
    if (config_str(config, "worktree.setup", NULL))
        add_entry(out, "worktree.setup", "true");
    if (config_str(config, "worktree.teardown", NULL))
        add_entry(out, "worktree.teardown", "true");
    if (config_str(config, "gate.notifycommand", NULL))
        add_entry(out, "gate.notifycommand", "true");
    add_entry(out, "ui.notify", "false");
}

void canary_config(struct buf *out, const struct agent *agent, const struct config *config)
{
    struct kept k = {out, xasprintf("agent.%s.", agent->name)};
    config_each(config, add_kept, &k);
    if (agent->stub_model) {
        AUTO_FREE char *key = xasprintf("%smodel", k.own);
        add_entry(out, key, agent->stub_model);
    }
    add_quiet(out, config);
    free(k.own);
}
