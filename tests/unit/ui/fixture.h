/*
 * fixture: a desk for tests. Its host writes down what is asked of it, one line each; its clock
 * stands still at FIXTURE_NOW_MS; its snapshots are made of the same JSON that a server sends.
 */
#ifndef TESTS_UI_FIXTURE_H
#define TESTS_UI_FIXTURE_H

#include "runner/base/jx.h"
#include "ui/desk.h"

#define FIXTURE_NOW_MS INT64_C(1764500000000)

struct fixture {
    struct desk desk;
    struct buf asked; /* "request call.decide {...}\n", "bell\n", ... */
    struct canvas canvas;
};

void fixture_init(struct fixture *f, int rows, int cols);
void fixture_release(struct fixture *f);
/* Type: each character a key; "\r" Enter, "\t" Tab, "\x1b" Esc, and sequences such as "\x1b[B". */
void fixture_type(struct fixture *f, const char *keys);
void fixture_draw(struct fixture *f, int rows, int cols);
/* What was asked since the last call; valid until the next. */
const char *fixture_asked(struct fixture *f);

/* ---- JSON; all give new references ---- */
json_t *fixture_run(int64_t id);
json_t *fixture_attempt(int64_t run, int64_t n, const char *state);
/* args is JSON text. Calls with the same tool and args have the same action. */
json_t *fixture_call(int n, const char *attempt, const char *tool, const char *args);
json_t *fixture_snapshot(void);
/* Add to an array of the snapshot; item is stolen. */
void fixture_add(json_t *snapshot, const char *array, json_t *item);
/* Run 3 with n attempts in all states and some calls. */
json_t *fixture_busy(int n);
void fixture_load(struct fixture *f, json_t *snapshot);                /* steals */
void fixture_event(struct fixture *f, const char *kind, json_t *item); /* steals */

#endif
