#include "runner/drive/drive.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/wire/conn.h"

enum { PATIENCE_MS = 5000 };

void drive_tell(const json_t *event)
{
    AUTO_BUF struct buf line = BUF_INIT;
    struct err err = ERR_INIT;
    jx_dump(&line, event);
    buf_addch(&line, '\n');
    if (!fs_write_fd(STDOUT_FILENO, line.ptr, line.len, &err))
        _exit(1); /* nobody reads: the keeper is gone, and the box with it */
}

static void on_said(struct conn *c, json_t *msg, void *arg)
{
    struct drive *d = arg;
    (void)c;
    d->heard(d, jx_int(msg, "id", 0), jx_str(msg, "text", ""));
}

static void on_deaf(struct conn *c, const struct err *err, void *arg)
{
    struct drive *d = arg;
    (void)c;
    (void)err;
    d->ears = NULL;
}

void drive_listen(struct drive *d, drive_heard_fn heard)
{
    static const struct conn_ops ops = {.message = on_said,
                                        .closed = on_deaf,
                                        .max_line_bytes = LIMIT_LINE_BYTES,
                                        .max_queue_bytes = LIMIT_LINE_BYTES};
    struct stat st;
    int fd = fstat(STDIN_FILENO, &st) == 0 && S_ISFIFO(st.st_mode)
                 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                 : -1;
    d->heard = heard;
    if (fd >= 0)
        d->ears = conn_open(&d->loop, fd, &ops, d);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void on_process_end(uv_process_t *process, int64_t status, int signal_number)
{
    struct drive *d = process->data;
    (void)status;
    (void)signal_number;
    close_handle((uv_handle_t *)&d->patience);
    close_handle((uv_handle_t *)process);
    d->exited(d);
}

static void on_impatient(uv_timer_t *timer)
{
    struct drive *d = timer->data;
    uv_process_kill(&d->process, SIGKILL);
}

bool drive_spawn(struct drive *d, const int std_fds[2], struct err *err)
{
    uv_stdio_container_t stdio[] = {
        {.flags = UV_INHERIT_FD, .data.fd = std_fds[0]},
        {.flags = UV_INHERIT_FD, .data.fd = std_fds[1]},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
    };
    const uv_process_options_t options = {
        .exit_cb = on_process_end,
        .file = d->argv[0],
        .args = (char **)(uintptr_t)d->argv,
        .stdio_count = ARRAY_LEN(stdio),
        .stdio = stdio,
    };
    uv_timer_init(&d->loop, &d->patience);
    d->patience.data = d;
    int status = uv_spawn(&d->loop, &d->process, &options);
    d->process.data = d;
    if (status != 0)
        return err_sys(err, -status, "cannot start %s", d->argv[0]);
    /* Others of the same account must not write into what answers for the gate. Only now: the exec
     * gate reads who execs. */
    prctl(PR_SET_DUMPABLE, 0);
    return true;
}

void drive_end(struct drive *d, int status)
{
    if (d->is_ending)
        return;
    d->is_ending = true;
    d->status = status;
    if (d->ears)
        conn_close(d->ears);
    if (!uv_is_closing((uv_handle_t *)&d->patience))
        uv_timer_start(&d->patience, on_impatient, PATIENCE_MS, 0);
}

void drive_fail(struct drive *d, const char *fmt, ...)
{
    va_list args;
    if (d->is_ending)
        return;
    fputs("headgate: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    drive_end(d, 1);
}
