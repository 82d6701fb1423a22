#include "runner/keep/service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

enum {
    SERVICE_CHUNK_BYTES = 32 * 1024,
};

/* One end of a relay, with what was read from it and waits to be written to the other. */
struct service_end {
    struct service_relay *relay;
    struct service_end *other;
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
    char *chunk;
    bool has_ended;
};

struct service_relay {
    struct services *services;
    struct service_relay *next, **link;
    struct service_end inside, outside;
    uv_connect_t connect;
    int n_handles;
    bool is_closing;
};

static void service_on_closed(uv_handle_t *handle)
{
    struct service_end *end = handle->data;
    struct service_relay *relay = end->relay;
    if (--relay->n_handles > 0)
        return;
    *relay->link = relay->next;
    if (relay->next)
        relay->next->link = relay->link;
    relay->services->n_relays--;
    free(relay->inside.chunk);
    free(relay->outside.chunk);
    free(relay);
}

static void service_close(struct service_relay *relay)
{
    if (relay->is_closing)
        return;
    relay->is_closing = true;
    uv_close((uv_handle_t *)&relay->inside.tcp, service_on_closed);
    uv_close((uv_handle_t *)&relay->outside.tcp, service_on_closed);
}

static uv_stream_t *service_stream(struct service_end *end)
{
    return (uv_stream_t *)&end->tcp;
}

static void service_read(struct service_end *end);

static void service_on_written(uv_write_t *write, int status)
{
    struct service_end *from = write->data;
    if (from->relay->is_closing)
        return;
    if (status != 0)
        service_close(from->relay);
    else
        service_read(from);
}

static void service_on_shutdown(uv_shutdown_t *req, int status)
{
    struct service_end *from = req->data;
    (void)status;
    if (from->has_ended && from->other->has_ended)
        service_close(from->relay);
}

/* One side has said all: the other is told, and may still answer. */
static void service_ended(struct service_end *from)
{
    from->has_ended = true;
    from->shutdown.data = from;
    if (uv_shutdown(&from->shutdown, service_stream(from->other), service_on_shutdown) != 0)
        service_close(from->relay);
}

static void service_on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct service_end *from = stream->data;
    (void)buf;
    if (nread == 0)
        return;
    uv_read_stop(stream);
    if (nread == UV_EOF) {
        service_ended(from);
        return;
    }
    uv_buf_t out = uv_buf_init(from->chunk, nread > 0 ? (unsigned)nread : 0);
    from->write.data = from;
    if (nread < 0 ||
        uv_write(&from->write, service_stream(from->other), &out, 1, service_on_written) != 0)
        service_close(from->relay);
}

static void service_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct service_end *end = handle->data;
    (void)suggested;
    if (!end->chunk)
        end->chunk = xmalloc(SERVICE_CHUNK_BYTES);
    *ret = uv_buf_init(end->chunk, SERVICE_CHUNK_BYTES);
}

static void service_read(struct service_end *end)
{
    if (uv_read_start(service_stream(end), service_on_alloc, service_on_read) != 0)
        service_close(end->relay);
}

static void service_on_connected(uv_connect_t *connect, int status)
{
    struct service_relay *relay = connect->data;
    if (relay->is_closing)
        return;
    if (status != 0) {
        service_close(relay);
        return;
    }
    service_read(&relay->inside);
    service_read(&relay->outside);
}

static void service_end_init(struct service_relay *relay, struct service_end *end,
                             struct service_end *other)
{
    end->relay = relay;
    end->other = other;
    uv_tcp_init(relay->services->loop, &end->tcp);
    end->tcp.data = end;
    relay->n_handles++;
}

static struct service_relay *service_relay_new(struct services *s)
{
    struct service_relay *relay = xcalloc(1, sizeof *relay);
    relay->services = s;
    relay->next = s->relays;
    relay->link = &s->relays;
    if (relay->next)
        relay->next->link = &relay->next;
    s->relays = relay;
    s->n_relays++;
    service_end_init(relay, &relay->inside, &relay->outside);
    service_end_init(relay, &relay->outside, &relay->inside);
    relay->connect.data = relay;
    return relay;
}

static bool service_take(struct service_end *end, int fd)
{
    if (uv_tcp_open(&end->tcp, fd) == 0)
        return true;
    close(fd);
    return false;
}

static void service_relay_open(struct services *s, int fd, uint16_t target)
{
    struct service_relay *relay = service_relay_new(s);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(target),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    if (!service_take(&relay->inside, fd) ||
        uv_tcp_connect(&relay->connect, &relay->outside.tcp, (const struct sockaddr *)&address,
                       service_on_connected) != 0)
        service_close(relay);
}

void services_relay(struct services *s, int inside, int outside)
{
    if (s->n_relays >= LIMIT_SERVICE_CONNECTIONS) {
        close(inside);
        close(outside);
        return;
    }
    struct service_relay *relay = service_relay_new(s);
    bool has_inside = service_take(&relay->inside, inside);
    bool has_outside = service_take(&relay->outside, outside);
    if (has_inside && has_outside)
        service_on_connected(&relay->connect, 0);
    else
        service_close(relay);
}

static void service_on_accept(void *arg, int fd)
{
    const struct service_port *port = arg;
    struct services *s = port->services;
    if (s->n_relays >= LIMIT_SERVICE_CONNECTIONS)
        close(fd);
    else
        service_relay_open(s, fd, port->target);
}

static const struct keep_service *service_find(const struct services *s, int port)
{
    for (size_t i = 0; i < s->config->n_services; i++) {
        if (s->config->services[i].port == port)
            return &s->config->services[i];
    }
    return NULL;
}

bool services_listen(struct services *s, int port, int fd, struct err *err)
{
    AUTO_FD int own = fd;
    const struct keep_service *service = service_find(s, port);
    if (!service)
        return err_set(err, ERR_NOT_FOUND, "the box listens on port %d, which is not configured",
                       port);
    if (s->n_ports == SERVICE_LISTENERS)
        return err_set(err, ERR_LIMIT, "the box listens on too many ports");
    if (!fs_set_nonblock(own, err))
        return false;
    struct service_port *place = &s->ports[s->n_ports];
    *place = (struct service_port){.services = s, .target = service->target};
    place->listener = listener_open(s->loop, steal_fd(&own), service_on_accept, place, err);
    if (!place->listener)
        return false;
    s->n_ports++;
    return true;
}

void services_init(struct services *s, uv_loop_t *loop, const struct keep_config *config)
{
    *s = (struct services){.loop = loop, .config = config};
}

void services_deafen(struct services *s)
{
    for (size_t i = 0; i < s->n_ports; i++)
        listener_close(s->ports[i].listener);
    s->n_ports = 0;
}

void services_close(struct services *s)
{
    services_deafen(s);
    for (struct service_relay *relay = s->relays; relay; relay = relay->next)
        service_close(relay);
}
