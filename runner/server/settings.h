/*
 * settings: the configuration in force. It is read again when a file of it changed, before what
 * starts something new; workers that still use the one before keep it alive.
 */
#ifndef SERVER_SETTINGS_H
#define SERVER_SETTINGS_H

#include "runner/server/core.h"

/* Read the files at the start. */
bool settings_open(struct server *s, struct err *err) WARN_UNUSED;
/* Read them again if they changed. On failure the old ones stay in force, and err names file and
 * key. */
bool settings_refresh(struct server *s, struct err *err) WARN_UNUSED;
void settings_close(struct server *s);

#endif
