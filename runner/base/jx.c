#include "runner/base/jx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"

/* Where bytes that are not UTF-8 go: U+10F800 + byte, in the private plane 16. */
enum { BYTE_BASE = 0x10f800 };

void auto_json_(json_t **j)
{
    json_decref(*j);
}

/* jansson recurses when it parses, compares, dumps and frees; its own bound is far above ours. */
static bool is_shallow(const char *text, size_t len)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > LIMIT_JSON_DEPTH)
                return false;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return true;
}

bool jx_parse(json_t **ret, const char *text, size_t len, struct err *err)
{
    if (!is_shallow(text, len))
        return err_set(err, ERR_LIMIT, "JSON is nested deeper than %d levels", LIMIT_JSON_DEPTH);
    json_error_t why;
    json_t *value =
        json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (!value) {
        /* jansson quotes the input behind "near"; what came from outside stays outside. */
        char *quote = strstr(why.text, " near '");
        if (quote)
            *quote = '\0';
        return err_set(err, ERR_FORMAT, "malformed JSON at line %d, column %d: %s", why.line,
                       why.column, why.text);
    }
    *ret = value;
    return true;
}

const char *jx_str(const json_t *obj, const char *key, const char *fallback)
{
    const json_t *value = json_object_get(obj, key);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : fallback;
}

int64_t jx_int(const json_t *obj, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(obj, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

bool jx_bool(const json_t *obj, const char *key, bool fallback)
{
    const json_t *value = json_object_get(obj, key);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

json_t *jx_obj(const json_t *obj, const char *key)
{
    json_t *value = json_object_get(obj, key);
    return json_is_object(value) ? value : NULL;
}

json_t *jx_arr(const json_t *obj, const char *key)
{
    json_t *value = json_object_get(obj, key);
    return json_is_array(value) ? value : NULL;
}

static void add_strings(struct strv *out, const json_t *array)
{
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        const char *text = json_string_value(item);
        if (text && strlen(text) == json_string_length(item))
            strv_push(out, text);
    }
}

void jx_strv(struct strv *out, const json_t *obj, const char *key)
{
    add_strings(out, jx_arr(obj, key));
}

bool jx_parse_strv(struct strv *out, const char *text, struct err *err)
{
    AUTO_JSON json_t *array = NULL;
    if (!jx_parse(&array, text, strlen(text), err))
        return false;
    add_strings(out, array);
    return true;
}

/* jansson fails here only for want of memory, or on keys that are not ours. */
static json_t *must(json_t *value)
{
    if (!value)
        abort();
    return value;
}

json_t *jx_from_strv(const struct strv *s)
{
    json_t *array = must(json_array());
    for (size_t i = 0; i < s->n; i++)
        if (json_array_append_new(array, jx_bytes(s->v[i], strlen(s->v[i]))) != 0)
            abort();
    return array;
}

void jx_dump_strv(struct buf *out, const struct strv *s)
{
    AUTO_JSON json_t *array = jx_from_strv(s);
    jx_dump(out, array);
}

static bool is_continuation(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The length of the valid UTF-8 sequence at p (Unicode 15, table 3-7), or 0. */
static size_t valid_sequence(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return left >= 2 && is_continuation(p[1]) ? 2 : 0;
    if (p[0] >= 0xe0 && p[0] <= 0xef) {
        if (left < 3 || !is_continuation(p[1]) || !is_continuation(p[2]))
            return 0;
        bool is_overlong = p[0] == 0xe0 && p[1] < 0xa0;
        bool is_surrogate = p[0] == 0xed && p[1] > 0x9f;
        return is_overlong || is_surrogate ? 0 : 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (left < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3]))
            return 0;
        bool is_overlong = p[0] == 0xf0 && p[1] < 0x90;
        bool is_beyond = p[0] == 0xf4 && p[1] > 0x8f;
        return is_overlong || is_beyond ? 0 : 4;
    }
    return 0;
}

/* U+10F800..U+10F8FF is F4 8F A0..A3 xx. */
static bool is_stand_in(const unsigned char *p, size_t len)
{
    return len == 4 && p[0] == 0xf4 && p[1] == 0x8f && p[2] >= 0xa0 && p[2] <= 0xa3;
}

static void add_stand_in(struct buf *out, unsigned char byte)
{
    unsigned code = BYTE_BASE + byte;
    char utf8[4] = {
        (char)(0xf0 | code >> 18),
        (char)(0x80 | (code >> 12 & 0x3f)),
        (char)(0x80 | (code >> 6 & 0x3f)),
        (char)(0x80 | (code & 0x3f)),
    };
    buf_add(out, utf8, sizeof(utf8));
}

json_t *jx_bytes(const char *s, size_t len)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + len;
    AUTO_BUF struct buf out = BUF_INIT;
    while (p < end) {
        size_t n = valid_sequence(p, (size_t)(end - p));
        if (n > 0 && !is_stand_in(p, n)) {
            buf_add(&out, p, n);
            p += n;
            continue;
        }
        for (size_t i = n > 0 ? n : 1; i > 0; i--)
            add_stand_in(&out, *p++);
    }
    return must(json_stringn(out.ptr, out.len));
}

unsigned jx_depth(const json_t *value)
{
    unsigned deepest = 0, depth;
    const char *key;
    json_t *member;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        depth = jx_depth(member);
        deepest = depth > deepest ? depth : deepest;
    }
    json_array_foreach(value, i, member)
    {
        depth = jx_depth(member);
        deepest = depth > deepest ? depth : deepest;
    }
    return json_is_object(value) || json_is_array(value) ? deepest + 1 : 0;
}

void jx_set(json_t *obj, const char *key, json_t *value)
{
    if (json_object_set_new(obj, key, value) != 0)
        abort();
}

void jx_set_str(json_t *obj, const char *key, const char *value)
{
    jx_set(obj, key, value ? jx_bytes(value, strlen(value)) : json_null());
}

void jx_set_text(json_t *obj, const char *key, const char *value)
{
    json_t *text = value ? json_string(value) : json_null();
    if (text) /* else no UTF-8 after all: a line that was cut */
        jx_set(obj, key, text);
    else
        jx_set_str(obj, key, value);
}

void jx_set_int(json_t *obj, const char *key, int64_t value)
{
    jx_set(obj, key, must(json_integer(value)));
}

void jx_set_bool(json_t *obj, const char *key, bool value)
{
    jx_set(obj, key, json_boolean(value));
}

static int add_chunk(const char *text, size_t len, void *out)
{
    buf_add(out, text, len);
    return 0;
}

static void dump(struct buf *out, const json_t *value, size_t flags)
{
    if (json_dump_callback(value, add_chunk, out, flags | JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        abort();
}

void jx_canonical(struct buf *out, const json_t *value)
{
    dump(out, value, JSON_SORT_KEYS);
}

void jx_dump(struct buf *out, const json_t *value)
{
    dump(out, value, 0);
}
