#include "runner/model/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"

struct tls_context {
    SSL_CTX *ssl;
};

struct tls {
    SSL *ssl;
    int fd;
    short events;
};

static bool fail(struct err *err, const char *what)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    err_set(err, ERR_FAILED, "%s: %s", what, why ? why : "unknown error of OpenSSL");
    ERR_clear_error();
    return false;
}

struct tls_context *tls_context_new(const struct upstream *u, struct err *err)
{
    SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());
    if (!ssl)
        return fail(err, "cannot set up TLS"), NULL;
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    bool ok = u->ca_file ? SSL_CTX_load_verify_locations(ssl, u->ca_file, NULL) == 1
                         : SSL_CTX_set_default_verify_paths(ssl) == 1;
    if (!ok) {
        SSL_CTX_free(ssl);
        return fail(err, u->ca_file ? u->ca_file : "the system's certificates"), NULL;
    }
    struct tls_context *context = xcalloc(1, sizeof(*context));
    context->ssl = ssl;
    return context;
}

void tls_context_free(struct tls_context *context)
{
    if (context)
        SSL_CTX_free(context->ssl);
    free(context);
}

static int left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_mono_ms();
    return left > 0 ? (int)left : 0;
}

static bool await(int fd, short events, int64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;
    do
        n = poll(&p, 1, left_ms(deadline_ms));
    while (n < 0 && errno == EINTR);
    return n > 0;
}

static int connect_one(const struct addrinfo *a, int64_t deadline_ms)
{
    int why = 0, on = 1;
    socklen_t size = sizeof(why);
    AUTO_FD int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 &&
        (errno != EINPROGRESS || !await(fd, POLLOUT, deadline_ms) ||
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0 || why != 0)) {
        errno = why ? why : ETIMEDOUT;
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return steal_fd(&fd);
}

static int connect_to(const struct upstream *u, int64_t deadline_ms, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *all = NULL;
    char port[8];
    int fd = -1;
    snprintf(port, sizeof(port), "%u", u->port);
    int why = getaddrinfo(u->host, port, &hints, &all);
    if (why != 0)
        return err_set(err, ERR_FAILED, "cannot find %s: %s", u->host, gai_strerror(why)), -1;
    for (const struct addrinfo *a = all; fd < 0 && a; a = a->ai_next)
        fd = connect_one(a, deadline_ms);
    if (fd < 0)
        err_sys(err, errno, "cannot connect to %s:%u", u->host, u->port);
    freeaddrinfo(all);
    return fd;
}

/* What a call of OpenSSL waits for; false: for nothing, it is broken. */
static bool is_waiting(struct tls *t, int result)
{
    int why = SSL_get_error(t->ssl, result);
    t->events = why == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

static bool shake_hands(struct tls *t, const char *host, int64_t deadline_ms, struct err *err)
{
    for (;;) {
        int result = SSL_connect(t->ssl);
        if (result == 1)
            return true;
        if (!is_waiting(t, result)) {
            long verdict = SSL_get_verify_result(t->ssl);
            return verdict == X509_V_OK
                       ? fail(err, "TLS failed")
                       : err_set(err, ERR_REFUSED, "%s could not prove that it is %s: %s",
                                 "the server", host, X509_verify_cert_error_string(verdict));
        }
        if (!await(t->fd, t->events, deadline_ms))
            return err_set(err, ERR_FAILED, "%s does not answer", host);
    }
}

/* An address proves itself as one, a name as a name. */
static bool set_name(SSL *ssl, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct tls *tls_open(struct tls_context *context, const struct upstream *u, int limit_ms,
                     struct err *err)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    struct tls *t = xcalloc(1, sizeof(*t));
    t->events = POLLIN;
    t->fd = connect_to(u, deadline_ms, err);
    t->ssl = t->fd >= 0 ? SSL_new(context->ssl) : NULL;
    bool ok = t->ssl && SSL_set_fd(t->ssl, t->fd) == 1 && set_name(t->ssl, u->host);
    if (t->fd >= 0 && !ok)
        fail(err, "cannot set up TLS");
    if (ok && shake_hands(t, u->host, deadline_ms, err))
        return t;
    tls_close(t);
    return NULL;
}

void tls_close(struct tls *t)
{
    if (!t)
        return;
    if (t->ssl)
        SSL_free(t->ssl);
    if (t->fd >= 0)
        close(t->fd);
    ERR_clear_error();
    free(t);
}

int tls_fd(const struct tls *t)
{
    return t->fd;
}

static ssize_t outcome(struct tls *t, int result)
{
    if (result > 0)
        return result;
    if (is_waiting(t, result)) {
        errno = EAGAIN;
        return -1;
    }
    bool is_end = SSL_get_shutdown(t->ssl) & SSL_RECEIVED_SHUTDOWN;
    ERR_clear_error();
    errno = EIO;
    return is_end ? 0 : -1;
}

ssize_t tls_read(struct tls *t, void *bytes, size_t size)
{
    return outcome(t, SSL_read(t->ssl, bytes, size > INT_MAX ? INT_MAX : (int)size));
}

ssize_t tls_write(struct tls *t, const void *bytes, size_t len)
{
    return outcome(t, SSL_write(t->ssl, bytes, len > INT_MAX ? INT_MAX : (int)len));
}

short tls_events(const struct tls *t)
{
    return t->events;
}

bool tls_has_pending(const struct tls *t)
{
    return SSL_has_pending(t->ssl) == 1;
}
