#include "runner/base/broker_line.h"

#include <string.h>

/* In quotes where a word would else look like several. */
static void add_word(struct buf *out, const char *word)
{
    bool is_plain = word[0] && !strpbrk(word, " \t\n'\"");
    buf_addf(out, is_plain ? "%s" : "'%s'", word);
}

void broker_line(struct buf *out, const json_t *args)
{
    const char *url = jx_str(args, "url", ""), *ref = jx_str(args, "ref", "");
    size_t i;
    const json_t *word;
    json_array_foreach(jx_arr(args, "argv"), i, word)
    {
        if (i)
            buf_addch(out, ' ');
        add_word(out, json_is_string(word) ? json_string_value(word) : "?");
    }
    buf_addf(out, url[0] ? " to %s" : "%s", url);
    buf_addf(out, ref[0] ? " %s" : "%s", ref);
}
