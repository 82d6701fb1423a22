#include "runner/keep/net_count.h"

#include <stdlib.h>
#include <string.h>
#include "runner/base/limits.h"
#include "runner/base/mem.h"

static void net_count_free(struct net_count *count)
{
    free(count->reason);
    free(count->refused_why);
    json_decref(count->who);
    free(count);
}

bool net_count_is_dirty(const struct net_count *count)
{
    return count->connections || count->denied || count->refused;
}

/* Forget the one that was not used for longest and holds nothing that matters. */
static bool net_count_forget(struct net_count **list, size_t *n)
{
    struct net_count **oldest = NULL;
    for (struct net_count **at = list; *at; at = &(*at)->next)
        if ((*at)->decision == NET_UNDECIDED && !net_count_is_dirty(*at))
            oldest = at;
    if (!oldest)
        return false;
    struct net_count *count = *oldest;
    *oldest = count->next;
    (*n)--;
    net_count_free(count);
    return true;
}

bool net_budget_take(struct net_budget *b, int64_t now_ms)
{
    int64_t more = (now_ms - b->at_ms) * LIMIT_NET_HOSTS_PER_SECOND / 1000;
    if (b->at_ms == 0) {
        *b = (struct net_budget){.at_ms = now_ms, .left = LIMIT_NET_HOSTS};
    } else if (more > 0) {
        b->at_ms = now_ms;
        b->left = b->left + more < LIMIT_NET_HOSTS ? b->left + more : LIMIT_NET_HOSTS;
    }
    if (b->left == 0)
        return false;
    b->left--;
    return true;
}

struct net_count *net_count_find(struct net_count *list, const struct net_target *target)
{
    while (list && (list->target.port != target->port ||
                    strcmp(list->target.host.text, target->host.text) != 0))
        list = list->next;
    return list;
}

struct net_count *net_count_of(struct net_count **list, size_t *n, const struct net_target *target)
{
    for (struct net_count **at = list; *at; at = &(*at)->next) {
        struct net_count *count = *at;
        if (count->target.port != target->port ||
            strcmp(count->target.host.text, target->host.text) != 0)
            continue;
        *at = count->next;
        count->next = *list;
        *list = count;
        return count;
    }
    if (*n >= LIMIT_NET_HOSTS && !net_count_forget(list, n))
        return NULL;
    struct net_count *count = xcalloc(1, sizeof *count);
    count->target = *target;
    count->next = *list;
    *list = count;
    (*n)++;
    return count;
}

json_t *net_count_json(const struct net_count *count)
{
    json_t *body = json_object();
    jx_set_str(body, "host", count->target.host.text);
    jx_set_int(body, "port", count->target.port);
    jx_set_str(body, "via", count->target.via);
    jx_set_int(body, "connections", (int64_t)count->connections);
    jx_set_int(body, "up", (int64_t)count->up);
    jx_set_int(body, "down", (int64_t)count->down);
    jx_set_int(body, "denied", (int64_t)count->denied);
    jx_set_int(body, "refused", (int64_t)count->refused);
    if (count->refused_why)
        jx_set_str(body, "refused_why", count->refused_why);
    if (count->who)
        json_object_update(body, count->who);
    return body;
}

void net_count_add_asker(struct buf *out, const struct net_count *count)
{
    const json_t *first = json_array_get(jx_arr(count->who, "parents"), 0);
    if (json_is_string(first))
        buf_addf(out, " (asked for by %s)", json_string_value(first));
}

void net_count_clear(struct net_count *count)
{
    count->connections = count->denied = count->refused = count->up = count->down = 0;
    free(count->refused_why);
    count->refused_why = NULL;
    json_decref(count->who);
    count->who = NULL;
}

void net_count_free_all(struct net_count *list)
{
    while (list) {
        struct net_count *next = list->next;
        net_count_free(list);
        list = next;
    }
}
