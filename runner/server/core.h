/*
 * core: the server's one value, which its parts share. One loop, one thread: everything here is
 * touched by the loop's thread only; workers (executor.h, request_work) get values and give back
 * values.
 */
#ifndef SERVER_CORE_H
#define SERVER_CORE_H

#include <uv.h>

#include "runner/base/config.h"
#include "runner/base/db.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/server/keyring.h"
#include "sandbox/layer.h"

struct server {
    uv_loop_t loop;
    struct paths paths;
    struct config *config; /* settings.h */
    uint64_t config_stamp;
    struct old_settings *old_settings;
    struct db *db;
    char *user; /* the account's name, for the log */
    int64_t started_ms;
    bool is_stopping;
    uv_signal_t on_term, on_int;
    uv_timer_t linger_timer; /* how long a stopping server waits for clients that do not read */

    struct listener *listener; /* control.h */
    int listen_fd;             /* the listener's own */
    struct client *clients;

    struct live *lives;       /* live.h: attempts with something under way */
    struct gather *gathers;   /* gather.h */
    struct discard *discards; /* discard.h */
    int works_running;        /* executor.h, control.h: on worker threads now */
    int jobs_running;         /* of these, the executor's */
    uv_timer_t retry_timer;   /* executor.c: the store could not be written */

    uv_timer_t sched_timer; /* sched.h */

    uv_timer_t output_timer; /* events.h: lines that wait for their turn */

    uv_timer_t idle_timer; /* idle.h */
    int64_t idle_ms;

    int64_t epoch; /* epoch.h: of the rules in force */
    struct epoch_wait *epoch_waits;

    struct keyring keyring; /* of models, by run */
    struct keyring secrets; /* {VARIABLE: VALUE} for set-up commands, by run */
    struct keyring logins;  /* {VARIABLE: TOKEN} for the broker, by run */

    int64_t last_run;           /* ops_run.c: the highest run number that was given out */
    struct layer_report layers; /* of this host, once probed */
    bool has_layers;

    struct clash_board *clashes;         /* clash.h */
    struct target_watch *target_watches; /* target_watch.h */
    struct renewal *renewals;            /* renewal.h */
    struct shared_source *sources;       /* shared_source.h */

    struct notice *notices; /* notify.h: running notify-send */
    int64_t last_notice_ms;
    struct notify_queue *notify_queue; /* notify_command.h; NULL: nothing was told yet */
    struct news_board *news;           /* notify_news.h; NULL: there was none yet */
    uv_timer_t news_timer;
};

/* One line with the time on standard error, which is the server's log when it is detached. */
void server_log(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Begin to end: no new clients, streams closed; the loop ends when the workers have. Idempotent. */
void server_stop(struct server *s);

#endif
