/*
 * facts: what of this host decides which layers hold, each with what to do where it stands in the
 * way. Read from the kernel, not from version numbers where it can be asked.
 */
#ifndef CMD_FACTS_H
#define CMD_FACTS_H

#include "runner/base/jx.h"
#include "sandbox/layer.h"

/* [{"name","value","advice"}]; advice "" where nothing is to be done. report: what doctor found. */
json_t *facts_of_host(const struct layer_report *report);
/* "Linux 6.1.0 x86_64 (WSL2)". Allocated. */
char *facts_platform(void);

#endif
