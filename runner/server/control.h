/*
 * control: the clients of the control socket and their requests.
 *
 * A request lives until it is answered, once, with request_answer or request_fail; its client may
 * be gone by then, which neither of them minds. Operations are entries of one table (control.c);
 * each is a function of ops.h.
 */
#ifndef SERVER_CONTROL_H
#define SERVER_CONTROL_H

#include "runner/server/core.h"

struct client {
    struct client *next;
    struct server *server;
    struct conn *conn;
    struct request *requests; /* not answered yet */
    char *kind;               /* of its hello: "shell", "dashboard"; NULL before */
    uid_t uid;
    pid_t pid;
    bool is_subscribed;
    int64_t subscription; /* id of the subscribing request */
    int64_t only_run;     /* 0: all */
};

struct request {
    struct request *next; /* of its client */
    struct server *server;
    struct client *client; /* NULL: gone */
    int64_t id;
    json_t *body;
    void *context; /* of the operation, NULL at first */
    char *by;      /* who asks, for the log: "ada (shell, pid 4711)" */
};

bool control_listen(struct server *s, struct err *err) WARN_UNUSED;
/* Take the socket's name away, unless somebody is just knocking (false). Who comes later finds no
 * server and starts one. */
bool control_withdraw(struct server *s);
void control_close(struct server *s);
bool control_has_clients(const struct server *s);

/* Answer and free; result is taken over, NULL: an empty object. */
void request_answer(struct request *r, json_t *result);
void request_fail(struct request *r, const struct err *err);
/* Run work on a worker thread, then done on the loop, which must answer; both get arg. */
void request_work(struct request *r, void (*work)(void *arg), void (*done)(void *arg), void *arg);
void client_send_event(struct client *c, const json_t *event);

#endif
