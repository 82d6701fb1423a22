#include "runner/keep/exec_trace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner/base/mem.h"
#include "runner/keep/procfs.h"

enum { EXEC_USUAL_BYTES = 4096 }; /* of arguments */

static void let_go(pid_t pid, int signal_number)
{
    ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)signal_number);
}

static struct exec_watch *find(struct exec_trace *t, pid_t tid)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->all[i].tid == tid)
            return &t->all[i];
    return NULL;
}

/* Take it out; its image goes to the caller. */
static void take_out(struct exec_trace *t, struct exec_watch *watch, struct exec_image *ret_image)
{
    *ret_image = watch->image;
    *watch = t->all[--t->n];
}

static void drop(struct exec_trace *t, struct exec_watch *watch)
{
    AUTO_EXEC_IMAGE struct exec_image image;
    take_out(t, watch, &image);
}

void exec_trace_release(struct exec_trace *t)
{
    while (t->n > 0)
        drop(t, &t->all[0]);
    free(t->all);
    *t = (struct exec_trace){0};
}

bool exec_trace_has_sibling(const struct exec_trace *t, pid_t tid)
{
    char path[64];
    for (size_t i = 0; i < t->n; i++) {
        if (t->all[i].tid == tid)
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%d", (int)t->all[i].tid, (int)tid);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

int exec_trace_seize(struct exec_trace *t, pid_t tid, struct exec_image *image)
{
    const uintptr_t options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    struct exec_watch *own = find(t, tid);
    if (own && !own->is_dying) {
        exec_image_release(&own->image);
        own->image = *image;
        *image = (struct exec_image)EXEC_IMAGE_INIT;
        return 0;
    }
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) != 0)
        return errno;
    t->all = xreallocarray(t->all, t->n + 1, sizeof *t->all);
    t->all[t->n++] = (struct exec_watch){.tid = tid, .image = *image};
    *image = (struct exec_image)EXEC_IMAGE_INIT;
    return 0;
}

void exec_trace_answered(struct exec_trace *t, pid_t tid, bool is_answered)
{
    struct exec_watch *watch = find(t, tid);
    if (watch)
        watch->is_stale = !is_answered;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
}

void exec_trace_let_begin(pid_t pid)
{
    let_go(pid, 0);
}

static bool is_executable_of(const struct exec_image *image, pid_t pid)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat(path, &st) == 0 && st.st_dev == image->dev && st.st_ino == image->ino;
}

static bool has_arguments_of(const struct exec_image *image, pid_t pid)
{
    char digest[DIGEST_HEX_SIZE], usual[EXEC_USUAL_BYTES];
    size_t size = image->args_bytes + 2; /* room for one more, which would be one too many */
    AUTO_FREE char *large = size > sizeof usual ? xmalloc(size) : NULL;
    char *text = large ? large : usual;
    if (procfs_read(text, size, pid, "cmdline") != (ssize_t)image->args_bytes)
        return false;
    digest_bytes(digest, text, image->args_bytes);
    return strcmp(digest, image->args_digest) == 0;
}

/* A new program stands before its first instruction. */
static enum exec_outcome judge_exec(struct exec_trace *t, pid_t pid, struct exec_image *ret_image)
{
    unsigned long former = 0;
    struct exec_watch *watch = NULL;
    if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &former) == 0)
        watch = find(t, (pid_t)former);
    /* All other threads are gone. The first one's end is not told when its number is taken over. */
    struct exec_watch *first = find(t, pid);
    if (first && first != watch) {
        pid_t tid = watch ? watch->tid : 0;
        drop(t, first);
        watch = tid ? find(t, tid) : NULL;
    }
    if (!watch) {
        kill(pid, SIGKILL);
        t->all = xreallocarray(t->all, t->n + 1, sizeof *t->all);
        t->all[t->n++] =
            (struct exec_watch){.tid = pid, .image = EXEC_IMAGE_INIT, .is_dying = true};
        return EXEC_NONE;
    }
    bool is_equal = watch->image.is_runnable && is_executable_of(&watch->image, pid) &&
                    has_arguments_of(&watch->image, pid) &&
                    exec_content_is_same(&watch->image.content);
    if (is_equal || watch->is_stale) {
        bool is_stale = watch->is_stale;
        take_out(t, watch, ret_image);
        if (!is_stale)
            return EXEC_BEGAN;
        let_go(pid, 0);
        return EXEC_GONE;
    }
    kill(pid, SIGKILL); /* the tracer has to reap it, else its parent waits for ever */
    watch->tid = pid;
    watch->is_dying = true;
    return EXEC_NONE;
}

enum exec_outcome exec_trace_event(struct exec_trace *t, pid_t pid, int status,
                                   struct exec_image *ret_image)
{
    struct exec_watch *watch = find(t, pid);
    if (!WIFSTOPPED(status)) {
        if (!watch)
            return EXEC_NONE;
        bool was_killed = watch->is_dying;
        take_out(t, watch, ret_image);
        return was_killed ? EXEC_RACED : EXEC_GONE;
    }
    int event = status >> 16;
    if (event == PTRACE_EVENT_EXEC)
        return judge_exec(t, pid, ret_image);
    if (!watch) {
        let_go(pid, event ? 0 : WSTOPSIG(status));
        return EXEC_NONE;
    }
    if (event != PTRACE_EVENT_STOP) {
        ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)WSTOPSIG(status));
        return EXEC_NONE;
    }
    take_out(t, watch, ret_image);
    let_go(pid, 0);
    return EXEC_FAILED;
}
