#include "runner/keep/hook_guard.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include "runner/base/mem.h"
#include "runner/keep/procfs.h"

enum { HOOK_WORDS_BYTES = 4096, EXIT_BLOCK = 2 };

void hook_guard_release(struct hook_guard *g)
{
    free(g->all);
    *g = (struct hook_guard){0};
}

static struct guarded *find(struct hook_guard *g, pid_t pid)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->all[i].pid == pid)
            return &g->all[i];
    return NULL;
}

/* Its words as one text with blanks between. */
static bool read_words(char *ret, size_t size, pid_t pid)
{
    ssize_t len = procfs_read(ret, size, pid, "cmdline");
    for (ssize_t i = 0; i < len; i++)
        if (!ret[i])
            ret[i] = ' ';
    return len > 0;
}

bool hook_guard_take(struct hook_guard *g, pid_t pid)
{
    const uintptr_t options = PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
    char words[HOOK_WORDS_BYTES];
    struct procfs_stat stat = {0};
    if (!g->words || !read_words(words, sizeof words, pid) || !strstr(words, g->words))
        return false;
    bool is_hook = strncmp(words, g->words, strlen(g->words)) == 0;
    if (!is_hook && !g->is_strict)
        return false;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) != 0 || !procfs_stat_of(&stat, pid)) {
        if (g->is_strict)
            g->lost(g->lost_arg, pid, "was killed"); /* before its first instruction */
        return false;
    }
    g->all = xreallocarray(g->all, g->n + 1, sizeof *g->all);
    g->all[g->n++] = (struct guarded){.pid = pid, .shell = is_hook ? stat.parent : 0};
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    return true;
}

void hook_guard_answered(struct hook_guard *g, pid_t pid, bool is_allowed)
{
    struct guarded *h = find(g, pid);
    if (!h)
        return;
    h->is_answered = true;
    h->is_allowed = is_allowed;
}

/* What is wrong with such an end; NULL: nothing. */
static const char *trouble_of(struct hook_guard *g, const struct guarded *h, int status)
{
    if (!g->is_strict)
        return status != 0 || h->is_answered ? NULL : "ended well without the gate's answer";
    if (WIFSIGNALED(status))
        return "was killed";
    if (WEXITSTATUS(status) == EXIT_BLOCK)
        return NULL;
    if (WEXITSTATUS(status) != 0)
        return "failed";
    if (h->shell && !h->is_allowed)
        return "ended well without the gate's yes";
    struct guarded *shell = h->shell ? find(g, h->shell) : NULL;
    if (shell)
        shell->has_passed = true;
    return h->shell || h->has_passed ? NULL : "ended without having asked the gate";
}

static void on_end(struct hook_guard *g, const struct guarded *h)
{
    unsigned long status = 0;
    const char *trouble = "ended in a way that cannot be told";
    if (ptrace(PTRACE_GETEVENTMSG, h->pid, NULL, &status) == 0)
        trouble = trouble_of(g, h, (int)status);
    if (trouble)
        g->lost(g->lost_arg, h->pid, trouble);
}

static void forget(struct hook_guard *g, struct guarded *h)
{
    *h = g->all[--g->n];
}

static bool is_stopping(int number)
{
    return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

bool hook_guard_event(struct hook_guard *g, pid_t pid, int status)
{
    struct guarded *h = find(g, pid);
    if (!h)
        return false;
    if (!WIFSTOPPED(status)) {
        forget(g, h);
        return true;
    }
    int event = status >> 16, number = WSTOPSIG(status);
    if (event == PTRACE_EVENT_EXIT)
        on_end(g, h);
    if (event == PTRACE_EVENT_STOP && is_stopping(number))
        ptrace(PTRACE_LISTEN, pid, NULL, NULL);
    else
        ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)(event ? 0 : number));
    return true;
}
