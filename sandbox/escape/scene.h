/*
 * scene: what lies outside the boxes of the escape suite: files with known content, a process, a
 * port, sockets, shared memory and a terminal, all of the account that boxes run as, so that
 * nothing but the box keeps an attempt away from them.
 */
#ifndef SANDBOX_ESCAPE_SCENE_H
#define SANDBOX_ESCAPE_SCENE_H

#include <sys/types.h>
#include "runner/base/buf.h"
#include "runner/base/strv.h"
#include "sandbox/layer.h"

struct escape_scene {
    char *dir;      /* 0755, in TMPDIR: everything below */
    char *launcher; /* a copy that every account can reach */
    char *host;     /* files that no box may touch; checked after each try */
    char *work;     /* shown writable in every box at its own path */
    char *shown;    /* shown read-only */
    uid_t uid;
    gid_t gid;
    struct strv values; /* NAME=VALUE for {name} in words */
    struct strv env;    /* a person's environment, with what must not pass */
    pid_t victim_pid;   /* a process of the account, in no box */
    int victim_fd;      /* its life: it ends with this */
    int tcp_fd, udp_fd, socket_fd, abstract_fd, pty_fd;
    int shm_id;
    char *memory_name;          /* of shm_open(3) and mq_open(3) */
    void *world;                /* of rows that are not of this folder; borrowed */
    struct layer_report report; /* of the last box */
    struct buf marks;           /* the host files as they were made */
};

#define ESCAPE_SCENE_INIT                                                                   \
    {                                                                                       \
        .values = STRV_INIT, .env = STRV_INIT, .victim_fd = -1, .tcp_fd = -1, .udp_fd = -1, \
        .socket_fd = -1, .abstract_fd = -1, .pty_fd = -1, .shm_id = -1, .marks = BUF_INIT   \
    }
#define AUTO_ESCAPE_SCENE __attribute__((cleanup(escape_scene_release)))

/* launcher: path of headgate-box. uid, gid: whom boxes run as. */
bool escape_scene_set(struct escape_scene *s, const char *launcher, uid_t uid, gid_t gid,
                      struct err *err) WARN_UNUSED;
void escape_scene_release(struct escape_scene *s);
void escape_scene_value(struct escape_scene *s, const char *name, const char *value);
/* What differs now from the files as they were made, allocated; NULL: nothing. */
char *escape_scene_changed(const struct escape_scene *s);
/* Make the files anew, and empty the work folder. */
bool escape_scene_reset(struct escape_scene *s, struct err *err) WARN_UNUSED;
/* Give a path to the account when this is root. */
bool escape_scene_give(const struct escape_scene *s, const char *path, struct err *err) WARN_UNUSED;

#endif
