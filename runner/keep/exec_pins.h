/*
 * exec_pins: what a rule let pass by name, held to the bytes that it had then.
 *
 * `allow exec tool` names a file that the box can write. The first one that it lets pass in an
 * attempt is remembered by its content; another content under the same name is not what the rule
 * meant, and is judged as if the rule were not there.
 */
#ifndef KEEP_EXEC_PINS_H
#define KEEP_EXEC_PINS_H

#include <stdint.h>
#include "runner/base/digest.h"

enum { EXEC_PINS_MAX = 256 };

struct exec_pin {
    int64_t rule;
    char *program; /* as found */
    char content[DIGEST_HEX_SIZE];
};

struct exec_pins {
    struct exec_pin all[EXEC_PINS_MAX];
    size_t n;
};

void exec_pins_release(struct exec_pins *p);
/* True when this content is, or now becomes, what the rule lets pass under this name. False also
 * when there is no room for another. */
bool exec_pins_hold(struct exec_pins *p, int64_t rule, const char *program, const char *content);

#endif
