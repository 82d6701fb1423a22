#include "runner/keep/exec_pins.h"

#include <stdlib.h>
#include <string.h>
#include "runner/base/mem.h"

void exec_pins_release(struct exec_pins *p)
{
    while (p->n > 0)
        free(p->all[--p->n].program);
}

bool exec_pins_hold(struct exec_pins *p, int64_t rule, const char *program, const char *content)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->all[i].rule == rule && strcmp(p->all[i].program, program) == 0)
            return strcmp(p->all[i].content, content) == 0;
    if (p->n == EXEC_PINS_MAX)
        return false;
    struct exec_pin *pin = &p->all[p->n++];
    pin->rule = rule;
    pin->program = xstrdup(program);
    memcpy(pin->content, content, sizeof pin->content);
    return true;
}
