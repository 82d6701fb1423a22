#include "sandbox/layer.h"

#include <string.h>

#include "runner/base/mem.h"

static const char *const names[LAYER_COUNT + 1] = {
    [LAYER_USER] = "user",         [LAYER_MOUNT] = "mount",     [LAYER_PID] = "pid",
    [LAYER_IPC] = "ipc",           [LAYER_UTS] = "uts",         [LAYER_NET] = "net",
    [LAYER_CGROUP] = "cgroup",     [LAYER_LIMITS] = "limits",   [LAYER_CAPS] = "caps",
    [LAYER_LANDLOCK] = "landlock", [LAYER_SECCOMP] = "seccomp", [LAYER_PTY] = "pty",
    [LAYER_COUNT] = "exec"};

const char *layer_name(enum layer_id id)
{
    return names[id];
}

const char *layer_state_name(enum layer_state state)
{
    switch (state) {
    case LAYER_UNAVAILABLE:
        return "unavailable";
    case LAYER_DEGRADED:
        return "degraded";
    case LAYER_ACTIVE:
        return "active";
    }
    return "unavailable";
}

/* The first n of the names. */
static bool find_layer(unsigned *ret_id, const char *word, size_t len, unsigned n)
{
    for (unsigned id = 0; id < n; id++)
        if (strlen(names[id]) == len && memcmp(names[id], word, len) == 0) {
            *ret_id = id;
            return true;
        }
    return false;
}

static bool refuse_word(const char *word, size_t len, unsigned n, struct err *err)
{
    AUTO_BUF struct buf known = BUF_INIT;
    for (unsigned id = 0; id < n; id++)
        buf_addf(&known, "%s%s", id ? ", " : "", names[id]);
    return err_set(err, ERR_USAGE, "there is no layer \"%.*s\"; the layers are %s", (int)len, word,
                   known.ptr);
}

static bool parse_list(unsigned *ret_mask, const char *text, unsigned n, struct err *err)
{
    unsigned mask = 0;
    for (;;) {
        size_t len = strcspn(text, ",");
        unsigned id;
        if (!find_layer(&id, text, len, n))
            return refuse_word(text, len < 64 ? len : 64, n, err);
        mask |= 1U << id;
        if (!text[len])
            break;
        text += len + 1;
    }
    *ret_mask = mask;
    return true;
}

bool layer_parse_list(unsigned *ret_mask, const char *text, struct err *err)
{
    return parse_list(ret_mask, text, LAYER_COUNT, err);
}

bool layer_parse_required(unsigned *ret_mask, const char *text, struct err *err)
{
    return parse_list(ret_mask, text, LAYER_COUNT + 1, err);
}

static bool add_names(struct buf *out, const struct layer_report *report, enum layer_state state)
{
    bool any = false;
    for (unsigned id = 0; id < LAYER_COUNT; id++) {
        if (report->layer[id].state != state)
            continue;
        if (!any && out->len > 0)
            buf_adds(out, "; ");
        else if (any)
            buf_addch(out, ' ');
        buf_adds(out, names[id]);
        any = true;
    }
    return any;
}

static void add_reasoned(struct buf *out, const struct layer_report *report, enum layer_state state)
{
    for (unsigned id = 0; id < LAYER_COUNT; id++) {
        const struct layer_status *s = &report->layer[id];
        if (s->state != state)
            continue;
        buf_addf(out, "%s%s %s", out->len ? "; " : "", names[id], layer_state_name(state));
        if (s->reason[0])
            buf_addf(out, " (%s)", s->reason);
    }
}

void layer_summary(struct buf *out, const struct layer_report *report)
{
    AUTO_BUF struct buf line = BUF_INIT;
    if (add_names(&line, report, LAYER_ACTIVE))
        buf_addf(&line, " %s", layer_state_name(LAYER_ACTIVE));
    add_reasoned(&line, report, LAYER_DEGRADED);
    add_reasoned(&line, report, LAYER_UNAVAILABLE);
    buf_add(out, line.ptr, line.len);
}
