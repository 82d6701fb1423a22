#include "worktree/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { CHUNK_BYTES = 256 * 1024 };

static void *run(void *arg)
{
    struct pump *p = arg;
    AUTO_FREE char *chunk = xmalloc(CHUNK_BYTES);
    int64_t total = 0;
    for (;;) {
        ssize_t got = read(p->read_fd, chunk, CHUNK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            err_sys(&p->err, errno, "cannot read from the box");
        if (got <= 0)
            break;
        total += got;
        if (total > p->max_bytes) {
            err_set(&p->err, ERR_LIMIT, "the box sent more than %" PRId64 " bytes", p->max_bytes);
            break;
        }
        if (!fs_write_fd(p->to_fd, chunk, (size_t)got, &p->err))
            break;
    }
    close(p->read_fd);
    return NULL;
}

bool pump_start(struct pump *p, int to_fd, int64_t max_bytes, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    *p = (struct pump){
        .write_fd = ends[1],
        .read_fd = ends[0],
        .to_fd = to_fd,
        .max_bytes = max_bytes,
        .err = ERR_INIT,
    };
    int why = pthread_create(&p->thread, NULL, run, p);
    if (why == 0)
        return true;
    close(ends[0]);
    close(ends[1]);
    return err_sys(err, why, "cannot start a thread");
}

bool pump_finish(struct pump *p, struct err *err)
{
    close(p->write_fd);
    pthread_join(p->thread, NULL);
    if (p->err.code == ERR_NONE)
        return true;
    *err = p->err;
    return false;
}
