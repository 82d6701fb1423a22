/*
 * client: a command's connection to the server of its person and machine, which is started when
 * none runs.
 *
 * Starting is free of races: commands that find no server take turns by a lock file in the runtime
 * folder, so that one starts it and the others find it. The starter returns when the server
 * listens. All of it blocks.
 */
#ifndef CMD_CLIENT_H
#define CMD_CLIENT_H

#include "runner/base/paths.h"
#include "runner/wire/sync.h"

enum { CLIENT_PROTOCOL = 1 }; /* `v` of the control protocol */

struct client {
    struct paths paths;
    struct sync_conn conn;
    int64_t opened_ms; /* monotonic */
    int reopened;      /* times in quick succession */
};
#define CLIENT_INIT         \
    {                       \
        .conn = {.fd = -1 } \
    }
#define AUTO_CLIENT __attribute__((cleanup(client_close)))

/* Connect, start a server where none listens, greet it. A server of an older protocol is asked to
 * stop and started anew; a newer one is ERR_REFUSED. */
bool client_open(struct client *ret, struct err *err) WARN_UNUSED;
/* The same, but where none listens *ret_running is false and nothing is started. */
bool client_open_running(struct client *ret, bool *ret_running, struct err *err) WARN_UNUSED;
void client_close(struct client *c);
/* After a request or a subscription failed with *err: when the server went away, connect again (it
 * is started anew). False with *err as it was when the connection broke otherwise, or when the
 * server goes away again and again. */
bool client_reopen(struct client *c, struct err *err) WARN_UNUSED;

/* One request; request is taken over, NULL: no members. */
bool client_call(json_t **ret_result, struct client *c, const char *op, json_t *request,
                 struct err *err) WARN_UNUSED;
/* Open, ask once, close. */
bool client_ask(json_t **ret_result, const char *op, json_t *request, struct err *err) WARN_UNUSED;

/* False when a change of policy is stored but not acknowledged by all keepers: names the attempts.
 */
bool client_in_force(const json_t *result, struct err *err) WARN_UNUSED;
/* {"ids":[words...]}; words may be commands' operands: prefixes and runs. */
json_t *client_ids(const struct strv *words);
/* attempt.show for words: the array of attempts, at least one (new reference). */
bool client_attempts(json_t **ret, struct client *c, const struct strv *words,
                     struct err *err) WARN_UNUSED;
/* The same for a command that takes exactly one attempt: ERR_USAGE names them when the word means
 * several. */
bool client_attempt(json_t **ret, struct client *c, const char *word, struct err *err) WARN_UNUSED;

#endif
