#include "runner/keep/records.h"

#include <stdarg.h>
#include <stdlib.h>
#include "runner/base/mem.h"

enum {
    RECORDS_TRIM_BYTES = 8 * 1024 * 1024, /* a smaller file is not worth a rewrite */
};

bool records_open(struct records *ret, int dirfd, records_fn appended, void *arg, struct err *err)
{
    struct spool *spool = NULL;
    if (!spool_open(&spool, dirfd, err))
        return false;
    *ret = (struct records){.spool = spool, .dirfd = dirfd, .appended = appended, .arg = arg};
    return true;
}

void records_close(struct records *r)
{
    spool_close(r->spool);
    r->spool = NULL;
}

int64_t records_last(const struct records *r)
{
    return spool_last_seq(r->spool);
}

int64_t records_next(const struct records *r)
{
    return spool_last_seq(r->spool) + 1;
}

bool records_add(struct records *r, const char *kind, json_t *body, struct err *err)
{
    AUTO_JSON json_t *members = body;
    AUTO_JSON json_t *record = json_object();
    int64_t seq = 0;
    jx_set_str(record, "r", kind);
    if (members)
        json_object_update_missing(record, members);
    if (!spool_append(r->spool, record, &seq, err))
        return false;
    r->appended(r->arg, record, seq);
    return true;
}

bool records_call(struct records *r, const char *kind, int64_t call, struct err *err)
{
    json_t *body = json_object();
    jx_set_int(body, "call", call);
    return records_add(r, kind, body, err);
}

void records_note(struct records *r, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        return;
    json_t *body = json_object();
    struct err err = ERR_INIT;
    jx_set(body, "text", jx_bytes(text, (size_t)len));
    bool is_kept = records_add(r, "note", body, &err);
    (void)is_kept;
}

bool records_replay(const struct records *r, int64_t after, spool_visit visit, void *arg,
                    struct err *err)
{
    return spool_replay(r->dirfd, after, visit, arg, err);
}

void records_merged(struct records *r, int64_t seq)
{
    struct err err = ERR_INIT;
    if (seq != records_last(r) || spool_size_bytes(r->spool) < RECORDS_TRIM_BYTES)
        return;
    if (!spool_trim(r->spool, seq, &err))
        records_note(r, "the spool could not be trimmed: %s", err.text);
}
