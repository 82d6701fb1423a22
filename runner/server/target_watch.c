#include "runner/server/target_watch.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/server/clash.h"

/* A rebase moves its branch once but HEAD many times; there is one look for what comes together. */
enum { QUIET_MS = 300, FOLDERS_MAX = 16 };

struct target_watch {
    struct target_watch *next;
    struct server *server; /* NULL: closing */
    char *common;
    uv_timer_t quiet;
    uv_fs_event_t folders[FOLDERS_MAX];
    int parts_open;
};

static void on_part_closed(uv_handle_t *handle)
{
    struct target_watch *w = handle->data;
    if (--w->parts_open > 0)
        return;
    free(w->common);
    free(w);
}

static void on_quiet(uv_timer_t *timer)
{
    struct target_watch *w = timer->data;
    clash_moved(w->server, w->common);
}

/* In the repository's own folder much else happens: with each `git status` there is a new index.
 * The attempts' own branches lie in the folder `headgate` of the branches. */
static bool is_of_no_interest(const struct target_watch *w, const uv_fs_event_t *event,
                              const char *name)
{
    size_t len = name ? strlen(name) : 0, suffix = strlen(".lock");
    if (!name || (len >= suffix && strcmp(name + len - suffix, ".lock") == 0))
        return name != NULL;
    if (event == &w->folders[0])
        return strcmp(name, "HEAD") != 0 && strcmp(name, "packed-refs") != 0;
    return strcmp(name, "headgate") == 0;
}

static void on_change(uv_fs_event_t *event, const char *name, int kinds, int status)
{
    struct target_watch *w = event->data;
    (void)kinds;
    if (status == 0 && w->server && !is_of_no_interest(w, event, name) &&
        !uv_is_active((uv_handle_t *)&w->quiet))
        uv_timer_start(&w->quiet, on_quiet, QUIET_MS, 0);
}

static struct target_watch *find(struct server *s, const char *common)
{
    for (struct target_watch *w = s->target_watches; w; w = w->next)
        if (strcmp(w->common, common) == 0)
            return w;
    return NULL;
}

static struct target_watch *add(struct server *s, const char *common)
{
    struct target_watch *w = xcalloc(1, sizeof(*w));
    *w = (struct target_watch){.next = s->target_watches,
                               .server = s,
                               .common = xstrdup(common),
                               .parts_open = FOLDERS_MAX + 1};
    uv_timer_init(&s->loop, &w->quiet);
    w->quiet.data = w;
    for (size_t i = 0; i < FOLDERS_MAX; i++) {
        uv_fs_event_init(&s->loop, &w->folders[i]);
        w->folders[i].data = w;
    }
    s->target_watches = w;
    return w;
}

static void drop(struct target_watch *w)
{
    struct target_watch **at = &w->server->target_watches;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->server = NULL;
    uv_close((uv_handle_t *)&w->quiet, on_part_closed);
    for (size_t i = 0; i < FOLDERS_MAX; i++)
        uv_close((uv_handle_t *)&w->folders[i], on_part_closed);
}

static void add_folder(struct strv *folders, const char *path)
{
    if (!strv_has(folders, path) && fs_is_dir(path))
        strv_push(folders, path);
}

/* The repository's own folder first. */
static void list_folders(struct strv *folders, const char *common, const struct strv *branches)
{
    static const char *const always[] = {"logs", "refs/heads", "reftable"};
    strv_push(folders, common);
    for (size_t i = 0; i < ARRAY_LEN(always); i++) {
        AUTO_FREE char *path = fs_join(common, always[i]);
        add_folder(folders, path);
    }
    for (size_t i = 0; i < branches->n; i++) {
        AUTO_FREE char *ref = xasprintf("%s/refs/heads/%s", common, branches->v[i]);
        AUTO_FREE char *folder = fs_dirname(ref);
        add_folder(folders, folder);
    }
}

void target_watch_set(struct server *s, const char *common, const struct strv *branches)
{
    struct target_watch *w = find(s, common);
    AUTO_STRV struct strv folders = STRV_INIT;
    if (branches->n == 0) {
        if (w)
            drop(w);
        return;
    }
    if (!w)
        w = add(s, common);
    list_folders(&folders, common, branches);
    /* Anew each time: a folder of refs that was packed away is another one when it comes back. */
    for (size_t i = 0; i < FOLDERS_MAX; i++) {
        uv_fs_event_stop(&w->folders[i]);
        if (i < folders.n)
            uv_fs_event_start(&w->folders[i], on_change, folders.v[i], 0);
    }
}

void target_watch_close(struct server *s)
{
    while (s->target_watches)
        drop(s->target_watches);
}
