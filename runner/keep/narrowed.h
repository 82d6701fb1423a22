/*
 * narrowed: which processes of a box may be under Landlock rules of their own, beside the box's.
 *
 * The kernel tells nobody. Rules go from a process to whatever it starts from then on, so those
 * that took rules on (landlock_restrict_self(2)) are kept, and a process is clear when neither it
 * nor any above it is one of them. That holds as long as the one above is the one that started it:
 * an orphan is pid 1's, so what is pid 1's must be older than every one of them; and where a
 * process adopts orphans (PR_SET_CHILD_SUBREAPER) or gives a child to its own parent (CLONE_PARENT)
 * nobody is clear.
 */
#ifndef KEEP_NARROWED_H
#define KEEP_NARROWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct narrowed_one {
    pid_t pid;
    uint64_t start_ticks;
};

struct narrowed {
    struct narrowed_one *v;
    size_t n;
    uint64_t first_ticks; /* when the oldest of them started; 0: there never was one */
    bool is_unclear;      /* who started whom is not known any more */
};

/* The process of this thread is about to take rules on. */
void narrowed_add(struct narrowed *l, pid_t tid);
/* False: this thread is under no rules but the box's, whose pid 1 this is. */
bool narrowed_may_be(const struct narrowed *l, pid_t init_pid, pid_t tid);
void narrowed_release(struct narrowed *l);

#endif
