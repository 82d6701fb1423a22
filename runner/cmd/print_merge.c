#include "runner/cmd/print_merge.h"

#include <inttypes.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"

/* "PATH:LINE, PATH" */
static void add_places(struct buf *out, const json_t *trial)
{
    size_t i;
    const json_t *hunk;
    json_array_foreach(jx_arr(trial, "hunks"), i, hunk)
    {
        int64_t line = jx_int(hunk, "line", 0);
        buf_addf(out, "%s%s", i ? ", " : "", jx_str(hunk, "path", "?"));
        if (line > 0)
            buf_addf(out, ":%" PRId64, line);
    }
}

void print_conflicts(struct buf *out, const struct print *p, const json_t *trials)
{
    static const char *const headers[] = {"MERGE", "INTO", "CONFLICTS"};
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    size_t i;
    const json_t *trial;
    if (json_array_size(trials) == 0) {
        buf_adds(out, "there is nothing to merge\n");
        return;
    }
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(trials, i, trial)
    {
        AUTO_BUF struct buf text = BUF_INIT;
        add_places(&text, trial);
        print_table_cell(&t, PRINT_BOLD, jx_str(trial, "what", "?"));
        print_table_cell(&t, PRINT_PLAIN, jx_str(trial, "into", "?"));
        bool is_open = text.len == 0 && jx_bool(trial, "open", false);
        print_table_cell(&t,
                         text.len  ? PRINT_RED
                         : is_open ? PRINT_YELLOW
                                   : PRINT_GREEN,
                         text.len  ? text.ptr
                         : is_open ? "not known (headgate merge --dry-run tells)"
                                   : "none");
    }
    print_table_add(out, p, &t);
}

void print_cleaned(struct buf *out, const struct print *p, const json_t *result, bool dry_run)
{
    static const char *const headers[] = {"WHAT", "SIZE", "PATH"};
    const json_t *removed = jx_arr(result, "removed"), *item;
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    size_t i;
    int64_t total = 0;
    if (json_array_size(removed) == 0) {
        buf_adds(out, "nothing to clean\n");
        return;
    }
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(removed, i, item)
    {
        AUTO_BUF struct buf size = BUF_INIT;
        text_add_size(&size, jx_int(item, "bytes", 0));
        total += jx_int(item, "bytes", 0);
        print_table_cell(&t, PRINT_PLAIN, jx_str(item, "what", ""));
        print_table_cell(&t, PRINT_PLAIN, size.ptr);
        print_table_cell(&t, PRINT_PLAIN, jx_str(item, "path", ""));
    }
    print_table_add(out, p, &t);
    buf_adds(out, dry_run ? "would free " : "freed ");
    text_add_size(out, total);
    buf_addch(out, '\n');
}
