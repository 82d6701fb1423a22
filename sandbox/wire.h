/*
 * wire: the messages between the caller of a box and its pid 1, and what the outer launcher tells
 * box_spawn before that. Binary, one struct a message, between two programs of one build (plan.h).
 */
#ifndef SANDBOX_WIRE_H
#define SANDBOX_WIRE_H

#include <stdint.h>
#include "sandbox/box.h"

/* What is left open in the launcher, beside the agent's 0, 1 and 2. */
enum wire_fd { WIRE_CTL_FD = 3, WIRE_BIRTH_FD = 4, WIRE_FIRST_FREE_FD = 5 };

/* The outer launcher's last words, once, on a pipe: pid 1 as the caller sees it, or why there is
 * none. */
struct wire_birth {
    int32_t pid; /* 0: none */
    struct err error;
};

/* pid 1 to the caller; a descriptor may come with it. */
struct wire_msg {
    int32_t kind; /* enum box_msg_kind */
    int32_t id, port, status;
    struct err error;
    struct layer_report report;
    struct box_times times;
};

enum wire_op {
    WIRE_BEGIN = 1, /* to the outer launcher, before the plan: make the namespaces, all of them */
    WIRE_PLAN, /* comes with a memfd: plan.h. To the outer launcher; after WIRE_BEGIN, to pid 1 */
    WIRE_GO,
    WIRE_JOIN, /* comes with a memfd: plan.h */
    WIRE_SIGNAL,
    WIRE_MOVE, /* comes with a memfd: plan.h */
    WIRE_DIAL, /* connect to a port of the box's loopback */
};

/* The caller to the launcher. */
struct wire_cmd {
    int32_t op;
    int32_t id;
    int32_t signal_number;
    int32_t port; /* WIRE_DIAL */
    bool is_v6;   /* WIRE_DIAL */
};

#endif
