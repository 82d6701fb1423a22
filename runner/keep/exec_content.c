#include "runner/keep/exec_content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/exec_names.h"

static const int64_t max_bytes = (int64_t)1 << 30;

void exec_content_release(struct exec_content *c)
{
    while (c->n > 0)
        close(c->fds[--c->n]);
    c->digest[0] = '\0';
}

void exec_content_add(struct exec_content *c, int fd)
{
    if (c->n == EXEC_CONTENT_FILES || exec_is_fixed(fd))
        return;
    int held = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (held >= 0)
        c->fds[c->n++] = held;
}

static int digest_of(char ret[DIGEST_HEX_SIZE], int path_fd)
{
    char link[64];
    struct stat st;
    struct err err = ERR_INIT;
    snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
    AUTO_FD int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0)
        return EACCES;
    if (st.st_size > max_bytes)
        return EFBIG;
    return digest_fd(ret, fd, max_bytes, &err) ? 0 : EACCES;
}

static int digest_all(char ret[DIGEST_HEX_SIZE], const struct exec_content *c)
{
    char each[EXEC_CONTENT_FILES][DIGEST_HEX_SIZE];
    struct digest_part parts[EXEC_CONTENT_FILES];
    for (int i = 0; i < c->n; i++) {
        int why = digest_of(each[i], c->fds[i]);
        if (why)
            return why;
        parts[i] = (struct digest_part){each[i], strlen(each[i])};
    }
    if (c->n == 1) /* then it is what sha256sum says */
        memcpy(ret, each[0], sizeof each[0]);
    else
        digest_parts(ret, parts, (size_t)c->n);
    return 0;
}

int exec_content_identify(struct exec_content *c)
{
    return c->n == 0 || c->digest[0] ? 0 : digest_all(c->digest, c);
}

bool exec_content_is_same(const struct exec_content *c)
{
    char now[DIGEST_HEX_SIZE];
    return !c->digest[0] || (digest_all(now, c) == 0 && strcmp(now, c->digest) == 0);
}
