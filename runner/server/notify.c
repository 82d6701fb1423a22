#include "runner/server/notify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/text.h"
#include "runner/server/notify_command.h"
#include "runner/store/run_row.h"

/* Calls come in bursts: one message says enough. */
enum { PAUSE_MS = 5000, BODY_COLUMNS = 160, RUNNING_MAX = 4 };

struct notice {
    struct notice *next;
    struct server *server;
    uv_process_t process;
};

/* What of the person's environment a notification is given, the desktop's address first. */
static const char *const names[] = {
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "HOME",
    "PATH",
    "USER",
    "LANG",
};

static char *find_program(void)
{
    static const char *const places[] = {"/usr/bin/notify-send", "/usr/local/bin/notify-send"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (access(places[i], X_OK) == 0)
            return xstrdup(places[i]);
    return NULL;
}

bool notify_env(struct strv *out, struct server *s, const char *attempt, struct err *err)
{
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    if (!run_row_get(&run, s->db, strtoll(attempt, NULL, 10), err))
        return false;
    strv_env_set(out, "PATH", "/usr/local/bin:/usr/bin:/bin");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = strv_env_get(run.desktop.n ? &run.desktop : &run.env, names[i]);
        if (value)
            strv_env_set(out, names[i], value);
    }
    return true;
}

static bool desktop_env(struct strv *out, struct server *s, const char *attempt)
{
    struct err ignored = ERR_INIT;
    return notify_env(out, s, attempt, &ignored) &&
           (strv_env_get(out, "DBUS_SESSION_BUS_ADDRESS") || strv_env_get(out, "DISPLAY"));
}

/* notify-send reads some markup, so that angle brackets and ampersands are escaped too. */
static void add_body(struct buf *out, const char *text)
{
    AUTO_BUF struct buf clean = BUF_INIT;
    AUTO_BUF struct buf line = BUF_INIT;
    text_sanitise(&clean, text, strlen(text), 0);
    text_add_clipped(&line, clean.ptr ? clean.ptr : "", BODY_COLUMNS);
    for (const char *p = line.ptr ? line.ptr : ""; *p; p++) {
        if (*p == '<')
            buf_adds(out, "&lt;");
        else if (*p == '>')
            buf_adds(out, "&gt;");
        else if (*p == '&')
            buf_adds(out, "&amp;");
        else
            buf_addch(out, *p);
    }
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal_number)
{
    struct notice *n = process->data;
    struct notice **at = &n->server->notices;
    (void)status;
    (void)signal_number;
    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    uv_close((uv_handle_t *)process, on_closed);
}

static void start(struct server *s, char **argv, char *const *env)
{
    struct notice *n = xcalloc(1, sizeof(*n));
    n->server = s;
    n->process.data = n;
    const uv_process_options_t options = {.exit_cb = on_exit_of,
                                          .file = argv[0],
                                          .args = argv,
                                          .env = (char **)(uintptr_t)env,
                                          .cwd = "/"};
    if (uv_spawn(&s->loop, &n->process, &options) != 0) {
        uv_close((uv_handle_t *)&n->process, on_closed);
        return;
    }
    n->next = s->notices;
    s->notices = n;
}

static bool is_crowded(const struct server *s)
{
    size_t running = 0;
    for (const struct notice *n = s->notices; n; n = n->next)
        running++;
    return running >= RUNNING_MAX;
}

void notify_desktop(struct server *s, const char *attempt, const char *title, const char *text)
{
    int64_t now_ms = clock_mono_ms();
    if (s->is_stopping || !config_bool(s->config, "ui.notify", true) || is_crowded(s) ||
        (s->last_notice_ms && now_ms - s->last_notice_ms < PAUSE_MS))
        return;
    AUTO_FREE char *program = find_program();
    AUTO_STRV struct strv env = STRV_INIT;
    if (!program || !desktop_env(&env, s, attempt))
        return;
    s->last_notice_ms = now_ms;
    AUTO_BUF struct buf body = BUF_INIT;
    add_body(&body, text);
    AUTO_STRV struct strv argv = STRV_INIT;
    strv_push(&argv, program);
    strv_push(&argv, "--app-name=Headgate");
    strv_push(&argv, "--"); /* what follows comes from an agent */
    strv_push(&argv, title);
    strv_push(&argv, body.ptr ? body.ptr : "");
    start(s, argv.v, strv_array(&env));
}

void notify_call(struct server *s, const struct ledger_call *call)
{
    AUTO_BUF struct buf args = BUF_INIT;
    AUTO_FREE char *tool = text_clean(call->request.tool);
    AUTO_FREE char *title = xasprintf("Attempt %s asks: %.60s", call->attempt, tool);
    jx_dump(&args, call->request.args);
    notify_desktop(s, call->attempt, title, args.ptr);
    notify_command(s, call);
}

/* A notification outlives the server; only its exit goes unseen. */
void notify_close(struct server *s)
{
    notify_command_close(s);
    while (s->notices) {
        struct notice *n = s->notices;
        s->notices = n->next;
        uv_close((uv_handle_t *)&n->process, on_closed);
    }
}
