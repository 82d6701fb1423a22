/*
 * A small table in place of the real one, which would pull in the whole product.
 */
#include "runner/cmd/cmd.h"

static const struct command gate_commands[] = {
    {"approve", NULL, "let calls happen", "C...", NULL, NULL},
    {"deny", NULL, "refuse calls", "C... --reason TEXT", NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

const struct command commands[] = {
    {"run", NULL, "start agents", "[OPTIONS] PROMPT", NULL, NULL},
    {"ls", NULL, "list attempts", "", NULL, NULL},
    {"discard", NULL, "remove attempts", "A...", NULL, NULL},
    {"gate", NULL, "decide", "approve|deny", gate_commands, "ls"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
