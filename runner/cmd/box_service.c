#include "runner/cmd/box_service.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/cmd/box_flow.h"

struct listener {
    int fd, port;
};

/* One connection: two flows between the box's socket and the host's. */
struct link {
    int inside, outside;
    struct box_flow up, down;
};

struct box_services {
    struct listener *listeners;
    size_t n_listeners;
    struct link **links;
    size_t n_links;
};

struct box_services *box_services_new(void)
{
    return xcalloc(1, sizeof(struct box_services));
}

static void link_free(struct link *l)
{
    close(l->inside);
    close(l->outside);
    free(l);
}

void box_services_free(struct box_services *s)
{
    for (size_t i = 0; i < s->n_links; i++)
        link_free(s->links[i]);
    for (size_t i = 0; i < s->n_listeners; i++)
        close(s->listeners[i].fd);
    free(s->links);
    free(s->listeners);
    free(s);
}

void box_services_add(struct box_services *s, int listener_fd, int port)
{
    s->listeners = xreallocarray(s->listeners, s->n_listeners + 1, sizeof(*s->listeners));
    s->listeners[s->n_listeners++] = (struct listener){listener_fd, port};
}

/* The address is fixed: nothing else of the host can be reached through the box's end. */
static int connect_host(int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    /* Whether it worked shows at the first read or write: a refusal closes the box's end too. */
    int ignored = connect(fd, (const struct sockaddr *)&address, sizeof(address));
    (void)ignored;
    return steal_fd(&fd);
}

static void accept_one(struct box_services *s, const struct listener *l)
{
    AUTO_FD int inside = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (inside < 0 || s->n_links >= LIMIT_SERVICE_CONNECTIONS)
        return;
    AUTO_FD int outside = connect_host(l->port);
    if (outside < 0)
        return;
    struct link *link = xcalloc(1, sizeof(*link));
    link->inside = steal_fd(&inside);
    link->outside = steal_fd(&outside);
    box_flow_init(&link->up, link->inside, link->outside);
    box_flow_init(&link->down, link->outside, link->inside);
    s->links = xreallocarray(s->links, s->n_links + 1, sizeof(struct link *));
    s->links[s->n_links++] = link;
}

size_t box_services_count(const struct box_services *s)
{
    return s->n_listeners + 2 * s->n_links;
}

size_t box_services_poll(const struct box_services *s, struct pollfd *fds)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_listeners; i++)
        fds[n++] = (struct pollfd){.fd = s->listeners[i].fd, .events = POLLIN};
    for (size_t i = 0; i < s->n_links; i++) {
        fds[n++] = box_flow_poll(&s->links[i]->up);
        fds[n++] = box_flow_poll(&s->links[i]->down);
    }
    return n;
}

static void drop_done(struct box_services *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_links; i++) {
        if (s->links[i]->up.is_done && s->links[i]->down.is_done)
            link_free(s->links[i]);
        else
            s->links[kept++] = s->links[i];
    }
    s->n_links = kept;
}

void box_services_step(struct box_services *s, const struct pollfd *fds)
{
    const struct pollfd *of_links = fds + s->n_listeners;
    for (size_t i = 0; i < s->n_links; i++) {
        box_flow_step(&s->links[i]->up, of_links[2 * i].revents);
        box_flow_step(&s->links[i]->down, of_links[2 * i + 1].revents);
    }
    drop_done(s);
    for (size_t i = 0; i < s->n_listeners; i++)
        if (fds[i].revents)
            accept_one(s, &s->listeners[i]);
}
