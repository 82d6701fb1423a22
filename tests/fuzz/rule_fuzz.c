/* A rule as a person or a repository writes it: parse(text(x)) is x. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/rule.h"
#include "runner/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)data, size);
    AUTO_RULE struct rule rule = RULE_INIT;
    struct err err = ERR_INIT;
    if (!rule_parse(&rule, text, &err))
        return 0;
    AUTO_BUF struct buf first = BUF_INIT;
    AUTO_BUF struct buf second = BUF_INIT;
    AUTO_RULE struct rule again = RULE_INIT;
    rule_text(&first, &rule);
    /* Quotes make a text longer; only then may it be refused. */
    if (!rule_parse(&again, first.ptr, &err))
        first.len > RULE_TEXT_BYTES ? (void)0 : abort();
    else
        rule_text(&second, &again);
    if (second.len > 0 && strcmp(first.ptr, second.ptr) != 0)
        abort();
    return 0;
}
