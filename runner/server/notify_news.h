/*
 * notify_news: tells the person what came of agents that are left alone, on the desktop and through
 * their own command (notify.h, notify_command.h): attempts met a limit of their model, wait for
 * input, failed; a run is over. The setting `gate.notify` lists the kinds.
 *
 * Agents meet such things together, since they share an account: a kind is told with all the
 * attempts that a moment gathered, and then not again before a pause has passed. Of one attempt a
 * kind is told once until it has changed; what has passed meanwhile is not told.
 */
#ifndef SERVER_NOTIFY_NEWS_H
#define SERVER_NOTIFY_NEWS_H

#include "runner/server/core.h"
#include "runner/server/merge.h"

enum news_kind {
    NEWS_CALL, /* a call waits: notify.h */
    NEWS_LIMIT,
    NEWS_WAITING,
    NEWS_FAILED,
    NEWS_ENDED, /* the last attempt of a run */
    NEWS_RETRY,
    NEWS_ERROR,
    NEWS_KIND_COUNT
};

/* The kinds that `gate.notify` lists, by 1 << enum news_kind; without it those that need a person.
 * ERR_USAGE names a word that is none. */
bool notify_kinds(unsigned *ret, const struct config *config, struct err *err) WARN_UNUSED;
bool notify_has(const struct server *s, enum news_kind kind);

void notify_news_init(struct server *s);
/* What an agent told of itself, with its row as it was committed. */
void notify_pulse(struct server *s, const struct attempt_row *row, const json_t *news);
/* The attempt has just ended. */
void notify_ended(struct server *s, const struct attempt_row *row);
/* Something is gathered and not told yet. */
bool notify_news_waits(const struct server *s);
void notify_news_close(struct server *s);

#endif
