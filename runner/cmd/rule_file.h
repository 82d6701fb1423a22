/*
 * rule_file: rules as text, one a line; blank lines and those that begin with # are passed over.
 */
#ifndef CMD_RULE_FILE_H
#define CMD_RULE_FILE_H

#include "gate/rule.h"

struct rules {
    struct rule *v;
    size_t n;
};
#define RULES_INIT \
    {              \
        0          \
    }
#define AUTO_RULES __attribute__((cleanup(rules_release)))
void rules_release(struct rules *r);
/* Parse and append one rule. */
bool rules_add(struct rules *r, const char *text, struct err *err) WARN_UNUSED;
/* The same of words. */
bool rules_add_words(struct rules *r, const struct strv *words, struct err *err) WARN_UNUSED;
/* Append those of a file, "-" for standard input: all, or none with the line that is wrong. */
bool rules_read(struct rules *ret, const char *path, struct err *err) WARN_UNUSED;

#endif
