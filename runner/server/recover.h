/*
 * recover: what a new server does with what it finds in the store: adopts the keepers that live,
 * finishes what is half done, sends home keepers that only wait for a word.
 */
#ifndef SERVER_RECOVER_H
#define SERVER_RECOVER_H

#include "runner/server/core.h"

bool recover_all(struct server *s, struct err *err) WARN_UNUSED;

#endif
