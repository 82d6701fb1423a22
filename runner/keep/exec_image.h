/*
 * exec_image: what an exec would start, judged by the files and not by their names: the program
 * itself, the interpreters of a script up to the one that is a binary, the program that a dynamic
 * loader is told to load.
 *
 * From that follows what the kernel must show once it has done the exec: the executable's inode and
 * the argument bytes (exec_trace compares both).
 */
#ifndef KEEP_EXEC_IMAGE_H
#define KEEP_EXEC_IMAGE_H

#include <stdbool.h>
#include <time.h>
#include "runner/base/digest.h"
#include "runner/keep/exec_args.h"
#include "runner/keep/exec_content.h"
#include "runner/keep/exec_names.h"
#include "runner/keep/exec_resolve.h"

/* Files that were seen to be native binaries, while they do not change; zeroes: none yet. Most
 * execs are of a few programs. */
enum { EXEC_HEADS = 256 };
struct exec_heads {
    struct {
        dev_t dev;
        ino_t ino;
        struct timespec changed;
    } all[EXEC_HEADS];
};

struct exec_image {
    /* Programs by name: as found, as called, then interpreters or what the loader loads. */
    struct exec_names names;
    bool is_runnable; /* false: no native binary at the end of it; the kernel is to refuse it */
    dev_t dev;
    ino_t ino;          /* of the executable at the end */
    bool is_fixed;      /* the file that was called is on a mount that the box cannot write, */
    bool is_fixed_name; /* and so is what its name leads through in the end */
    struct exec_content content; /* of what of it the box can write */
    int64_t call;                /* whoever decides: the call behind it, 0: none known; */
    bool is_carrying;            /* it is the one that carries the call out */
    bool is_agent;               /* the program is the agent as well */
    size_t args_bytes;           /* of all arguments, each with its NUL, and their digest */
    char args_digest[DIGEST_HEX_SIZE];
};
#define EXEC_IMAGE_INIT          \
    {                            \
        .names = EXEC_NAMES_INIT \
    }
#define AUTO_EXEC_IMAGE __attribute__((cleanup(exec_image_release)))
void exec_image_release(struct exec_image *image);

/* flags: execveat(2)'s. Returns 0, else the errno for the caller. A file that the keeper may not
 * read (mode 0111 of another user) is EACCES: nothing could be said about it. */
int exec_image_of(struct exec_image *ret, const struct exec_place *place,
                  const struct exec_args *args, int flags);

#endif
