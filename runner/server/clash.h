/*
 * clash: which attempts would meet conflicts, with each other and with their targets, kept up to
 * date as work comes home and as the targets move. Looked at by a worker, one repository at a time;
 * what is known is memory, and found out anew by the next server.
 */
#ifndef SERVER_CLASH_H
#define SERVER_CLASH_H

#include "runner/server/core.h"

/* Work of this attempt came home, was merged or goes: look again when there is time. */
void clash_touch(struct server *s, const char *id);
/* The same in two steps, for one that is removed between them. */
void clash_note(struct server *s, const char *id);
void clash_look(struct server *s);
/* A target of the repository may have moved. */
void clash_moved(struct server *s, const char *common);
/* At the start: all that is not merged. */
bool clash_touch_all(struct server *s, struct err *err) WARN_UNUSED;
/* CLASH objects of runner/PROTOCOL.md, a new reference; an empty array when there are none. */
json_t *clash_json(const struct server *s, const char *id);
void clash_free(struct server *s);

#endif
