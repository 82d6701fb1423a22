#include "sandbox/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { STEP_ALIGN = 8 };

/* How many texts a step of each kind has; the reader relies on it. */
static const uint8_t text_count[PLAN_KIND_COUNT] = {
    [PLAN_FOLDER] = 1,       [PLAN_FILE] = 2,  [PLAN_LINK] = 2,      [PLAN_TREE] = 2,
    [PLAN_TMPFS] = 2,        [PLAN_PROC] = 1,  [PLAN_DEVPTS] = 1,    [PLAN_MQUEUE] = 1,
    [PLAN_OVERLAY] = 6,      [PLAN_MASK] = 1,  [PLAN_FREEZE] = 1,    [PLAN_BIND] = 2,
    [PLAN_COVER] = 2,        [PLAN_ALLOW] = 1, [PLAN_CGROUP] = 2,    [PLAN_CGROUP_SET] = 2,
    [PLAN_LIMITS] = 2,       [PLAN_PORT] = 1,  [PLAN_HOSTNAME] = 1,  [PLAN_CWD] = 1,
    [PLAN_ARG] = 1,          [PLAN_ENV] = 1,   [PLAN_SETUP_ARG] = 1, [PLAN_SETUP_ENV] = 1,
    [PLAN_TEARDOWN_ARG] = 1, [PLAN_MOVE] = 6};

/* The head may lie at any address of a growing buffer, so it is patched by copying. */
static void set_size(struct buf *plan)
{
    uint32_t size = (uint32_t)plan->len;
    memcpy(plan->ptr + offsetof(struct plan_head, size_bytes), &size, sizeof(size));
}

void plan_begin(struct buf *plan, const struct plan_head *head)
{
    struct plan_head h = *head;
    memset(h.version, 0, sizeof(h.version));
    memcpy(h.version, HEADGATE_VERSION, strnlen(HEADGATE_VERSION, sizeof(h.version) - 1));
    buf_clear(plan);
    buf_add(plan, &h, sizeof(h));
    set_size(plan);
}

void plan_add(struct buf *plan, enum plan_kind kind, unsigned flags, ...)
{
    static const char zeros[STEP_ALIGN];
    struct plan_step step = {.kind = kind, .flags = flags};
    size_t start = plan->len;
    buf_add(plan, &step, sizeof(step));
    va_list texts;
    va_start(texts, flags);
    for (const char *t; (t = va_arg(texts, const char *)) != NULL; step.n_texts++)
        buf_add(plan, t, strlen(t) + 1);
    va_end(texts);
    size_t over = (plan->len - start) % STEP_ALIGN;
    if (over)
        buf_add(plan, zeros, STEP_ALIGN - over);
    step.size_bytes = (uint32_t)(plan->len - start);
    memcpy(plan->ptr + start, &step, sizeof(step));
    set_size(plan);
}

static bool is_step_sound(const struct plan_step *step, size_t room)
{
    if (room < sizeof(*step) || step->size_bytes < sizeof(*step) || step->size_bytes > room ||
        step->size_bytes % STEP_ALIGN != 0 || step->kind >= PLAN_KIND_COUNT ||
        step->n_texts != text_count[step->kind])
        return false;
    const char *p = (const char *)(step + 1);
    const char *end = (const char *)step + step->size_bytes;
    for (unsigned i = 0; i < step->n_texts; i++) {
        const char *zero = memchr(p, '\0', (size_t)(end - p));
        if (!zero)
            return false;
        p = zero + 1;
    }
    return true;
}

static bool check(const struct plan *plan, struct err *err)
{
    const struct plan_head *head = plan->head;
    if (strncmp(head->version, HEADGATE_VERSION, sizeof(head->version)) != 0)
        return err_set(err, ERR_CONFLICT,
                       "the launcher is of version %s, the box was planned by version %.*s; end "
                       "what runs with the old one, or install it again",
                       HEADGATE_VERSION, (int)sizeof(head->version), head->version);
    if (head->size_bytes != plan->size_bytes)
        return err_set(err, ERR_FORMAT, "the plan of the box is truncated");
    size_t offset = sizeof(*head);
    while (offset < plan->size_bytes) {
        const struct plan_step *step =
            (const struct plan_step *)(const void *)((const char *)head + offset);
        if (!is_step_sound(step, plan->size_bytes - offset))
            return err_set(err, ERR_FORMAT, "the plan of the box is malformed at byte %zu", offset);
        offset += step->size_bytes;
    }
    return true;
}

bool plan_map(struct plan *ret, int fd, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot read the plan of the box");
    if (st.st_size < (off_t)sizeof(struct plan_head) || st.st_size > PLAN_MAX_BYTES)
        return err_set(err, ERR_FORMAT, "the plan of the box has %lld bytes",
                       (long long)st.st_size);
    struct plan plan = {.size_bytes = (size_t)st.st_size};
    void *map = mmap(NULL, plan.size_bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED)
        return err_sys(err, errno, "cannot map the plan of the box");
    plan.head = map;
    if (!check(&plan, err)) {
        plan_unmap(&plan);
        return false;
    }
    *ret = plan;
    return true;
}

void plan_unmap(struct plan *plan)
{
    if (plan->head)
        munmap((void *)(uintptr_t)plan->head, plan->size_bytes);
    plan->head = NULL;
}

bool plan_forget(const struct plan *plan, enum plan_kind kind, struct err *err)
{
    void *bytes = (void *)(uintptr_t)plan->head;
    const struct plan_step *step = NULL;
    if (mprotect(bytes, plan->size_bytes, PROT_READ | PROT_WRITE) != 0)
        return err_sys(err, errno, "cannot forget a part of the plan");
    while ((step = plan_next(plan, step)))
        if (step->kind == (uint32_t)kind)
            explicit_bzero((void *)(uintptr_t)(step + 1), step->size_bytes - sizeof(*step));
    if (mprotect(bytes, plan->size_bytes, PROT_READ) != 0)
        return err_sys(err, errno, "cannot protect the plan");
    return true;
}

const struct plan_step *plan_next(const struct plan *plan, const struct plan_step *prev)
{
    const char *base = (const char *)plan->head;
    const char *at = prev ? (const char *)prev + prev->size_bytes : base + sizeof(*plan->head);
    return at < base + plan->size_bytes ? (const struct plan_step *)(const void *)at : NULL;
}

const char *plan_text(const struct plan_step *step, unsigned i)
{
    const char *p = (const char *)(step + 1);
    while (i-- > 0)
        p += strlen(p) + 1;
    return p;
}

const struct plan_step *plan_find(const struct plan *plan, enum plan_kind kind)
{
    const struct plan_step *step = NULL;
    while ((step = plan_next(plan, step)) && step->kind != kind)
        continue;
    return step;
}
