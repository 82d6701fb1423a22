/*
 * stage: tries that need more than one box that runs to its end. Private to the suite.
 */
#ifndef SANDBOX_ESCAPE_STAGE_H
#define SANDBOX_ESCAPE_STAGE_H

#include "sandbox/escape/escape.h"

/* While a second box lives that leaves the same layers out. Sets {name}, {port}, {key} of what it
 * holds, {sibling}: its pid 1 as the host sees it, and the folder {dir}/sibling that only it may
 * write. */
bool stage_sibling(struct escape_try *t, char **ret_outcome, struct err *err);
/* It cannot be tried: `why` of the row. */
bool stage_untried(struct escape_try *t, char **ret_outcome, struct err *err);
/* "all outside live" when the process outside the boxes does after the word. */
bool stage_end_all(struct escape_try *t, char **ret_outcome, struct err *err);
/* After the supervisor was killed: "none", or a mount below the scene's folder that is left. */
bool stage_mounts_left(struct escape_try *t, char **ret_outcome, struct err *err);
/* With a descriptor of a file of the host that whoever is started inherits. */
bool stage_descriptor(struct escape_try *t, char **ret_outcome, struct err *err);
/* The word leaves a process behind that holds {work}/lock. "gone" when the end of the box, or of
 * the program on the host, ended it, else "alive". */
bool stage_left_behind(struct escape_try *t, char **ret_outcome, struct err *err);
/* The same for a word that stays, when whoever supervises it is killed... */
bool stage_supervisor_killed(struct escape_try *t, char **ret_outcome, struct err *err);
/* ...or pid 1 of its box. */
bool stage_init_killed(struct escape_try *t, char **ret_outcome, struct err *err);

#endif
