/* A ledger in a private folder, and calls to put into it. */
#ifndef TESTS_GATE_STORE_H
#define TESTS_GATE_STORE_H

#include "gate/ledger.h"

struct store {
    char *folder;
    char *path; /* of the database */
    struct db *db;
};
/* cmocka fixtures: *state is a struct store. */
int store_set_up(void **state);
int store_tear_down(void **state);
/* One more connection to the same file. */
struct db *store_connect(const struct store *s);

/* A shell call of this command. Release it. */
void store_request(struct call_request *ret, const char *command);
/* How the calls that store_ask asks came to be asked. */
extern const struct ledger_question store_question;
/* Ask and return the call's id. */
int64_t store_ask(struct db *db, const char *attempt, int64_t local, const char *command);

#endif
