/*
 * probe_scene: the things of the host that a probe inside a box tries to reach. Private to the
 * library.
 */
#ifndef SANDBOX_PROBE_SCENE_H
#define SANDBOX_PROBE_SCENE_H

#include <sys/types.h>
#include "runner/base/err.h"

struct probe_scene {
    char *dir;      /* 0755, in TMPDIR */
    char *launcher; /* a copy that every account can reach */
    char *marker;   /* a file that everybody may read */
    char *outside;  /* a folder that the account may write */
    int port_fd, port;
    int shm_id, shm_key;
    int pty_fd;
    char *pty; /* name of its inner end */
};

#define PROBE_SCENE_INIT                          \
    {                                             \
        .port_fd = -1, .shm_id = -1, .pty_fd = -1 \
    }
#define AUTO_PROBE_SCENE __attribute__((cleanup(probe_scene_release)))
bool probe_scene_set(struct probe_scene *s, const char *launcher, uid_t uid, gid_t gid,
                     struct err *err) WARN_UNUSED;
void probe_scene_release(struct probe_scene *s);

#endif
