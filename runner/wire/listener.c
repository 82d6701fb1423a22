#include "runner/wire/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runner/base/mem.h"

enum {
    LISTENER_BATCH = 32, /* accepted in one go, before other events have their turn */
};

struct listener {
    uv_poll_t poll;
    int fd;
    int spare_fd;
    listener_fn accepted;
    void *arg;
};

static int listener_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void listener_turn_away(struct listener *l)
{
    if (l->spare_fd < 0)
        return;
    close(l->spare_fd);
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        close(fd);
    l->spare_fd = listener_spare();
}

static void listener_on_readable(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;
    (void)events;
    if (status != 0)
        return;
    if (l->spare_fd < 0) /* another thread was faster when it was to be had again */
        l->spare_fd = listener_spare();
    for (int i = 0; i < LISTENER_BATCH && !uv_is_closing((uv_handle_t *)poll); i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            l->accepted(l->arg, fd);
        else if (errno == EMFILE || errno == ENFILE)
            listener_turn_away(l);
        else if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

static void listener_on_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    close(l->fd);
    if (l->spare_fd >= 0)
        close(l->spare_fd);
    free(l);
}

struct listener *listener_open(uv_loop_t *loop, int fd, listener_fn accepted, void *arg,
                               struct err *err)
{
    struct listener *l = xcalloc(1, sizeof *l);
    l->fd = fd;
    l->spare_fd = listener_spare();
    l->accepted = accepted;
    l->arg = arg;
    int status = uv_poll_init(loop, &l->poll, fd);
    if (status != 0) {
        err_sys(err, -status, "cannot watch a listening socket");
        close(fd);
        if (l->spare_fd >= 0)
            close(l->spare_fd);
        free(l);
        return NULL;
    }
    l->poll.data = l;
    uv_poll_start(&l->poll, UV_READABLE, listener_on_readable);
    return l;
}

void listener_close(struct listener *l)
{
    if (l && !uv_is_closing((uv_handle_t *)&l->poll))
        uv_close((uv_handle_t *)&l->poll, listener_on_closed);
}
