#include "tests/unit/gate/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/gate/scratch.h"

const struct ledger_question store_question = {
    .asked_ms = 1000, .deadline_ms = 61000, .why = "floor", .reason = "make is asked here"};

struct db *store_connect(const struct store *s)
{
    const char *const steps[] = {ledger_schema, ledger_schema_origins, ledger_schema_told,
                                 ledger_schema_drop};
    struct db *db;
    struct err err = ERR_INIT;
    if (!db_open(&db, s->path, DB_READ_WRITE, &err) ||
        !db_migrate(db, steps, ARRAY_LEN(steps), &err))
        fail_msg("%s", err.text);
    return db;
}

int store_set_up(void **state)
{
    struct store *s = xcalloc(1, sizeof(*s));
    s->folder = scratch_make();
    s->path = fs_join(s->folder, "state.db");
    s->db = store_connect(s);
    *state = s;
    return 0;
}

int store_tear_down(void **state)
{
    struct store *s = *state;
    db_close(s->db);
    scratch_remove(s->folder);
    free(s->path);
    free(s);
    return 0;
}

void store_request(struct call_request *ret, const char *command)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *message =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:{s:s}}", "v", 1, "source", "hook", "agent", "claude",
                  "tool", "Bash", "cwd", "/w", "args", "command", command);
    *ret = (struct call_request)CALL_REQUEST_INIT;
    if (!call_request_from_json(ret, message, &err))
        fail_msg("%s", err.text);
}

int64_t store_ask(struct db *db, const char *attempt, int64_t local, const char *command)
{
    AUTO_CALL_REQUEST struct call_request r;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    struct err err = ERR_INIT;
    store_request(&r, command);
    if (!ledger_ask(&call, db, attempt, local, &r, &store_question, &err))
        fail_msg("%s", err.text);
    return call.id;
}
