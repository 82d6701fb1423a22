/*
 * rig: a program of the ui on a pty, and the peer that it talks to (a server or a keeper), in one
 * poll loop of the test. The transport is real: a unix socket with lines of JSON, a terminal with
 * its settings. What the program writes is parsed by libvterm.
 *
 * Every wait ends with what it waits for, or fails the test with the screen after RIG_PATIENCE_MS;
 * nothing sleeps.
 */
#ifndef TESTS_UI_RIG_H
#define TESTS_UI_RIG_H

#include <sys/types.h>
#include <termios.h>
#include "runner/base/frame.h"
#include "runner/base/jx.h"
#include "ui/vt.h"

enum { RIG_PATIENCE_MS = 20000 };

struct rig {
    char dir[64]; /* of the socket */
    char socket[96];
    int listen_fd, peer_fd; /* -1: none */
    struct frame frame;
    json_t *inbox;    /* what the program sent and no wait has taken yet */
    json_t *snapshot; /* answered to "subscribe"; NULL: the peer is a keeper */
    int master, slave;
    int news_fd; /* what the program's parent tells: its pid, then every status of waitpid */
    pid_t leader, pid;
    struct termios before;
    struct vt *vt;
    struct buf raw; /* all that the program wrote */
    int rows, cols;
    int status;      /* the last of waitpid */
    bool has_status; /* and no wait has taken it yet */
};

/* Start ui_driver MODE on a terminal of this size, below a session leader as a shell is one: a
 * program without such a parent could not be stopped (an orphaned process group, setpgid(2)).
 * snapshot is stolen. */
void rig_start(struct rig *r, const char *mode, json_t *snapshot, int rows, int cols);
void rig_stop(struct rig *r);
void rig_type(struct rig *r, const char *keys);
void rig_resize(struct rig *r, int rows, int cols);
void rig_send(struct rig *r, json_t *message); /* stolen */
/* Until the screen holds this text. */
void rig_wait_text(struct rig *r, const char *text);
void rig_wait_no_text(struct rig *r, const char *text);
/* Until the program has sent a message with this member; taken out of the inbox, a new reference.
 */
json_t *rig_wait_message(struct rig *r, const char *key, const char *value);
/* Until it has ended; its status as waitpid gives it. */
int rig_wait_end(struct rig *r);
/* Until it has stopped (WUNTRACED). */
void rig_wait_stop(struct rig *r);
/* The peer hangs up and listens no more; or listens again. */
void rig_peer_down(struct rig *r);
void rig_peer_up(struct rig *r);
/* The terminal is set as before the start. */
void rig_check_restored(struct rig *r);
bool rig_is_raw(const struct rig *r);
/* The screen as text; valid until the next call. */
const char *rig_screen(struct rig *r);

#endif
