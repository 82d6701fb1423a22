/*
 * faulty_hook: headgate-hook with one fault, to stand in its place in a box of the tests.
 *
 * Under its other names, at the start of a session and for a call that names no fault it does what
 * headgate-hook does, with the same parts. A call names its fault in its own text, as in `touch
 * fault-garbage`, so that one session of an agent tries many. Those that change what the agent
 * wrote stand for a version of it that tells its calls in another shape.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/dialect.h"
#include "gate/hook/changes_hook.h"
#include "gate/hook/exchange.h"
#include "gate/hook/fatal.h"
#include "gate/hook/shim.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

enum { ARGUMENTS = 5 }; /* headgate-hook --agent NAME --socket PATH */

struct fault {
    const char *name;
    const char *prints;    /* instead of an answer, and ends well; NULL: it goes on */
    int status;            /* ends so, and prints nothing; 0: it goes on */
    int signal_number;     /* ends by it, uncaught; 0: it goes on */
    bool is_late;          /* never answers */
    int n_more;            /* asks so many times more about the same call; the last answer counts */
    const char *from, *to; /* of what the agent wrote; NULL: as it is */
};

static const struct fault faults[] = {
    {.name = "silent", .prints = ""},
    {.name = "garbage", .prints = "allow\nyes {\"\n"},
    {.name = "half",
     .prints = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
               "\"allow\""},
    {.name = "loose", .prints = "{\"permissionDecision\":\"allow\",\"continue\":true}\n"},
    {.name = "exit-1", .status = 1},
    {.name = "exit-77", .status = 77},
    {.name = "crash", .signal_number = SIGSEGV},
    {.name = "late", .is_late = true},
    {.name = "twice", .n_more = 1},
    {.name = "event", .from = "\"PreToolUse\"", .to = "\"PreToolUse2\""},
    {.name = "tool", .from = "\"tool_name\"", .to = "\"toolName\""},
    {.name = "args", .from = "\"tool_input\"", .to = "\"toolInput\""},
};

static const struct fault none = {.name = "none"};

static const struct fault *fault_of(const char *text)
{
    static const char mark[] = "fault-";
    const char *at = strstr(text, mark);
    for (size_t i = 0; at && i < ARRAY_LEN(faults); i++) {
        size_t len = strlen(faults[i].name);
        const char *name = at + sizeof mark - 1;
        if (strncmp(name, faults[i].name, len) == 0 &&
            !strchr("-abcdefghijklmnopqrstuvwxyz", name[len]))
            return &faults[i];
    }
    return &none;
}

static void change(struct buf *text, const char *from, const char *to)
{
    AUTO_BUF struct buf changed = BUF_INIT;
    const char *at = from ? strstr(text->ptr, from) : NULL;
    if (!at)
        return;
    buf_add(&changed, text->ptr, (size_t)(at - text->ptr));
    buf_addf(&changed, "%s%s", to, at + strlen(from));
    buf_clear(text);
    buf_adds(text, changed.ptr);
}

/* What keeps it from asking at all. */
static void fail_early(const struct fault *f)
{
    if (f->is_late)
        for (;;)
            pause();
    if (f->prints) {
        fputs(f->prints, stdout);
        fflush(stdout);
        _exit(0);
    }
    if (f->status)
        _exit(f->status);
    if (f->signal_number) {
        signal(f->signal_number, SIG_DFL);
        raise(f->signal_number);
    }
}

static bool answer(int *ret_status, char **argv, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_BUF struct buf words = BUF_INIT;
    AUTO_DIALECT_INPUT struct dialect_input in = DIALECT_INPUT_INIT;
    const struct dialect *dialect = dialect_find(argv[2]);
    if (!dialect || !fs_read_fd(&text, STDIN_FILENO, LIMIT_LINE_BYTES, err))
        return false;
    const struct fault *f = fault_of(text.ptr);
    fail_early(f);
    change(&text, f->from, f->to);
    if (!dialect_read(&in, dialect, text.ptr, text.len, "/", err))
        return false;
    for (int i = 0; in.request && i <= f->n_more; i++) {
        struct exchange_answer reply;
        if (!exchange(&reply, argv[4], in.request, err))
            return false;
        const struct dialect_answer told = {
            .allow = reply.allow, .reason = reply.reason, .call = reply.call};
        buf_clear(&text);
        buf_clear(&words);
        *ret_status = dialect_write(&text, &words, dialect, in.event, &told);
        json_decref(reply.reason);
        json_decref(reply.message);
        free(reply.call);
    }
    return !in.request || (fs_write_fd(STDERR_FILENO, words.ptr, words.len, err) &&
                           fs_write_fd(STDOUT_FILENO, text.ptr, text.len, err));
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    int status = 0;
    if (argc > 0 && shim_is_called(argv[0]))
        return shim_main(argv);
    if (argc > 0 && changes_hook_is_called(argv[0]))
        return changes_hook_main(argv);
    fatal_init();
    if (argc != ARGUMENTS)
        err_set(&err, ERR_USAGE, "it is called as an agent's hook alone");
    if (argc != ARGUMENTS || !answer(&status, argv, &err))
        fatal(&err);
    return status;
}
