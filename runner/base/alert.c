#include "runner/base/alert.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

/* Terminals by what they call themselves, from their manuals. */
static const struct {
    const char *term, *program; /* beginning of TERM, or TERM_PROGRAM */
    enum alert_osc osc;
} terminals[] = {
    {NULL, "iTerm.app", ALERT_OSC_9},   {NULL, "WezTerm", ALERT_OSC_777},
    {NULL, "ghostty", ALERT_OSC_777},   {"xterm-ghostty", NULL, ALERT_OSC_777},
    {"foot", NULL, ALERT_OSC_777},      {"rxvt-unicode", NULL, ALERT_OSC_777},
    {"xterm-kitty", NULL, ALERT_OSC_9}, {"contour", NULL, ALERT_OSC_777},
};

static bool begins(const char *text, const char *head)
{
    return text && strncmp(text, head, strlen(head)) == 0;
}

/* tmux and screen keep an OSC to themselves; they pass the bell on. */
enum alert_osc alert_osc_of(const char *term, const char *term_program, bool is_multiplexed)
{
    for (size_t i = 0; i < ARRAY_LEN(terminals) && !is_multiplexed; i++)
        if (terminals[i].term ? begins(term, terminals[i].term)
                              : term_program && strcmp(term_program, terminals[i].program) == 0)
            return terminals[i].osc;
    return ALERT_OSC_OFF;
}

bool alert_load(struct alert *ret, const struct config *config, struct err *err)
{
    static const char *const names[] = {
        [ALERT_OSC_OFF] = "off", [ALERT_OSC_9] = "9", [ALERT_OSC_777] = "777"};
    const char *name = config_str(config, "ui.osc", "auto");
    struct alert a = {.bell = config_bool(config, "ui.bell", true)};
    bool is_known = strcmp(name, "auto") == 0;
    if (is_known)
        a.osc = alert_osc_of(getenv("TERM"), getenv("TERM_PROGRAM"),
                             getenv("TMUX") != NULL || getenv("STY") != NULL);
    for (size_t i = 0; i < ARRAY_LEN(names) && !is_known; i++)
        if ((is_known = strcmp(names[i], name) == 0))
            a.osc = (enum alert_osc)i;
    if (!is_known)
        return err_set(err, ERR_USAGE, "ui.osc: '%.32s' is none of auto, 9, 777, off", name);
    *ret = a;
    return true;
}

void alert_add(struct buf *out, const struct alert *a, size_t n)
{
    static const char *const heads[] = {
        [ALERT_OSC_9] = "\033]9;Headgate: ", [ALERT_OSC_777] = "\033]777;notify;Headgate;"};
    if (a->osc != ALERT_OSC_OFF)
        buf_addf(out, "%s%zu call%s for you\a", heads[a->osc], n, n == 1 ? " waits" : "s wait");
    if (a->bell)
        buf_addch(out, '\a');
}
