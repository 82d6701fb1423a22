/*
 * news: who is told what when records of a keeper have been committed: subscribers, the keeper, the
 * person.
 */
#ifndef SERVER_NEWS_H
#define SERVER_NEWS_H

#include "runner/server/core.h"
#include "runner/server/merge.h"

void news_tell(struct server *s, const struct attempt_row *row, const struct merge *m);

#endif
