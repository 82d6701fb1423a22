#include "runner/base/strv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

void strv_release(struct strv *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
    *s = (struct strv)STRV_INIT;
}

static void push_owned(struct strv *s, char *text)
{
    if (s->n + 1 >= s->cap) { /* one place stays for the final NULL */
        s->cap = s->cap ? s->cap * 2 : 8;
        s->v = xreallocarray(s->v, s->cap, sizeof(*s->v));
    }
    s->v[s->n++] = text;
    s->v[s->n] = NULL;
}

void strv_push(struct strv *s, const char *text)
{
    push_owned(s, xstrdup(text));
}

void strv_push_n(struct strv *s, const char *text, size_t len)
{
    push_owned(s, xstrndup(text, len));
}

void strv_pushf(struct strv *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    push_owned(s, xvasprintf(fmt, args));
    va_end(args);
}

void strv_push_all(struct strv *s, char *const *array)
{
    for (; *array; array++)
        strv_push(s, *array);
}

void strv_split(struct strv *s, const char *text, char sep, bool keep_empty)
{
    for (;;) {
        const char *end = strchrnul(text, sep);
        if (keep_empty || end > text)
            strv_push_n(s, text, (size_t)(end - text));
        if (!*end)
            return;
        text = end + 1;
    }
}

bool strv_has(const struct strv *s, const char *text)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i], text) == 0)
            return true;
    return false;
}

char *const *strv_array(const struct strv *s)
{
    static char *const none[] = {NULL};
    return s->v ? s->v : none;
}

static bool is_variable(const char *entry, const char *name, size_t len)
{
    return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

const char *strv_env_get(const struct strv *env, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < env->n; i++)
        if (is_variable(env->v[i], name, len))
            return env->v[i] + len + 1;
    return NULL;
}

void strv_env_set(struct strv *env, const char *name, const char *value)
{
    /* Built before anything is freed: value may be borrowed from env itself. */
    char *entry = value ? xasprintf("%s=%s", name, value) : NULL;
    size_t len = strlen(name), kept = 0;
    for (size_t i = 0; i < env->n; i++) {
        if (!is_variable(env->v[i], name, len)) {
            env->v[kept++] = env->v[i];
            continue;
        }
        free(env->v[i]);
        if (entry)
            env->v[kept++] = steal_ptr(&entry);
    }
    if (env->v)
        env->v[kept] = NULL;
    env->n = kept;
    if (entry)
        push_owned(env, entry);
}
