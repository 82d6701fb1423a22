#include "runner/base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/gitconf.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

static const char system_config[] = "/etc/headgate/config";

enum value_kind { VALUE_TEXT, VALUE_BOOL, VALUE_INT };

/* Every setting there is. `*` stands for one subsection, the name of an agent. A key that is read
 * anywhere must stand here, which tests/lint/config_keys.sh checks. */
static const struct {
    const char *key;
    enum value_kind kind;
} known[] = {
    {"run.jobs", VALUE_INT},
    {"run.attempts", VALUE_INT},
    {"run.grace", VALUE_INT},
    {"run.timeout", VALUE_TEXT},
    {"run.base", VALUE_TEXT},
    {"run.require", VALUE_TEXT},
    {"run.env", VALUE_TEXT},
    {"run.canary", VALUE_BOOL},
    {"run.output", VALUE_INT},
    {"gate.ladder", VALUE_TEXT},
    {"gate.*.ladder", VALUE_TEXT},
    {"gate.exec", VALUE_TEXT},
    {"gate.*.exec", VALUE_TEXT},
    {"gate.execdeadline", VALUE_INT},
    {"gate.debugger", VALUE_BOOL},
    {"gate.freeze", VALUE_BOOL},
    {"gate.deadline", VALUE_INT},
    {"gate.hellodeadline", VALUE_INT},
    {"gate.outcome", VALUE_TEXT},
    {"gate.rule", VALUE_TEXT},
    {"gate.notify", VALUE_TEXT},
    {"gate.notifycommand", VALUE_TEXT},
    {"gate.netdeadline", VALUE_INT},
    {"box.user", VALUE_TEXT},
    {"box.memory", VALUE_INT},
    {"box.pids", VALUE_INT},
    {"box.net", VALUE_TEXT},
    {"box.ro", VALUE_TEXT},
    {"box.rw", VALUE_TEXT},
    {"box.mask", VALUE_TEXT},
    {"box.env", VALUE_TEXT},
    {"worktree.bases", VALUE_INT},
    {"worktree.engine", VALUE_TEXT},
    {"worktree.include", VALUE_TEXT},
    {"worktree.setup", VALUE_TEXT},
    {"worktree.share", VALUE_TEXT},
    {"worktree.teardown", VALUE_TEXT},
    {"agent.default", VALUE_TEXT},
    {"agent.*.model", VALUE_TEXT},
    {"agent.*.net", VALUE_TEXT},
    {"agent.*.key", VALUE_TEXT},
    {"agent.*.keycommand", VALUE_TEXT},
    {"agent.*.keyenv", VALUE_TEXT},
    {"agent.*.keyurl", VALUE_TEXT},
    {"agent.*.keyurlenv", VALUE_TEXT},
    {"agent.*.keyheader", VALUE_TEXT},
    {"agent.*.ca", VALUE_TEXT},
    {"agent.*.login", VALUE_TEXT},
    {"agent.*.loginurl", VALUE_TEXT},
    {"agent.*.issuer", VALUE_TEXT},
    {"agent.*.env", VALUE_TEXT},
    {"agent.*.projectsettings", VALUE_BOOL},
    {"agent.*.program", VALUE_TEXT},
    {"agent.*.run", VALUE_TEXT},
    {"agent.*.interactive", VALUE_TEXT},
    {"agent.*.resume", VALUE_TEXT},
    {"ui.bell", VALUE_BOOL},
    {"ui.notify", VALUE_BOOL},
    {"ui.osc", VALUE_TEXT},
    {"server.idletimeout", VALUE_TEXT},
};

struct entry {
    char *key;
    char *value;
};

struct config {
    struct entry *entries;
    size_t n;
    size_t cap;
};

void config_free(struct config *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++) {
        free(c->entries[i].key);
        free(c->entries[i].value);
    }
    free(c->entries);
    free(c);
}

void auto_config_(struct config **c)
{
    config_free(*c);
}

static void add_entry(struct config *c, const char *key, const char *value)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 16;
        c->entries = xreallocarray(c->entries, c->cap, sizeof(*c->entries));
    }
    c->entries[c->n++] = (struct entry){.key = xstrdup(key), .value = xstrdup(value)};
}

static bool matches(const char *pattern, const char *key)
{
    const char *star = strchr(pattern, '*');
    if (!star)
        return strcmp(pattern, key) == 0;
    size_t head = (size_t)(star - pattern), tail = strlen(star + 1), len = strlen(key);
    return len > head + tail && strncmp(pattern, key, head) == 0 &&
           strcmp(star + 1, key + len - tail) == 0;
}

/* git's words for a boolean (git-config(1), VALUES). */
static bool parse_bool(bool *ret, const char *value)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0", ""};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (strcasecmp(value, yes[i]) == 0)
            return *ret = true;
    for (size_t i = 0; i < ARRAY_LEN(no); i++) {
        if (strcasecmp(value, no[i]) != 0)
            continue;
        *ret = false;
        return true;
    }
    return false;
}

static bool parse_int(int64_t *ret, const char *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || errno == ERANGE)
        return false;
    int64_t factor = 1;
    if (*end == 'k' || *end == 'K')
        factor = INT64_C(1) << 10;
    else if (*end == 'm' || *end == 'M')
        factor = INT64_C(1) << 20;
    else if (*end == 'g' || *end == 'G')
        factor = INT64_C(1) << 30;
    if (factor > 1)
        end++;
    int64_t scaled;
    if (*end || __builtin_mul_overflow((int64_t)number, factor, &scaled))
        return false;
    *ret = scaled;
    return true;
}

static bool check_value(const char *key, const char *value, enum value_kind kind,
                        const char *origin, struct err *err)
{
    bool ignored_bool;
    int64_t ignored_int;
    switch (kind) {
    case VALUE_TEXT:
        return true;
    case VALUE_BOOL:
        return parse_bool(&ignored_bool, value) ||
               err_set(err, ERR_USAGE, "%s: %s must be true or false, not '%s'", origin, key,
                       value);
    case VALUE_INT:
        return parse_int(&ignored_int, value) ||
               err_set(err, ERR_USAGE, "%s: %s must be a number, not '%s'", origin, key, value);
    }
    return err_set(err, ERR_INTERNAL, "%s: %s has an unknown kind", origin, key);
}

static bool check_entry(const char *key, const char *value, const char *origin, struct err *err)
{
    if (strncmp(key, "include.", 8) == 0 || strncmp(key, "includeif.", 10) == 0)
        return err_set(err, ERR_USAGE, "%s: %s is not allowed; write the settings into the file",
                       origin, key);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (matches(known[i].key, key))
            return check_value(key, value, known[i].kind, origin, err);
    return err_set(err, ERR_USAGE, "%s: unknown setting %s", origin, key);
}

struct source {
    struct config *config;
    const char *origin;
};

/* A name that stands alone means true. */
static bool add_setting(const char *key, const char *value, void *arg, struct err *err)
{
    const struct source *source = arg;
    if (!check_entry(key, value ? value : "true", source->origin, err))
        return false;
    add_entry(source->config, key, value ? value : "true");
    return true;
}

static bool add_bytes(struct config *c, const char *bytes, size_t len, const char *origin,
                      struct err *err)
{
    struct source source = {c, origin};
    struct err why = ERR_INIT;
    if (memchr(bytes, '\0', len))
        return err_set(err, ERR_FORMAT, "%s holds a NUL byte", origin);
    if (gitconf_each(bytes, len, add_setting, &source, &why))
        return true;
    if (why.code == ERR_FORMAT)
        return err_set(err, ERR_USAGE, "%s is not valid: %s", origin, why.text);
    *err = why;
    return false;
}

static bool add_file(struct config *c, const char *path, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT;
    struct err why = ERR_INIT;
    if (!fs_read_file(&bytes, AT_FDCWD, path, LIMIT_CONFIG_BYTES, &why)) {
        if (why.sys_errno == ENOENT || why.sys_errno == ENOTDIR)
            return true;
        *err = why;
        return false;
    }
    if (bytes.len == 0)
        return true;
    return add_bytes(c, bytes.ptr, bytes.len, path, err);
}

bool config_load(struct config **ret, const struct paths *paths, struct err *err)
{
    AUTO_CONFIG struct config *c = xcalloc(1, sizeof(*c));
    if (!add_file(c, system_config, err) || !add_file(c, paths->user_config, err))
        return false;
    *ret = steal_ptr(&c);
    return true;
}

static uint64_t mix(uint64_t stamp, int64_t value)
{
    return (stamp ^ (uint64_t)value) * 0x100000001b3u; /* FNV-1a, a word at a time */
}

uint64_t config_stamp(const struct paths *paths)
{
    const char *const files[] = {system_config, paths->user_config};
    uint64_t stamp = 0xcbf29ce484222325u;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct stat st;
        if (stat(files[i], &st) != 0)
            st = (struct stat){0};
        stamp = mix(mix(stamp, (int64_t)st.st_ino), st.st_size);
        stamp = mix(mix(stamp, st.st_mtim.tv_sec), st.st_mtim.tv_nsec);
    }
    return stamp;
}

bool config_parse(struct config **ret, const char *bytes, size_t len, const char *origin,
                  struct err *err)
{
    AUTO_CONFIG struct config *c = xcalloc(1, sizeof(*c));
    if (len > LIMIT_CONFIG_BYTES)
        return err_set(err, ERR_LIMIT, "%s is longer than %d bytes", origin, LIMIT_CONFIG_BYTES);
    if (len > 0 && !add_bytes(c, bytes, len, origin, err))
        return false;
    *ret = steal_ptr(&c);
    return true;
}

const char *config_str(const struct config *c, const char *key, const char *fallback)
{
    for (size_t i = c->n; i > 0; i--)
        if (strcmp(c->entries[i - 1].key, key) == 0)
            return c->entries[i - 1].value;
    return fallback;
}

bool config_bool(const struct config *c, const char *key, bool fallback)
{
    bool value;
    return parse_bool(&value, config_str(c, key, fallback ? "true" : "false")) ? value : fallback;
}

int64_t config_int(const struct config *c, const char *key, int64_t fallback)
{
    const char *text = config_str(c, key, NULL);
    int64_t value;
    return text && parse_int(&value, text) ? value : fallback;
}

size_t config_values(const char **out, size_t max, const struct config *c, const char *key)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->entries[i].key, key) == 0 && n++ < max)
            out[n - 1] = c->entries[i].value;
    return n;
}

void config_list(struct strv *out, const struct config *c, const char *key)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->entries[i].key, key) == 0)
            strv_push(out, c->entries[i].value);
}

void config_each(const struct config *c,
                 void (*visit)(const char *key, const char *value, void *arg), void *arg)
{
    for (size_t i = 0; i < c->n; i++)
        visit(c->entries[i].key, c->entries[i].value, arg);
}
