/*
 * credfile: a login's file on disk: private, the person's own, no link; replaced as a whole.
 *
 * Room for the new text is taken before anything is asked of the issuer: an answer that cannot be
 * written would log the person out. Blocks.
 */
#ifndef LOGIN_CREDFILE_H
#define LOGIN_CREDFILE_H

#include <jansson.h>
#include <sys/stat.h>
#include "runner/base/err.h"
#include "runner/login/credentials.h"

struct credfile {
    char *path;
    char *folder;
    int dirfd; /* -1: closed */
    mode_t mode;
    gid_t gid;
    char *temp; /* of a replacement that was begun; NULL: none */
    int tempfd;
};
#define CREDFILE_INIT                                         \
    {                                                         \
        .path = NULL, .dirfd = -1, .temp = NULL, .tempfd = -1 \
    }
#define AUTO_CREDFILE __attribute__((cleanup(credfile_close)))

/* An absolute path. A symbolic link, another account's file, and one that others may read or write
 * are ERR_REFUSED with what to do. */
bool credfile_open(struct credfile *ret, const char *path, struct err *err) WARN_UNUSED;
/* What it holds now, new reference. */
bool credfile_read(json_t **ret, struct credfile *f, struct err *err) WARN_UNUSED;
/* Make a file beside it with room for at least size bytes. */
bool credfile_begin(struct credfile *f, size_t size, struct err *err) WARN_UNUSED;
/* Text replaces the file: flushed, same mode, in one step. What fails once the text is written
 * leaves it in the file beside, which err names. */
bool credfile_commit(struct credfile *f, const struct buf *text, struct err *err) WARN_UNUSED;
/* Takes a replacement back that was begun. */
void credfile_close(struct credfile *f);

#endif
