#include "runner/base/clash_words.h"

#include <inttypes.h>

static void add_more(struct buf *out, int64_t n)
{
    if (n > 0)
        buf_addf(out, " +%" PRId64, n);
}

static void add_places(struct buf *out, const json_t *clash, size_t max)
{
    size_t i, told = 0;
    const json_t *place;
    json_array_foreach(jx_arr(clash, "paths"), i, place)
    {
        int64_t line = jx_int(place, "line", 0);
        if (i >= max)
            break;
        buf_addf(out, " %s", jx_str(place, "path", "?"));
        if (line > 0)
            buf_addf(out, ":%" PRId64, line);
        told++;
    }
    add_more(out, jx_int(clash, "n", (int64_t)told) - (int64_t)told);
}

void clash_words(struct buf *out, const json_t *clashes, size_t max_clashes, size_t max_places)
{
    size_t i;
    const json_t *clash;
    json_array_foreach(clashes, i, clash)
    {
        const char *with = jx_str(clash, "with", NULL);
        if (i >= max_clashes)
            break;
        buf_addf(out, "%s%s", i ? ", " : "", with ? with : jx_str(clash, "into", "?"));
        add_places(out, clash, max_places);
    }
    add_more(out, (int64_t)json_array_size(clashes) - (int64_t)i);
}
