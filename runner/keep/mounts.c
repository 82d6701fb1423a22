#include "runner/keep/mounts.h"

#include "runner/base/mem.h"
#include "runner/base/paths.h"

static void mounts_told(void *arg, const char *sentence)
{
    struct mounts *m = arg;
    m->ops->told(m->arg, sentence);
}

static void mounts_on_event(uv_poll_t *poll, int status, int events)
{
    static const struct held_ops ops = {.told = mounts_told};
    struct mounts *m = poll->data;
    struct err err = ERR_INIT;
    bool has_stirred = false;
    (void)status;
    (void)events;
    bool ok = held_look(&m->held, &ops, m, &has_stirred, &err);
    if (has_stirred)
        m->ops->stirred(m->arg);
    if (!ok) {
        mounts_end(m);
        m->ops->failed(m->arg, &err);
    }
}

void mounts_plan(struct mounts *m, const struct buf *plan, const struct mounts_ops *ops, void *arg,
                 struct err *err)
{
    AUTO_FREE char *launcher = paths_program("headgate-box", err);
    *m = (struct mounts){.held = HELD_INIT, .ops = ops, .arg = arg};
    if (launcher) /* else the box does not start either */
        held_plan(&m->held, plan, launcher);
}

bool mounts_begin(struct mounts *m, uv_loop_t *loop, pid_t init_pid, struct err *err)
{
    static const int events[2] = {UV_PRIORITIZED, UV_READABLE};
    if (!held_begin(&m->held, init_pid, true, err))
        return false;
    struct pollfd fds[2];
    held_poll(&m->held, fds);
    if (fds[0].fd < 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        int status = uv_poll_init(loop, &m->polls[i], fds[i].fd);
        if (status != 0)
            return err_sys(err, -status, "cannot watch the mounts of the box");
        m->polls[i].data = m;
        uv_poll_start(&m->polls[i], events[i], mounts_on_event);
        uv_unref((uv_handle_t *)&m->polls[i]);
    }
    m->is_polling = true;
    return true;
}

void mounts_end(struct mounts *m)
{
    for (size_t i = 0; m->is_polling && i < ARRAY_LEN(m->polls); i++) {
        uv_poll_stop(&m->polls[i]);
        uv_close((uv_handle_t *)&m->polls[i], NULL);
    }
    m->is_polling = false;
    held_release(&m->held);
}
