#include "tests/unit/runner/fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

void fixture_open_store(struct fixture *f)
{
    struct err err = ERR_INIT;
    if (!store_open(&f->db, f->db_path, &err))
        fail_msg("%s", err.text);
}

void fixture_close_store(struct fixture *f)
{
    db_close(f->db);
    f->db = NULL;
}

int fixture_set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    static const char form[] = "/tmp/headgate-store-XXXXXX";
    memcpy(f->dir, form, sizeof(form));
    if (!mkdtemp(f->dir))
        return -1;
    f->db_path = fs_join(f->dir, "state.db");
    fixture_open_store(f);
    *state = f;
    return 0;
}

int fixture_tear_down(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    fixture_close_store(f);
    bool ok = fs_remove_tree(AT_FDCWD, f->dir, &err);
    free(f->db_path);
    free(f);
    return ok ? 0 : -1;
}

void fixture_spec(struct attempt_spec *ret, int64_t run, int64_t n)
{
    struct attempt_spec spec = {
        .id = xasprintf("%lld.%lld", (long long)run, (long long)n),
        .run = run,
        .n = n,
        .repo = xstrdup("/srv/repo"),
        .subdir = xstrdup("sub/folder"),
        .branch = xasprintf("headgate/%lld/%lld", (long long)run, (long long)n),
        .base = xstrdup("0123456789abcdef0123456789abcdef01234567"),
        .base_ref = xstrdup("main"),
        .engine = xstrdup("overlay"),
        .agent = xstrdup("command"),
        .prompt = xstrdup("fix the \"quotes\"\nand the rest"),
        .interactive = true,
        .cols = 132,
        .rows = 43,
        .ladder = LADDER_EDITS,
        .memory_bytes = 1 << 30,
        .pids = 100,
        .time_ms = 60000,
        .output_bytes = 5000,
        .require = xstrdup("landlock,seccomp"),
        .setup = xstrdup("npm ci"),
    };
    strv_push(&spec.command, "make");
    strv_push(&spec.command, "a test");
    strv_push(&spec.env, "PATH=/usr/bin");
    strv_push(&spec.env, "TOKEN=secret");
    strv_push(&spec.services, "5432");
    strv_push(&spec.ro, "/opt/data");
    strv_push(&spec.rw, "/var/cache/x");
    *ret = spec;
}

void fixture_add_run(struct fixture *f, int64_t run, int64_t n)
{
    struct err err = ERR_INIT;
    struct run_row row = {
        .id = run,
        .path = xstrdup("/srv/repo"),
        .repo = xstrdup("/srv/repo/.git"),
        .base = xstrdup("0123456789abcdef0123456789abcdef01234567"),
        .base_ref = xstrdup("main"),
        .agent = xstrdup("command"),
        .ladder = LADDER_EDITS,
        .jobs = 2,
        .n = n,
        .created_ms = 1000 + run,
    };
    strv_push(&row.env, "PATH=/usr/bin");
    strv_push(&row.env, "TOKEN=secret");
    strv_push(&row.desktop, "DISPLAY=:0");
    if (!run_row_insert(f->db, &row, &err))
        fail_msg("%s", err.text);
    run_row_release(&row);
    for (int64_t i = 1; i <= n; i++) {
        struct attempt_spec spec;
        fixture_spec(&spec, run, i);
        if (!attempt_row_insert(f->db, &spec, "a title", 2000, &err))
            fail_msg("%s", err.text);
        attempt_spec_release(&spec);
    }
}

enum attempt_state fixture_state(struct fixture *f, const char *id)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    struct err err = ERR_INIT;
    if (!attempt_row_get(&row, f->db, id, &err))
        fail_msg("%s", err.text);
    return row.state;
}

void fixture_set_state(struct fixture *f, const char *id, enum attempt_state state)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    struct err err = ERR_INIT;
    if (!attempt_row_get(&row, f->db, id, &err))
        fail_msg("%s", err.text);
    row.state = state;
    if (!attempt_row_save(f->db, &row, &err))
        fail_msg("%s", err.text);
}
