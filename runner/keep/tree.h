/*
 * tree: the processes below one, as procfs tells of them: parents before their children.
 *
 * What it says was true at different moments for different processes; whoever must have all looks
 * again until nothing is new.
 */
#ifndef KEEP_TREE_H
#define KEEP_TREE_H

#include <stddef.h>
#include <sys/types.h>

struct tree {
    pid_t *v;
    size_t n, cap;
};
#define TREE_INIT \
    {             \
        0         \
    }
#define AUTO_TREE __attribute__((cleanup(tree_release)))
void tree_release(struct tree *t);
/* root itself is the first. Stops at max processes. */
void tree_list(struct tree *ret, pid_t root, size_t max);

#endif
