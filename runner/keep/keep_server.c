/*
 * keep_server: what the server is told and what it may ask.
 */
#include <string.h>
#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/keep/keep.h"

enum { KEEP_ENTER_MS = 300 };

static const char *keep_state_name(enum keep_state state)
{
    switch (state) {
    case KEEP_STARTING:
        return "starting";
    case KEEP_RUNNING:
    case KEEP_ENDED: /* until it is on record */
        return "running";
    case KEEP_EXITED:
    case KEEP_OVER:
        return "exited";
    }
    return "exited";
}

json_t *keep_waiting(const struct keep *k)
{
    json_t *waiting = door_waiting(&k->door);
    exec_wait_list(&k->exec.wait, waiting);
    net_gate_add_waiting(&k->net, waiting);
    return waiting;
}

static json_t *keep_welcome(void *arg)
{
    struct keep *k = arg;
    json_t *welcome = json_object();
    jx_set_str(welcome, "attempt", k->config.attempt);
    jx_set_int(welcome, "pid", k->id.pid);
    jx_set_int(welcome, "start_ticks", (int64_t)k->id.start_ticks);
    jx_set_str(welcome, "boot_id", k->id.boot_id);
    jx_set_str(welcome, "state", keep_state_name(k->state));
    jx_set_int(welcome, "epoch", door_epoch(&k->door));
    jx_set(welcome, "waiting", keep_waiting(k));
    jx_set_bool(welcome, "interactive", k->config.is_interactive);
    return welcome;
}

static void keep_on_policy(struct keep *k, const json_t *msg)
{
    struct err err = ERR_INIT;
    if (!door_set_policy(&k->door, msg, &err)) {
        records_note(&k->records, "a policy was not taken: %s", err.text);
        return;
    }
    net_gate_policy_changed(&k->net);
    AUTO_JSON json_t *answer = json_object();
    jx_set_str(answer, "t", "epoch");
    jx_set_int(answer, "epoch", door_epoch(&k->door));
    link_tell(&k->link, answer);
}

static void keep_on_name(struct keep *k, const json_t *msg)
{
    if (!exec_wait_name(&k->exec.wait, msg))
        door_name(&k->door, msg);
    net_gate_name(&k->net, msg);
}

static void keep_on_decide(struct keep *k, const json_t *msg)
{
    if (!exec_wait_decide(&k->exec.wait, msg))
        door_decide(&k->door, msg);
    net_gate_decide(&k->net, msg);
}

static void keep_on_stop(struct keep *k, const json_t *msg)
{
    bool is_timeout = strcmp(jx_str(msg, "cause", ""), stop_cause_name(STOP_TIME)) == 0;
    if (k->state < KEEP_ENDED)
        stop_request(&k->stop, is_timeout ? STOP_TIME : STOP_ASKED,
                     jx_int(msg, "grace_ms", k->config.grace_ms));
}

/* A terminal's Enter is a carriage return; in cooked mode the kernel makes a newline of it. */
static void keep_press_enter(uv_timer_t *timer)
{
    struct keep *k = timer->data;
    uv_timer_stop(timer);
    if (k->room.agent && !stream_write(k->room.agent, "\r", 1))
        records_note(&k->records,
                     "what was said was not sent: the agent does not read its terminal");
}

/* To a headless agent on its standard input. In a terminal typed as a person would: interfaces take
 * a return that comes at once with the text for a part of what is pasted. */
static void keep_on_say(struct keep *k, const json_t *msg)
{
    const char *text = jx_str(msg, "text", "");
    if (k->config.hears != SPEECH_NONE) { /* what it does not take up, the server says again */
        (void)!speech_say(&k->speech, jx_int(msg, "message", 0), text);
        return;
    }
    if (uv_is_active((const uv_handle_t *)&k->enter))
        keep_press_enter(&k->enter);
    if (!k->room.agent)
        records_note(&k->records, "nothing was said: the agent reads no terminal");
    else if (!stream_write(k->room.agent, text, strlen(text)))
        records_note(&k->records, "nothing was said: the agent does not read its terminal");
    else
        uv_timer_start(&k->enter, keep_press_enter, KEEP_ENTER_MS, 0);
    k->room.typed_ms = clock_mono_ms();
}

static void keep_on_quit(struct keep *k, const json_t *msg)
{
    (void)msg;
    keep_quit(k);
}

static void keep_on_broker(struct keep *k, const json_t *msg)
{
    door_broker(&k->door, msg);
}

void keep_ask_token(void *arg, const json_t *question)
{
    struct keep *k = arg;
    AUTO_JSON json_t *msg = json_copy((json_t *)(uintptr_t)question);
    jx_set_str(msg, "t", "token");
    link_tell(&k->link, msg);
}

static void keep_on_token(struct keep *k, const json_t *msg)
{
    const char *trouble = model_side_answer(&k->model, msg);
    if (trouble)
        records_note(&k->records, "%s", trouble);
}

static void keep_command(void *arg, const json_t *msg)
{
    static const struct {
        const char *name;
        void (*handle)(struct keep *k, const json_t *msg);
    } commands[] = {
        {"policy", keep_on_policy}, {"name", keep_on_name},   {"decide", keep_on_decide},
        {"stop", keep_on_stop},     {"say", keep_on_say},     {"quit", keep_on_quit},
        {"broker", keep_on_broker}, {"token", keep_on_token},
    };
    const char *t = jx_str(msg, "t", "");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(t, commands[i].name) == 0) {
            commands[i].handle(arg, msg);
            return;
        }
    }
}

static void keep_on_server(void *arg, bool is_present)
{
    keep_server_changed(arg, is_present);
}

const struct link_ops keep_link_ops = {
    .welcome = keep_welcome, .command = keep_command, .server = keep_on_server};

static void keep_on_line(void *arg, const char *line, size_t len, int64_t bytes)
{
    struct keep *k = arg;
    AUTO_JSON json_t *msg = json_object();
    jx_set_str(msg, "t", "line");
    jx_set(msg, "line", jx_bytes(line, len));
    jx_set_int(msg, "bytes", bytes);
    link_tell(&k->link, msg);
}

static void keep_on_full(void *arg)
{
    struct keep *k = arg;
    stop_request(&k->stop, STOP_OUTPUT, k->config.grace_ms);
}

static void keep_on_trouble(void *arg, const struct err *err)
{
    struct keep *k = arg;
    records_note(&k->records, "the log is not written any more: %s", err->text);
}

const struct output_ops keep_output_ops = {.line = keep_on_line,
                                           .whole = keep_pulse_line,
                                           .full = keep_on_full,
                                           .trouble = keep_on_trouble};

static void keep_on_usage(void *arg, const struct account_usage *usage)
{
    struct keep *k = arg;
    AUTO_JSON json_t *msg = json_object();
    jx_set_str(msg, "t", "usage");
    jx_set_int(msg, "memory", usage->memory_bytes);
    jx_set_int(msg, "pids", usage->pids);
    link_tell(&k->link, msg);
}

static void keep_on_exceeded(void *arg, bool is_memory)
{
    struct keep *k = arg;
    stop_request(&k->stop, is_memory ? STOP_MEMORY : STOP_PIDS, 0);
}

const struct account_ops keep_account_ops = {.usage = keep_on_usage, .exceeded = keep_on_exceeded};
