/*
 * jx: jansson with bounds and defaults. Reads of absent or mistyped members give the default.
 */
#ifndef BASE_JX_H
#define BASE_JX_H

#include <jansson.h>
#include <stdint.h>
#include "runner/base/buf.h"
#include "runner/base/strv.h"

void auto_json_(json_t **j);
/* Drops the reference at the end of the scope. */
#define AUTO_JSON __attribute__((cleanup(auto_json_)))
#define steal_json(pp) steal_ptr(pp)

/* Parse one value; trailing white space only, duplicate keys rejected, depth bounded by
 * LIMIT_JSON_DEPTH, strings may hold U+0000 (JSON_ALLOW_NUL). */
bool jx_parse(json_t **ret, const char *text, size_t len, struct err *err) WARN_UNUSED;
/* Levels of arrays and objects; 0 for anything else. */
unsigned jx_depth(const json_t *value);
/* Borrowed string, or fallback (also when it holds a NUL). */
const char *jx_str(const json_t *obj, const char *key, const char *fallback);
int64_t jx_int(const json_t *obj, const char *key, int64_t fallback);
bool jx_bool(const json_t *obj, const char *key, bool fallback);
json_t *jx_obj(const json_t *obj, const char *key); /* borrowed object or NULL */
json_t *jx_arr(const json_t *obj, const char *key); /* borrowed array or NULL */
/* Append all strings of an array member; other elements are skipped. */
void jx_strv(struct strv *out, const json_t *obj, const char *key);
json_t *jx_from_strv(const struct strv *s);
/* The same as the text of an array, as it is stored, and back (appends). */
void jx_dump_strv(struct buf *out, const struct strv *s);
bool jx_parse_strv(struct strv *out, const char *text, struct err *err) WARN_UNUSED;
/* A JSON string of any bytes, the one defined encoding of what is not UTF-8: an invalid byte 0xNN
 * becomes U+10F8NN, and so does each byte of a code point U+10F800..U+10F8FF that the input already
 * held; hence no two inputs give the same string. */
json_t *jx_bytes(const char *s, size_t len);
/* Set members; NULL strings become JSON null, others are encoded as by jx_bytes(). */
void jx_set_str(json_t *obj, const char *key, const char *value);
/* The same for text that came out of JSON, from the wire or as it was stored since: it is not
 * encoded a second time. */
void jx_set_text(json_t *obj, const char *key, const char *value);
void jx_set_int(json_t *obj, const char *key, int64_t value);
void jx_set_bool(json_t *obj, const char *key, bool value);
void jx_set(json_t *obj, const char *key, json_t *value); /* steals value */
/* Canonical text: keys sorted, no white space, UTF-8 as is. Same value, same bytes. */
void jx_canonical(struct buf *out, const json_t *value);
/* Compact text in insertion order, one line. */
void jx_dump(struct buf *out, const json_t *value);

#endif
