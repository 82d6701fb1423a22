#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runner/base/gitconf.h"
#include "runner/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool visit(const char *key, const char *value, void *arg, struct err *err)
{
    size_t *total = arg;
    (void)err;
    *total += strlen(key) + (value ? strlen(value) : 0);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    size_t total = 0;
    bool is_read = gitconf_each((const char *)data, size, visit, &total, &err);
    if (!is_read && err.code != ERR_FORMAT)
        __builtin_trap();
    return 0;
}
