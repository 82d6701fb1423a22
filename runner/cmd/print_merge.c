#include "runner/cmd/print_merge.h"

#include "runner/base/mem.h"
#include "runner/base/text.h"

static void add_paths(struct buf *out, const json_t *paths)
{
    size_t i;
    const json_t *path;
    json_array_foreach(paths, i, path)
    {
        if (i)
            buf_adds(out, ", ");
        buf_add(out, json_string_value(path), json_string_length(path));
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
        const json_t *paths = jx_arr(trial, "conflicts");
        AUTO_BUF struct buf text = BUF_INIT;
        add_paths(&text, paths);
        print_table_cell(&t, PRINT_BOLD, jx_str(trial, "what", "?"));
        print_table_cell(&t, PRINT_PLAIN, jx_str(trial, "into", "?"));
        print_table_cell(&t, text.len ? PRINT_RED : PRINT_GREEN, text.len ? text.ptr : "none");
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
