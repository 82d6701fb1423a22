/*
 * exec_content: the files of an exec that the box can write, by what is in them.
 *
 * A name in such a folder says nothing: whoever has the decision for it could put another program
 * there. So a decision about one is about its bytes. Where the box cannot write, the name is
 * enough. The files are held open: what was identified can be looked at again when the kernel has
 * taken its own. What is identified is the program and its interpreters; libraries, and a script
 * that changes after its interpreter began to read it, are not covered.
 */
#ifndef KEEP_EXEC_CONTENT_H
#define KEEP_EXEC_CONTENT_H

#include <stdbool.h>
#include "runner/base/digest.h"

enum { EXEC_CONTENT_FILES = 7 }; /* a script, its interpreters, what a loader loads */

struct exec_content {
    int fds[EXEC_CONTENT_FILES];
    int n;
    char digest[DIGEST_HEX_SIZE]; /* "": not identified, or there is nothing to identify */
};

void exec_content_release(struct exec_content *c);
/* Hold a file (an O_PATH descriptor, borrowed) if the box can write where it lies. */
void exec_content_add(struct exec_content *c, int fd);
/* Read them all. 0, else an errno: EFBIG for more than a gigabyte, EACCES for what cannot be read.
 */
int exec_content_identify(struct exec_content *c);
/* Whether they are still as identified; true when they never were. */
bool exec_content_is_same(const struct exec_content *c);

#endif
