#include "runner/cmd/out.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum { FALLBACK_COLUMNS = 80, FALLBACK_ROWS = 24 };

static bool is_dumb(void)
{
    const char *term = getenv("TERM");
    return !term || !*term || strcmp(term, "dumb") == 0;
}

static bool window(struct winsize *ret)
{
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, ret) == 0 && ret->ws_col && ret->ws_row;
}

void out_print(struct print *ret)
{
    const char *no_color = getenv("NO_COLOR");
    struct winsize size;
    bool is_terminal = isatty(STDOUT_FILENO);
    *ret = (struct print){.columns = 0, .color = false, .now_ms = clock_unix_ms()};
    if (!is_terminal)
        return;
    ret->columns = window(&size) ? size.ws_col : FALLBACK_COLUMNS;
    ret->color = !is_dumb() && !(no_color && *no_color);
}

bool out_is_live(void)
{
    return isatty(STDOUT_FILENO) && !is_dumb();
}

int out_rows(void)
{
    struct winsize size;
    return window(&size) ? size.ws_row : FALLBACK_ROWS;
}

bool out_write(const void *data, size_t len, struct err *err)
{
    if (fs_write_fd(STDOUT_FILENO, data, len, err))
        return true;
    if (err->sys_errno == EPIPE) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return err_prefix(err, "cannot write to standard output");
}

bool out_buf(const struct buf *text, struct err *err)
{
    return out_write(text->ptr, text->len, err);
}

bool out_json(const json_t *value, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, value);
    buf_addch(&text, '\n');
    return out_buf(&text, err);
}

static const char *pager(void)
{
    const char *command = getenv("GIT_PAGER");
    if (!command)
        command = getenv("PAGER");
    if (!command)
        command = "less -R";
    return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

bool out_paged(const struct buf *text, struct err *err)
{
    const char *command = isatty(STDOUT_FILENO) ? pager() : NULL;
    if (!command || text->len == 0)
        return out_buf(text, err);
    AUTO_STRV struct strv argv = STRV_INIT, env = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    strv_push(&argv, "/bin/sh");
    strv_push(&argv, "-c");
    strv_push(&argv, command);
    strv_push_all(&env, environ);
    if (!strv_env_get(&env, "LESS"))
        strv_env_set(&env, "LESS", "FRX");
    const struct proc_cmd cmd = {.argv = &argv,
                                 .env = &env,
                                 .input = text->ptr,
                                 .input_len = text->len,
                                 .output_fd = STDOUT_FILENO,
                                 .inherit_stderr = true};
    /* Ctrl-C belongs to the pager, as with git. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGINT, &ignore, &before);
    bool ok = proc_run(&result, &cmd, err);
    sigaction(SIGINT, &before, NULL);
    enum { NO_SUCH_PROGRAM = 127 };
    return ok && result.status == NO_SUCH_PROGRAM ? out_buf(text, err) : ok;
}
