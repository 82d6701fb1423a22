/*
 * exec_record: an exec as a call of the gate, source `exec`: what is recorded, asked and grouped.
 */
#ifndef KEEP_EXEC_RECORD_H
#define KEEP_EXEC_RECORD_H

#include "gate/policy.h"
#include "runner/keep/exec_call.h"
#include "runner/keep/keep_config.h"
#include "runner/keep/records.h"

struct exec_record {
    int64_t number;
    struct call_request request;
    int64_t below; /* the number of the call behind it; 0: none known */
    char action[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
};
#define EXEC_RECORD_INIT             \
    {                                \
        .request = CALL_REQUEST_INIT \
    }
#define AUTO_EXEC_RECORD __attribute__((cleanup(exec_record_release)))
void exec_record_release(struct exec_record *r);

/* below: the call that stands behind it, NULL: none known; its session, id and subagent are this
 * one's. Arguments of more than 64 KiB are shown in part; their digest is of all. */
void exec_record_make(struct exec_record *ret, const struct keep_config *config,
                      const struct records *records, const struct exec_image *image,
                      const struct exec_args *args, const char *cwd, const struct strv *parents,
                      const struct exec_call *below);
/* The members that `asked` and `decided` share, with those of the judgement. */
json_t *exec_record_body(const struct exec_record *r, const struct judgement *j);

#endif
