#include "runner/keep/exec_notice.h"

#include <fcntl.h>
#include <sys/syscall.h>

bool exec_notice_of(struct exec_notice *ret, const struct notice *n)
{
    bool is_at = n->call == SYS_execveat;
    const uint64_t *vectors = n->args + (is_at ? 1 : 0);
    if (!is_at && n->call != SYS_execve)
        return false;
    *ret = (struct exec_notice){
        .id = n->id,
        .tid = n->tid,
        .dirfd = is_at ? (int)n->args[0] : AT_FDCWD,
        .flags = is_at ? (int)n->args[4] : 0,
        .path = vectors[0],
        .argv = vectors[1],
    };
    return true;
}

bool exec_notice_lives(const struct exec_notice *n, int listener_fd)
{
    return notice_lives(n->id, listener_fd);
}

bool exec_notice_answer(const struct exec_notice *n, int listener_fd, int why)
{
    return why ? notice_end(n->id, listener_fd, why) : notice_go_on(n->id, listener_fd);
}
