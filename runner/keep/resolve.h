/*
 * resolve: addresses of names, found by a short-lived helper process for each name.
 *
 * Why a process: getaddrinfo(3) blocks, reads answers from the network and loads what nsswitch.conf
 * names; the keeper has no second thread (one that waits would take children from the one that
 * traces them), and a lookup that hangs can only be ended by killing it. The helper is
 * `headgate-keep
 * --resolve NAME`; its answer is what it wrote when its pipe ends, so it does not matter who reaps
 * it. An answer is kept for half a minute and shared by all who ask meanwhile.
 */
#ifndef KEEP_RESOLVE_H
#define KEEP_RESOLVE_H

#include <uv.h>
#include "gate/host.h"

enum { RESOLVE_ADDRESSES = 16 };

struct resolver {
    uv_loop_t *loop;
    char *program;                  /* of headgate-keep */
    struct resolve_lookup *lookups; /* under way and remembered, newest first */
    size_t n_lookups, n_running;
};

struct resolve_wait;
/* n 0: the name has no address, or none was found in time. */
typedef void (*resolve_fn)(void *arg, const struct host_address *addresses, size_t n);

/* program: path of headgate-keep. */
void resolver_init(struct resolver *ret, uv_loop_t *loop, const char *program);
/* Cancel all; nobody is called any more. The loop must still run to free what is there. */
void resolver_close(struct resolver *r);
void resolver_release(struct resolver *r);

/* Find the addresses of a name (canonical). Calls done later, from the loop, unless cancelled. */
struct resolve_wait *resolver_ask(struct resolver *r, const char *name, resolve_fn done, void *arg);
void resolver_cancel(struct resolve_wait *wait);

/* The helper's whole work: print the addresses, one a line. Returns its exit code. */
int resolve_print(const char *name);

#endif
