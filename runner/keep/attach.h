/*
 * attach: the clients that watch and type: on the agent's terminal, or on one of their own in the
 * box.
 *
 * A client that does not read is dropped by its conn's bound; the agent never waits for one. What
 * is shown to a new client is the ring (ring.h), then live bytes. The last client that resizes
 * gives the agent's terminal its size.
 */
#ifndef KEEP_ATTACH_H
#define KEEP_ATTACH_H

#include "runner/base/strv.h"
#include "runner/keep/ring.h"
#include "runner/keep/stream.h"
#include "runner/wire/conn.h"

struct attach; /* one client */

struct attach_join {
    int id; /* > 0 */
    struct strv argv, env;
    const char *cwd;
    uint16_t cols, rows;
};

struct attach_ops {
    bool (*join)(void *arg, const struct attach_join *join, struct err *err);
    void (*hang_up)(void *arg, int id); /* the client of this joined process left */
    /* A port of the host (wanted, 0: any) that leads to a port of the box while the client stays.
     */
    bool (*forward)(void *arg, const void *client, int port, int wanted, int *ret_port,
                    struct err *err);
    void (*left)(void *arg, const void *client);
};

struct attach_room {
    uv_loop_t *loop;
    const struct attach_ops *ops;
    void *arg;
    struct stream *agent; /* borrowed; NULL: no terminal (yet, or any more) */
    struct buf early;     /* typed before the terminal was there */
    uint16_t cols, rows;  /* what the agent's terminal should have; 0: not told */
    struct ring ring;
    int64_t interrupted_ms; /* when somebody last typed what interrupts the agent (escape, ^C, ^D);
                               monotonic, 0: never */
    int64_t typed_ms;       /* when somebody last typed anything; monotonic, 0: never */
    bool has_exited;
    int exit_status;
    struct attach **clients;
    size_t n_clients, cap_clients;
    int last_id;
};

void attach_room_init(struct attach_room *room, uv_loop_t *loop, const struct attach_ops *ops,
                      void *arg);
void attach_room_release(struct attach_room *room);
/* The agent's terminal is there: what was typed and sized before goes to it. NULL: it has ended. */
void attach_room_agent(struct attach_room *room, struct stream *agent);
/* The agent's output: kept in the ring, shown to all who watch. */
void attach_room_data(struct attach_room *room, const char *bytes, size_t len);
/* The agent ended: its watchers are told; later ones at once. */
void attach_room_exited(struct attach_room *room, int status);
/* The master of a joined process's terminal; taken over. */
void attach_room_pty(struct attach_room *room, int id, int fd);
/* A joined process could not be started. */
void attach_room_joined_failed(struct attach_room *room, int id, const struct err *err);
void attach_room_joined_exited(struct attach_room *room, int id, int status);

/* Somebody looks at the agent's own terminal now. */
bool attach_room_is_watched(const struct attach_room *room);
struct attach *attach_enter(struct attach_room *room, struct conn *conn, const json_t *hello);
void attach_message(struct attach *client, const json_t *msg);
void attach_leave(struct attach *client);

#endif
