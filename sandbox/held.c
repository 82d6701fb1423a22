#include "sandbox/held.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/layer.h"
#include "sandbox/plan.h"
#include "sandbox/wire.h"

enum {
    MOUNTS_BYTES = 8 << 20,
    CONTENT_BYTES = 64 << 10,
    EVENTS_BYTES = 64 << 10,
    HOLDER_FD = 3,
    HOLDER_TIMEOUT_MS = 10000,
    TRIES = 500,
    NAP_NS = 200000
};

#define OWN_ROOT "/run/headgate/"

/* What lies below the other, without its slash; NULL: it does not. */
static const char *rest_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* The last step before `end` that shows something at or above the path: what the mount lies on. */
static const struct plan_step *step_below(const struct plan *plan, const struct plan_step *end,
                                          const char *path, const char **ret_rest)
{
    const struct plan_step *found = NULL, *step = NULL;
    while ((step = plan_next(plan, step)) && step != end) {
        bool shows =
            step->kind == PLAN_TREE || step->kind == PLAN_OVERLAY || step->kind == PLAN_TMPFS;
        const char *place = shows ? plan_text(step, step->kind == PLAN_TREE      ? 1
                                                    : step->kind == PLAN_OVERLAY ? 4
                                                                                 : 0)
                                  : "";
        const char *rest = shows ? rest_below(path, place) : NULL;
        if (rest) {
            found = step;
            *ret_rest = rest;
        }
    }
    return found && found->kind == PLAN_TREE ? found : NULL;
}

/* The same host file in the box's own root. */
static char *find_source(const struct plan *plan, const struct plan_step *shown)
{
    const struct plan_step *step = NULL;
    while ((step = plan_next(plan, step)))
        if (step->kind == PLAN_TREE && step != shown &&
            strcmp(plan_text(step, 0), plan_text(shown, 0)) == 0 &&
            strncmp(plan_text(step, 1), OWN_ROOT, strlen(OWN_ROOT)) == 0)
            return xstrdup(plan_text(step, 1));
    return NULL;
}

static void add_point(struct held *h, const struct plan *plan, const struct plan_step *step,
                      enum held_kind kind, const char *path)
{
    const char *rest = NULL;
    const struct plan_step *below = step_below(plan, step, path, &rest);
    if (!below)
        return;
    /* In a folder that is read-only in the box only what is covered matters. */
    if (kind != HELD_COVERED && !(below->flags & PLAN_WRITE))
        return;
    /* A file that is shown read-only at its own place is one that stays as it is. */
    AUTO_FREE char *own = fs_join(plan_text(below, 0), rest);
    if (kind == HELD_SHOWN && strcmp(plan_text(step, 0), own) == 0)
        kind = HELD_FROZEN;
    if (step->kind == PLAN_TREE && step->flags & PLAN_WRITE)
        return;
    h->v = xreallocarray(h->v, h->n + 1, sizeof(*h->v));
    h->v[h->n++] = (struct held_point){
        .kind = kind,
        .path = xstrdup(path),
        .top = xstrdup(plan_text(below, 0)),
        .below = xstrdup(rest),
        .source = kind == HELD_SHOWN ? find_source(plan, step) : NULL,
        .content = BUF_INIT,
    };
}

static void add_covered(struct held *h, const struct plan *plan, const struct plan_step *step)
{
    AUTO_FREE char *path = fs_join(plan_text(step, 0), plan_text(step, 1));
    add_point(h, plan, step, HELD_COVERED, path);
}

void held_plan(struct held *h, const struct buf *bytes, const char *launcher)
{
    const struct plan plan = {.head = (const struct plan_head *)(const void *)bytes->ptr,
                              .size_bytes = bytes->len};
    const struct plan_step *step = NULL;
    h->uid = plan.head->uid;
    h->gid = plan.head->gid;
    h->launcher = xstrdup(launcher);
    if (plan.head->without & 1U << LAYER_MOUNT)
        return;
    while ((step = plan_next(&plan, step)))
        if (step->kind == PLAN_FREEZE)
            add_point(h, &plan, step, HELD_FROZEN, plan_text(step, 0));
        else if (step->kind == PLAN_MASK)
            add_point(h, &plan, step, HELD_COVERED, plan_text(step, 0));
        else if (step->kind == PLAN_COVER)
            add_covered(h, &plan, step);
        else if (step->kind == PLAN_TREE)
            add_point(h, &plan, step, HELD_SHOWN, plan_text(step, 1));
}

static void free_point(struct held_point *p)
{
    free(p->path);
    free(p->top);
    free(p->below);
    free(p->source);
    buf_release(&p->content);
}

void held_release(struct held *h)
{
    for (size_t i = 0; i < h->n; i++)
        free_point(&h->v[i]);
    free(h->v);
    free(h->launcher);
    auto_fd_(&h->mounts_fd);
    auto_fd_(&h->entries_fd);
    auto_fd_(&h->holder_fd);
    for (size_t i = 0; i < h->n_folders; i++)
        auto_fd_(&h->folders[i]);
    free(h->folders);
    while (h->holder_pid > 0 && waitpid(h->holder_pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    *h = (struct held)HELD_INIT;
}

/* The fifth field, in which space, tab, newline and backslash are octal. */
static bool is_at(const char *field, size_t len, const char *path)
{
    for (size_t i = 0; i < len; i++) {
        char c = field[i];
        if (c == '\\' && len - i > 3) {
            c = (char)((field[i + 1] - '0') << 6 | (field[i + 2] - '0') << 3 |
                       (field[i + 3] - '0'));
            i += 3;
        }
        if (*path++ != c)
            return false;
    }
    return *path == '\0';
}

bool held_is_mounted(const char *mountinfo, const char *path)
{
    for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *field = line;
        for (int i = 0; i < 4; i++) {
            field += strcspn(field, " \n");
            field += *field == ' ';
        }
        if (is_at(field, strcspn(field, " \n"), path))
            return true;
    }
    return false;
}

static bool read_mounts(struct buf *ret, const struct held *h, struct err *err)
{
    return lseek(h->mounts_fd, 0, SEEK_SET) == 0
               ? fs_read_fd(ret, h->mounts_fd, MOUNTS_BYTES, err)
               : err_sys(err, errno, "cannot read the mounts of the box");
}

/* True when the kernel takes it; then the folder stays open. */
static bool notify(struct held *h, int fd)
{
    AUTO_FD int folder = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (folder < 0 ||
        fcntl(folder, F_NOTIFY, DN_CREATE | DN_DELETE | DN_RENAME | DN_MULTISHOT) != 0)
        return false;
    h->folders = xreallocarray(h->folders, h->n_folders + 1, sizeof(*h->folders));
    h->folders[h->n_folders++] = steal_fd(&folder);
    return true;
}

static void watch_folder(struct held *h, const struct held_point *p, bool is_signalled)
{
    char path[64];
    struct err ignored = ERR_INIT;
    AUTO_FREE char *folder = fs_dirname(p->below);
    AUTO_FD int top = fs_open_dir(AT_FDCWD, p->top, &ignored);
    bool is_top = strcmp(folder, ".") == 0 || !*folder || !strchr(p->below, '/');
    AUTO_FD int fd =
        top < 0 ? -1
                : fs_open_beneath(top, is_top ? "." : folder, O_RDONLY | O_DIRECTORY, 0, &ignored);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd >= 0 && is_signalled)
        notify(h, fd);
    else if (fd >= 0)
        inotify_add_watch(h->entries_fd, path,
                          IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ONLYDIR);
}

static int open_entry(const struct held_point *p, int flags, struct err *err)
{
    AUTO_FD int top = fs_open_dir(AT_FDCWD, p->top, err);
    return top < 0 ? -1 : fs_open_beneath(top, p->below, flags, 0, err);
}

/* Not what a link leads to. */
static bool is_there(const struct held_point *p)
{
    struct err ignored = ERR_INIT;
    AUTO_FD int fd = open_entry(p, O_PATH, &ignored);
    return fd >= 0;
}

/* What was not there when the box started is not held: it is passed over. */
static bool keep_present(struct held *h, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (!read_mounts(&text, h, err))
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++)
        if (held_is_mounted(text.ptr, h->v[i].path) || is_there(&h->v[i]))
            h->v[kept++] = h->v[i];
        else
            free_point(&h->v[i]);
    h->n = kept;
    return true;
}

void held_poll(const struct held *h, struct pollfd fds[2])
{
    fds[0] = (struct pollfd){.fd = h->n ? h->mounts_fd : -1, .events = POLLPRI};
    fds[1] = (struct pollfd){.fd = h->n ? h->entries_fd : -1, .events = POLLIN};
}

/* The launcher joins the box for it, when it is asked to. */
static bool start_holder(struct held *h, struct err *err)
{
    char pid[16], uid[16], gid[16], name[] = "headgate-box", hold[] = "--hold";
    posix_spawn_file_actions_t actions;
    int ends[2];
    snprintf(pid, sizeof(pid), "%d", (int)h->init_pid);
    snprintf(uid, sizeof(uid), "%u", h->uid);
    snprintf(gid, sizeof(gid), "%u", h->gid);
    char *argv[] = {name, hold, pid, uid, gid, NULL};
    char *env[] = {NULL};
    if (h->holder_fd >= 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot make a socket pair");
    h->holder_fd = ends[0];
    AUTO_FD int theirs = ends[1];
    posix_spawn_file_actions_init(&actions);
    int why = posix_spawn_file_actions_adddup2(&actions, theirs, HOLDER_FD);
    if (!why)
        why = posix_spawn(&h->holder_pid, h->launcher, &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    return why == 0 || err_sys(err, why, "cannot start %s", h->launcher);
}

static bool ask_holder(const struct held *h, int plan_fd, int *ret_why, struct err *err)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct wire_cmd cmd = {.op = WIRE_PLAN};
    struct iovec part = {&cmd, sizeof(cmd)};
    struct msghdr head = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *given = CMSG_FIRSTHDR(&head);
    struct pollfd p = {.fd = h->holder_fd, .events = POLLIN};
    int32_t why = EIO;
    given->cmsg_level = SOL_SOCKET;
    given->cmsg_type = SCM_RIGHTS;
    given->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(given), &plan_fd, sizeof(plan_fd));
    if (sendmsg(h->holder_fd, &head, MSG_NOSIGNAL) < 0)
        return err_sys(err, errno, "cannot ask for the mounts of the box");
    if (poll(&p, 1, HOLDER_TIMEOUT_MS) != 1 ||
        recv(h->holder_fd, &why, sizeof(why), 0) != sizeof(why))
        return err_set(err, ERR_FAILED, "nobody makes the mounts of the box");
    *ret_why = why;
    return true;
}

static bool mount_anew(struct held *h, const struct buf *steps, struct err *err)
{
    int why = 0;
    AUTO_FD int fd = memfd_create("steps", MFD_CLOEXEC);
    if (fd < 0 || !fs_write_fd(fd, steps->ptr, steps->len, err))
        return err_sys(err, errno, "cannot write what is to be mounted");
    return start_holder(h, err) && ask_holder(h, fd, &why, err) &&
           (why == 0 || err_sys(err, why, "the mounts of the box cannot be made again"));
}

/* The kernel may have been built without. */
static bool can_notify(void)
{
    AUTO_FD int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fcntl(fd, F_NOTIFY, DN_CREATE) == 0;
}

/* A standard signal: many changes are one. */
static int open_signals(void)
{
    sigset_t io;
    sigemptyset(&io);
    sigaddset(&io, SIGIO);
    return sigprocmask(SIG_BLOCK, &io, NULL) == 0 ? signalfd(-1, &io, SFD_CLOEXEC | SFD_NONBLOCK)
                                                  : -1;
}

bool held_begin(struct held *h, pid_t init_pid, bool is_ready, struct err *err)
{
    char path[64];
    struct err ignored = ERR_INIT;
    h->init_pid = init_pid;
    if (h->n == 0)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)init_pid);
    h->mounts_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (h->mounts_fd < 0 && (errno == EINVAL || errno == ENOENT || errno == ESRCH))
        return true; /* it is over already */
    if (h->mounts_fd < 0)
        return err_sys(err, errno, "cannot watch the mounts of the box");
    if (!keep_present(h, err) || (is_ready && h->n > 0 && !start_holder(h, err)))
        return false;
    if (h->n == 0)
        return true;
    h->entries_fd = !is_ready && can_notify() ? open_signals() : -1;
    bool is_signalled = h->entries_fd >= 0;
    if (!is_signalled)
        h->entries_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (h->entries_fd < 0)
        return err_sys(err, errno,
                       "cannot watch the files that the box's mounts lie on; raise "
                       "fs.inotify.max_user_instances");
    for (size_t i = 0; i < h->n; i++) {
        struct held_point *p = &h->v[i];
        watch_folder(h, p, is_signalled);
        AUTO_FD int fd =
            p->kind == HELD_SHOWN ? open_entry(p, O_RDONLY | O_NONBLOCK, &ignored) : -1;
        if (fd >= 0)
            (void)!fs_read_fd(&p->content, fd, CONTENT_BYTES, &ignored);
    }
    return true;
}

static void add_step(struct buf *steps, const struct held_point *p)
{
    switch (p->kind) {
    case HELD_FROZEN:
        plan_add(steps, PLAN_FREEZE, 0, p->path, NULL);
        break;
    case HELD_COVERED:
        plan_add(steps, PLAN_MASK, 0, p->path, NULL);
        break;
    case HELD_SHOWN:
        if (p->content.len > 0)
            plan_add(steps, PLAN_FILE, 0, p->path, p->content.ptr, NULL);
        plan_add(steps, PLAN_BIND, 0, p->source ? p->source : "", p->path, NULL);
        break;
    }
}

static void tell(struct held_point *p, const struct held_ops *ops, void *arg, const char *rest)
{
    static const char *const were[] = {"read-only", "covered", "shown read-only"};
    if (++p->n_told > HELD_TOLD)
        return;
    AUTO_FREE char *sentence =
        xasprintf("%s, which is %s in the box, was replaced or removed on the host, which took its "
                  "mount away; %s%s",
                  p->path, were[p->kind], rest,
                  p->n_told == HELD_TOLD ? "; more of the same is not told" : "");
    ops->told(arg, sentence);
}

/* Those that are not mounted and have something to be mounted on; the others are told once. */
static size_t list_missing(struct held *h, const char *mounts, struct held_point **ret,
                           const struct held_ops *ops, void *arg)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++) {
        struct held_point *p = &h->v[i];
        if (held_is_mounted(mounts, p->path)) {
            p->is_gone = false;
        } else if (p->kind == HELD_SHOWN || is_there(p)) {
            ret[n++] = p;
        } else if (!p->is_gone) {
            p->is_gone = true;
            tell(p, ops, arg, "nothing is there now; it is held again when there is");
        }
    }
    return n;
}

static void drain_events(const struct held *h)
{
    static char events[EVENTS_BYTES];
    while (h->entries_fd >= 0 && read(h->entries_fd, events, sizeof(events)) > 0)
        continue;
}

/* One try for all that are missing. */
static bool restore(struct held *h, struct held_point **missing, size_t n, struct err *err)
{
    AUTO_BUF struct buf steps = BUF_INIT;
    const struct plan_head head = {.uid = h->uid, .gid = h->gid};
    plan_begin(&steps, &head);
    for (size_t i = 0; i < n; i++)
        add_step(&steps, missing[i]);
    return mount_anew(h, &steps, err);
}

/* The host may replace it again meanwhile: then it is looked at again. */
static bool restore_all(struct held *h, const struct held_ops *ops, void *arg, struct err *err)
{
    AUTO_FREE struct held_point **missing = xcalloc(h->n, sizeof(struct held_point *));
    AUTO_FREE struct held_point **first = xcalloc(h->n, sizeof(struct held_point *));
    const struct timespec nap = {.tv_nsec = NAP_NS};
    size_t n_first = 0;
    for (int i = 0; i < TRIES; i++) {
        AUTO_BUF struct buf mounts = BUF_INIT;
        struct err why = ERR_INIT;
        if (!read_mounts(&mounts, h, err))
            return false;
        size_t n = list_missing(h, mounts.ptr, missing, ops, arg);
        if (i == 0) {
            memcpy(first, missing, n * sizeof(*missing));
            n_first = n;
        }
        if (n == 0) {
            for (size_t k = 0; k < n_first; k++)
                if (!first[k]->is_gone)
                    tell(first[k], ops, arg,
                         first[k]->kind == HELD_SHOWN
                             ? "the host's own was written anew, and it was mounted again"
                         : first[k]->kind == HELD_FROZEN
                             ? "it was mounted again; look at what is in it, since the box could "
                               "write it for a moment"
                             : "it was mounted again; the box could read it for a moment");
            return true;
        }
        if (!restore(h, missing, n, &why)) {
            *err = why;
            nanosleep(&nap, NULL);
        }
    }
    return err_prefix(err, "%s cannot be mounted again in the box", missing[0]->path);
}

bool held_look(struct held *h, const struct held_ops *ops, void *arg, bool *ret_stirred,
               struct err *err)
{
    AUTO_BUF struct buf mounts = BUF_INIT;
    AUTO_FREE struct held_point **missing = xcalloc(h->n + 1, sizeof(struct held_point *));
    drain_events(h);
    if (h->n == 0 || !read_mounts(&mounts, h, err))
        return h->n == 0;
    /* A box that is over has no mounts any more. */
    if (mounts.len == 0 || list_missing(h, mounts.ptr, missing, ops, arg) == 0)
        return true;
    if (ret_stirred)
        *ret_stirred = true;
    return restore_all(h, ops, arg, err);
}
