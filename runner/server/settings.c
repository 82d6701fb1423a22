#include "runner/server/settings.h"

#include <stdlib.h>

#include "runner/server/notify_news.h"

/* What was replaced while workers ran: freed with the server. Changes are as rare as a person's
 * edits. */
struct old_settings {
    struct config *config;
    struct old_settings *next;
};

/* What the server alone reads is looked at here, so that a wrong word is not found when it counts.
 */
static bool load(struct config **ret, const struct paths *paths, struct err *err)
{
    AUTO_CONFIG struct config *config = NULL;
    unsigned ignored;
    if (!config_load(&config, paths, err) || !notify_kinds(&ignored, config, err))
        return false;
    *ret = steal_ptr(&config);
    return true;
}

bool settings_open(struct server *s, struct err *err)
{
    s->config_stamp = config_stamp(&s->paths);
    return load(&s->config, &s->paths, err);
}

static void retire(struct server *s)
{
    if (s->works_running == 0) {
        config_free(s->config);
        return;
    }
    struct old_settings *old = xmalloc(sizeof(*old));
    *old = (struct old_settings){.config = s->config, .next = s->old_settings};
    s->old_settings = old;
}

bool settings_refresh(struct server *s, struct err *err)
{
    uint64_t stamp = config_stamp(&s->paths);
    struct config *fresh;
    if (stamp == s->config_stamp)
        return true;
    if (!load(&fresh, &s->paths, err))
        return false;
    retire(s);
    s->config = fresh;
    s->config_stamp = stamp;
    s->has_layers = false; /* limits and account may be others */
    return true;
}

void settings_close(struct server *s)
{
    while (s->old_settings) {
        struct old_settings *next = s->old_settings->next;
        config_free(s->old_settings->config);
        free(s->old_settings);
        s->old_settings = next;
    }
    config_free(s->config);
    s->config = NULL;
}
