#include "runner/keep/exec_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include "runner/base/mem.h"

enum { WINDOW_PAGES = 4, PAGE_BYTES = 4096, WINDOW_BYTES = WINDOW_PAGES * PAGE_BYTES };

/* The part of another process's memory that was read last: arguments mostly lie side by side. */
struct window {
    pid_t tid;
    uint64_t start;
    size_t len;
    char bytes[WINDOW_BYTES];
};

void exec_args_release(struct exec_args *a)
{
    free(a->path);
    buf_release(&a->argv);
    *a = (struct exec_args)EXEC_ARGS_INIT;
}

/* What the window holds from this address on; at least one byte, or an errno. Each page is a part
 * of its own, so that one that is not there does not take those before it along. */
static int window_move(struct window *w, uint64_t address, const char **ret_at, size_t *ret_len)
{
    if (address < w->start || address >= w->start + w->len) {
        struct iovec local = {.iov_base = w->bytes, .iov_len = sizeof w->bytes};
        struct iovec pages[WINDOW_PAGES];
        w->start = address & ~(uint64_t)(PAGE_BYTES - 1);
        w->len = 0;
        for (size_t i = 0; i < WINDOW_PAGES; i++)
            pages[i] = (struct iovec){.iov_base = (void *)(uintptr_t)(w->start + i * PAGE_BYTES),
                                      .iov_len = PAGE_BYTES};
        ssize_t got = process_vm_readv(w->tid, &local, 1, pages, WINDOW_PAGES, 0);
        if (got < 0)
            return errno == EFAULT ? EFAULT : EACCES;
        w->len = (size_t)got;
        if (address >= w->start + w->len)
            return EFAULT;
    }
    *ret_at = w->bytes + (address - w->start);
    *ret_len = w->len - (size_t)(address - w->start);
    return 0;
}

/* Append the string at this address with its NUL. */
static int read_string(struct buf *out, struct window *w, uint64_t address, size_t max_bytes)
{
    const char *at;
    size_t len;
    for (;;) {
        int why = window_move(w, address, &at, &len);
        if (why)
            return why;
        const char *end = memchr(at, '\0', len);
        size_t part = end ? (size_t)(end - at) + 1 : len;
        if (part > max_bytes)
            return E2BIG;
        buf_add(out, at, part);
        if (end)
            return 0;
        max_bytes -= part;
        address += part;
    }
}

static int read_pointer(uint64_t *ret, struct window *w, uint64_t address)
{
    char bytes[sizeof *ret];
    for (size_t have = 0; have < sizeof bytes;) {
        const char *at;
        size_t len;
        int why = window_move(w, address + have, &at, &len);
        if (why)
            return why;
        size_t part = len < sizeof bytes - have ? len : sizeof bytes - have;
        memcpy(bytes + have, at, part);
        have += part;
    }
    memcpy(ret, bytes, sizeof *ret);
    return 0;
}

static int read_vector(struct buf *out, struct window *pointers, struct window *strings,
                       uint64_t argv)
{
    for (; argv; argv += sizeof(uint64_t)) {
        uint64_t string;
        int why = read_pointer(&string, pointers, argv);
        if (!why && string == 0)
            break;
        if (!why)
            why = read_string(out, strings, string, EXEC_ARGS_BYTES - out->len);
        if (why)
            return why;
    }
    if (out->len == 0)
        buf_addch(out, '\0');
    return 0;
}

int exec_path_read(char ret[EXEC_PATH_BYTES], pid_t tid, uint64_t path)
{
    struct window strings = {.tid = tid};
    AUTO_BUF struct buf text = BUF_INIT;
    int why = read_string(&text, &strings, path, EXEC_PATH_BYTES);
    if (why)
        return why == E2BIG ? ENAMETOOLONG : why;
    memcpy(ret, text.ptr, text.len);
    return 0;
}

int exec_args_read(struct exec_args *ret, pid_t tid, uint64_t path, uint64_t argv)
{
    struct window pointers = {.tid = tid}, strings = {.tid = tid};
    AUTO_EXEC_ARGS struct exec_args args = EXEC_ARGS_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    int why = read_string(&text, &strings, path, EXEC_PATH_BYTES);
    if (why)
        return why == E2BIG ? ENAMETOOLONG : why;
    why = read_vector(&args.argv, &pointers, &strings, argv);
    if (why)
        return why;
    args.path = buf_steal(&text);
    *ret = args;
    args = (struct exec_args)EXEC_ARGS_INIT;
    return 0;
}
