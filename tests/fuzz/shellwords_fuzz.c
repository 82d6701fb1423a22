/*
 * The splitter on any text. What it accepts is read back the same when written with quotes; every
 * accepted program is one that shellscan finds too, since that one must find more; nothing opaque
 * by name is among them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/program.h"
#include "gate/shellscan.h"
#include "gate/shellwords.h"
#include "runner/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void add_quoted(struct buf *out, const char *word)
{
    buf_adds(out, " '");
    for (; *word; word++) {
        if (*word == '\'')
            buf_adds(out, "'\"'\"'");
        else
            buf_addch(out, *word);
    }
    buf_addch(out, '\'');
}

static void check_round_trip(const struct shellwords *s)
{
    AUTO_BUF struct buf text = BUF_INIT;
    for (size_t i = 0; i < s->n; i++) {
        buf_adds(&text, i > 0 ? "\n" : "");
        buf_adds(&text, s->commands[i].v[0]);
        for (size_t k = 1; k < s->commands[i].n; k++)
            add_quoted(&text, s->commands[i].v[k]);
    }
    if (text.len > SHELLWORDS_MAX_BYTES)
        return;
    AUTO_SHELLWORDS struct shellwords again = SHELLWORDS_INIT;
    shellwords_split(&again, text.ptr, text.len);
    require(!again.opaque && again.n == s->n);
    for (size_t i = 0; i < s->n; i++) {
        require(again.commands[i].n == s->commands[i].n);
        for (size_t k = 0; k < s->commands[i].n; k++)
            require(strcmp(again.commands[i].v[k], s->commands[i].v[k]) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    AUTO_SHELLWORDS struct shellwords s = SHELLWORDS_INIT;
    AUTO_STRV struct strv tokens = STRV_INIT;
    shellwords_split(&s, text, size);
    shellscan_tokens(&tokens, text, size);
    require((s.opaque != NULL) == (s.n == 0));
    for (size_t i = 0; i < s.n; i++) {
        const struct strv *argv = &s.commands[i];
        require(argv->n > 0 && !program_opaque(argv->v[0], argv->v + 1, argv->n - 1));
        const char *slash = strrchr(argv->v[0], '/');
        bool is_cut = strchr(argv->v[0], ',') || (slash && slash[1] == '\0');
        require(is_cut || shellscan_has(&tokens, argv->v, 1));
    }
    if (s.n > 0)
        check_round_trip(&s);
    return 0;
}
